"""Write the project that a tutorial builds: the files named in its text, each with the code block that follows.

python tests/docs_project.py docs/write-a-ranker.md FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_FILE = re.compile(r"^`([\w./-]+)`\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


def write_project(tutorial: Path, folder: Path) -> list[str]:
    """Write the files into `folder` and return their paths."""
    written = []
    for path, text in _FILE.findall(tutorial.read_text("utf-8")):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    print(*write_project(Path(sys.argv[1]), Path(sys.argv[2])), sep="\n")
