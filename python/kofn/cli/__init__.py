"""The command line: `kofn report`, `grade`, `rollouts`, `checks`."""
