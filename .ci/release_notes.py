"""Prints what CHANGELOG.md says of a version, and refuses a tag that its files do not agree with.

usage: release_notes.py TAG
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print the notes of the version that the tag names."""
    if len(sys.argv) != 2:
        sys.exit("usage: release_notes.py TAG")
    tag = sys.argv[1]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, but Cargo.toml has version {version}: tag v{version}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    found = re.search(rf"{heading}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit(f"CHANGELOG.md has no line '## [{version}] - YYYY-MM-DD': date the version")
    if not (notes := found[1].strip()):
        sys.exit(f"CHANGELOG.md says nothing of {version}")
    print(notes)


if __name__ == "__main__":
    main()
