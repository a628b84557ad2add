"""A qmd that does what `plan.json` beside it says, for what the real one of today does not do any more, or does rarely.

version     what --version prints
rows        what a search finds, by query, or a list for every query; {"docid", "file", "score", "line", "snippet"}
ignores_mask, hides_collections, held_by   faults of `collection add` and of searches
<command>   {"stdout", "stderr", "code", "sleep", "flood", "abort", "child"}: what a command does instead
"""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = os.path.join(os.environ.get("XDG_CONFIG_HOME", HERE), "qmd", "index.yml")
with open(os.path.join(HERE, "plan.json"), encoding="utf-8") as file:
    PLAN = json.load(file)


def collections() -> dict:
    """Return what index.yml holds; JSON is YAML."""
    try:
        with open(CONFIG, encoding="utf-8") as file:
            return json.load(file)["collections"]
    except FileNotFoundError:
        return {}


def keep(known: dict) -> None:
    """Write index.yml."""
    os.makedirs(os.path.dirname(CONFIG), exist_ok=True)
    with open(CONFIG, "w", encoding="utf-8") as file:
        json.dump({"collections": known}, file)


def act(told: dict) -> None:
    """Do as told, and end."""
    if told.get("child"):
        pid = subprocess.Popen(["sleep", "60"]).pid
        with open(os.path.join(HERE, "child"), "w", encoding="utf-8") as file:
            file.write(str(pid))
    sys.stderr.write(told.get("stderr", ""))
    sys.stdout.write(told.get("stdout", ""))
    for _ in range(told.get("flood", 0)):
        sys.stdout.write("x" * 1_000_000 + "\n")
    sys.stdout.flush()
    time.sleep(told.get("sleep", 0))
    if told.get("abort"):
        os.abort()
    sys.exit(told.get("code", 0))


def collection(argv: list) -> None:
    """Add or remove one."""
    known = collections()
    if argv[0] == "remove":
        known.pop(argv[1], None)
        keep(known)
        return
    root, name = argv[1], argv[argv.index("--name") + 1]
    mask = argv[argv.index("--mask") + 1] if "--mask" in argv and not PLAN.get("ignores_mask") else "**/*.md"
    same = [other for other, row in known.items() if (row["path"], row["pattern"]) == (root, mask)]
    if same:
        sys.stderr.write(f"A collection already exists for this path and pattern:\n  Name: {same[0]} (qmd://{same[0]}/)\n")
        sys.exit(1)
    keep({**known, name: {"path": root, "pattern": mask}})
    print("Indexed: 1 new, 0 updated, 0 unchanged, 0 removed")


def search(argv: list) -> None:
    """Print the rows of the plan."""
    dashes = argv.index("--")
    options, query = argv[:dashes], " ".join(argv[dashes + 1 :])
    names = [options[at + 1] for at, word in enumerate(options) if word == "-c"]
    for name in names:
        if name not in collections() or PLAN.get("hides_collections"):
            sys.stderr.write(f"Collection not found: {name}\n")
            sys.exit(1)
    rows = PLAN.get("rows", [])
    rows = rows if isinstance(rows, list) else rows.get(query, [])
    print(json.dumps([row for row in rows if not names or row["file"].split("/")[2] in names]))


def main(argv: list) -> None:
    """Log the call, and answer it."""
    with open(os.path.join(HERE, "calls.jsonl"), "a", encoding="utf-8") as log:
        log.write(json.dumps({"argv": argv, "environ": dict(os.environ), "folder": os.getcwd(), "began": time.time()}) + "\n")
    argv = argv[2:]  # --index index
    command = argv[0].lstrip("-")
    if PLAN.get(command) and command not in ("version", "rows"):
        act(PLAN[command])
    if command == "version":
        print(PLAN.get("version", "qmd 2.8.3 (fake)"))
    elif command == "collection":
        collection(argv[1:])
    elif command == "update":
        print("Indexed: 0 new, 0 updated, 1 unchanged, 0 removed")
    elif command in ("search", "vsearch", "query"):
        search(argv[1:])


main(sys.argv[1:])
