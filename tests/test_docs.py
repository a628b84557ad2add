"""The docs, held to the code: hooks, settings, commands, links."""

from __future__ import annotations

import html
import inspect
import os
import re
import shlex
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from looseleaf import hookspecs, load_settings
from looseleaf.cli import _COMMANDS
from looseleaf.connecting import HOSTS, told
from looseleaf.settings import surface
from looseleaf.settings._keys import ROOTS, child_of, children_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
HOOKS = (ROOT / "docs" / "hooks.md").read_text("utf-8")
CONFIG = (ROOT / "docs" / "config.md").read_text("utf-8")
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]


def test_every_hook_is_described_with_its_arguments() -> None:
    """A heading for each hook, argument by argument."""
    specs = {name: item for name, item in vars(hookspecs).items() if name.startswith("looseleaf_")}
    described = dict(re.findall(r"^### (looseleaf_\w+)\((.*)\)$", HOOKS, re.MULTILINE))
    assert described == {name: ", ".join(inspect.signature(spec).parameters) for name, spec in specs.items()}


def test_every_capability_is_described() -> None:
    """The small protocols have a row each."""
    from looseleaf import protocols

    names = {
        name
        for name, item in vars(protocols).items()
        if getattr(item, "_is_protocol", False) and item.__module__ == protocols.__name__
    }
    assert names - {"Embedder", "MemorySlot"} == set(re.findall(r"^\| `([A-Z]\w+)` \| ", HOOKS, re.MULTILINE))


def _leaves(where: Any = None, prefix: str = "") -> list[str]:
    names = children_of(where)
    if names is None:
        return [prefix]
    return [leaf for name in names for leaf in _leaves(child_of(where, name), f"{prefix}.{name}".lstrip("."))]


def test_every_setting_is_described_with_its_default() -> None:
    """docs/config.md has a row for each key, with the built-in value, and no other."""
    rows = dict(re.findall(r"^\| `([\w.\[\]<>]+)` \| `?(.*?)`? \|", CONFIG, re.MULTILINE))
    wanted = [key for key in _leaves() if not key.startswith("agents.list")]
    assert [key for key in wanted if key not in rows] == []
    assert [key for key in rows if key not in wanted] == []
    for key, written in rows.items():
        value: Any = load_settings(environ={}, home=ROOT / "nowhere")
        for part in key.split("."):
            if value is not None:  # what is below a key that is not set is not set
                value = getattr(value, next(item.name for item in fields(value) if surface.key_of(item.name) == part))
        if is_dataclass(value) or (isinstance(value, tuple) and value and is_dataclass(value[0])):
            continue
        assert written == _written(value), key


