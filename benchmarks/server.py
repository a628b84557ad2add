"""From the start of `looseleaf mcp` to its answer to `initialize`, beside a bare `import mcp.server`; and its memory when idle.

    python benchmarks/server.py [--runs 9]

The answer may take three times the import; the idle server, whose bundled model is not loaded yet, 120 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}},
}


def answered(workspace: Path, state: Path) -> tuple[float, float]:
    """Return the seconds until the answer, and the server's memory in MB two seconds later."""
    words = [sys.executable, "-c", "from looseleaf.cli import main; main()", "mcp", "-w", str(workspace)]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(state), "LOOSELEAF_STATE_DIR": str(state)}
    begun = time.perf_counter()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environ) as server:
        server.stdin.write(json.dumps(INITIALIZE) + "\n")
        server.stdin.flush()
        assert "serverInfo" in server.stdout.readline()
        took = time.perf_counter() - begun
        time.sleep(2)
        status = Path(f"/proc/{server.pid}/status").read_text()
        server.stdin.close()
    return took, int(status.split("VmRSS:")[1].split()[0]) / 1000


def imported() -> float:
    """Return the seconds that a bare import takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp.server"], check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Measure in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        notes, state = Path(place) / "notes", Path(place) / "state"
        notes.mkdir()
        (notes / "MEMORY.md").write_text("# Long-term memory\n\nThe gateway runs on the Mac Studio.\n")
        index = [sys.executable, "-c", "from looseleaf.cli import main; main()", "index", "-w", str(notes)]
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(state), "LOOSELEAF_STATE_DIR": str(state)}
        subprocess.run(index, check=True, env=environ, stdout=subprocess.DEVNULL)
        pairs = [(answered(notes, state), imported()) for _ in range(runs)]
    took, bare = median(pair[0][0] for pair in pairs), median(pair[1] for pair in pairs)
    print(f"initialize answered after {took:.2f} s; import mcp.server {bare:.2f} s; {took / bare:.2f}x")
    print(f"memory when idle: {max(pair[0][1] for pair in pairs):.0f} MB")


if __name__ == "__main__":
    main()
