"""Draw the pictures of docs/hosts.md: what the real hosts print when looseleaf is put into them.

usage: python docs/pictures/make.py [HOST...]

Whatever of claude, codex, gemini, opencode and openclaw a picture needs must be on the PATH (npm has them), and looseleaf with its MCP
server installed. Each host gets an empty home, which is shown as `~`, and the notes of examples/.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
NOTES = HERE.parents[1] / "examples" / "notes"
COLUMNS = 96
#: What is typed for each host, in the folder of the notes.
SESSIONS = {
    "claude-code": ["claude mcp add looseleaf -- looseleaf mcp", "claude mcp list"],
    "codex": ["codex mcp add looseleaf -- looseleaf mcp", "codex mcp list"],
    "gemini": ["gemini mcp add looseleaf looseleaf mcp", "gemini mcp list"],
    "opencode": ["looseleaf connect opencode -w . --write", "opencode mcp list"],
    "cursor": ["looseleaf connect cursor -w . --write"],
    "vscode": ["looseleaf connect vscode -w . --write"],
    "openclaw": ["openclaw mcp add looseleaf --command looseleaf --arg=mcp", "openclaw mcp probe looseleaf"],
}
_NOISE = re.compile(r"^(WARNING: proceeding, even though|npm notice|\[config\]|Note: this command only).*\n?", re.MULTILINE)
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # nothing is loaded from elsewhere


def draw(host: str) -> None:
    """Type a host's session in an empty home, and write what was seen."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        home = Path(folder)
        notes = home / "notes"
        shutil.copytree(NOTES, notes)
        program = home / ".local" / "bin" / "looseleaf"
        program.parent.mkdir(parents=True)
        program.symlink_to(shutil.which("looseleaf") or sys.exit("looseleaf is not on the PATH"))
        environ = {
            "HOME": str(home),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "COLUMNS": str(COLUMNS),
        }
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
        for line in SESSIONS[host]:
            done = subprocess.run(
                line,
                shell=True,
                cwd=notes,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=300,
                check=False,
            )
            console.print(Text.assemble(("$ ", "bold green"), (line, "bold")))
            said = _NOISE.sub("", done.stdout.replace(str(home), "~")).strip("\n")
            for text in said.splitlines():
                console.print(_coloured(text), soft_wrap=False)
            if done.returncode:
                sys.exit(f"{host}: {line!r} ended with {done.returncode}:\n{done.stdout}")
        svg = console.export_svg(title=host, unique_id=f"looseleaf-{host}")
        (HERE / f"{host}.svg").write_text(_FONTS.sub("", svg), "utf-8")


def _coloured(line: str) -> Text:
    text = Text.from_ansi(line)
    if line.startswith("+"):
        text.stylize("green")
    elif line.startswith(("-", "@@")):
        text.stylize("dim")
    return text


if __name__ == "__main__":
    for name in sys.argv[1:] or SESSIONS:
        draw(name)
        print(f"docs/pictures/{name}.svg")