def _written(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def test_the_readme_s_settings_exist() -> None:
    """No table of the README names a key that is not there."""
    keys = set(_leaves())
    for key in re.findall(r"^\| `((?:agents|memory|plugins)\.[\w.]+)` \|", README, re.MULTILINE):
        assert key in keys


def test_the_readme_lists_every_command() -> None:
    """One row a command."""
    assert set(re.findall(r"^\| `looseleaf (\w+)", README, re.MULTILINE)) == set(_COMMANDS)


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link is a file or folder of the repository."""
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_every_hole_has_a_test_that_exists() -> None:
    """docs/security.md names for each kind of report what holds it shut."""
    rows = re.findall(
        r"^\| (?!hole|---)([^|]+) \| [^|]+ \| ([^|]+) \|$", (ROOT / "docs" / "security.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) >= 24
    for hole, named in rows:
        tests = re.findall(r"`(tests/[\w/.]+)::(\w+)`", named)
        assert tests, hole
        for file, test in tests:
            assert f"def {test}(" in (ROOT / file).read_text("utf-8"), f"{hole}: {file}::{test}"


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_has_its_picture(name: str) -> None:
    """docs/hosts.md shows a terminal for each, in which what `connect` says is typed, with nothing of the machine that drew it."""
    assert f"](pictures/{name}.svg)" in (ROOT / "docs" / "hosts.md").read_text("utf-8")
    svg = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text("utf-8")
    seen = html.unescape(re.sub(r"<[^>]+>", " ", svg)).replace("\xa0", " ")
    seen = " ".join(seen.split())
    line = shlex.join(told(HOSTS[name], ["looseleaf", "mcp"]))
    typed = line if HOSTS[name].takes != "json" and line else f"looseleaf connect {name} -w . --write"
    assert f"$ {typed}" in seen
    assert not re.search(r"/(?:home|root|tmp|Users)/", seen)
    assert "url(" not in re.sub(r"url\(#", "", svg)


def test_the_readme_says_how_to_remember(tmp_path: Path) -> None:
    """UX-08: writing is appending to a file, as printed, and the next search finds it."""
    import os
    import subprocess
    import sys

    (tmp_path / "memory").mkdir()
    commands = re.search(r"```sh\n(echo .*?)```", README, re.DOTALL)[1]
    subprocess.run(["bash", "-c", commands], check=True, cwd=tmp_path)
    environ = {**os.environ, "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "none"}
    code = "from looseleaf.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "search", "printer"],
        capture_output=True,
        check=True,
        cwd=tmp_path,
        encoding="utf-8",
        env=environ,
    )
    assert "Moved the printer." in done.stdout


def test_every_law_is_listed_as_it_is() -> None:
    """docs/laws.md has a row for each law: its sentence, and what has to be claimed."""
    from looseleaf.testing import embedder_laws, memory_laws, plugin_laws, postprocessor_laws, ranker_laws

    given = {"weighted": "weighted=…", "neutral": "neutral=…", "ages": "half_life=…", "others": "others=…", "http": "over=…"}
    laws = [
        *ranker_laws(
            "unit", "unanimous", "monotone", "comparable", "rank-based", "exact-first", weighted=lambda weights: lambda *_: []
        ),
        *postprocessor_laws(
            "sorts", "keeps-all", "idempotent", "greedy", "diverse", "independent", neutral=lambda: lambda *_: [], half_life=30
        ),
        *embedder_laws("unit", "split", others=[lambda: None], over=lambda url, key: None),
        *memory_laws(),
        *plugin_laws("options"),
    ]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (.*?) ?\|$", (ROOT / "docs" / "laws.md").read_text("utf-8"), re.MULTILINE)
    assert rows == [(law.name, law.says, f"`{given.get(law.claim, law.claim)}`" if law.claim else "") for law in laws]


def test_every_provider_is_listed_as_it_is() -> None:
    """docs/providers.md names model, address and variables."""
    from looseleaf_memory_core.embedders.keys import VARIABLES
    from looseleaf_memory_core.embedders.local import MODEL
    from looseleaf_memory_core.embedders.providers import PROVIDERS

    text = (ROOT / "docs" / "providers.md").read_text("utf-8")
    rows = {row[0]: row[1:] for row in re.findall(r"^\| `([\w-]+)` \| `(.*?)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)}
    assert set(rows) == {*PROVIDERS, "bundled", "bundled-e5", "local"}
    assert rows["local"][0] == MODEL.rpartition("/")[2]
    for name, provider in PROVIDERS.items():
        model, address, keys = rows[name]
        assert (model, address) == (provider.model, f"`{provider.base_url}`")
        assert re.findall(r"`(\w+)`", keys) == list(VARIABLES[name])


@pytest.mark.long
@pytest.mark.parametrize("name", ["write-a-provider", "write-a-ranker"])
def test_a_tutorial_leads_to_green_laws(tmp_path: Path, name: str) -> None:
    """Its files, as printed, pass their own tests."""
    import subprocess
    import sys
    import tomllib

    from docs_project import write_project

    files = write_project(ROOT / "docs" / f"{name}.md", tmp_path)
    assert len(files) == 4
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"  # as if it were installed
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", "utf-8")
    groups = [
        f"[{group}]\n" + "".join(f"{point} = {value}\n" for point, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("".join(groups), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, encoding="utf-8", env=environ)
    assert done.returncode == 0, done.stdout[-3000:]


def test_every_dependency_has_its_reason() -> None:
    """CONTRIBUTING.md says why each package is there."""
    import tomllib

    reasons = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Dependencies")[1]
    for project in (ROOT / "core", ROOT / "plugins" / "memory_core", ROOT / "plugins" / "memory_qmd"):
        data = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
        extras = data.get("optional-dependencies", {}).values()
        for requirement in [*data["dependencies"], *(item for extra in extras for item in extra)]:
            name = re.match(r"[\w-]+", requirement)[0]
            if name not in ("looseleaf-core", "tzdata"):
                assert name in reasons, name
    assert set(ROOTS) == {"agents", "memory", "plugins", "models"}
