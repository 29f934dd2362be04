"""The snippets of docs/verifiers.md run, one after the other in one namespace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).parent.parent / "docs" / "verifiers.md"


def test_snippets_run() -> None:
    snippets = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(snippets) >= 5
    namespace: dict[str, Any] = {}
    for snippet in snippets:
        exec(compile(snippet, str(GUIDE), "exec"), namespace)  # our own guide
