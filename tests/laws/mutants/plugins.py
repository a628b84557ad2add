"""Faulty distributions, written to a folder that is put on sys.path."""

from __future__ import annotations

from pathlib import Path

from looseleaf.testing import plugin_laws

from . import Mutant

_SOUND = """
from dataclasses import dataclass
from looseleaf import NotConfigured, hookimpl
from looseleaf.settings import parse

@dataclass
class Options:
    factor: float = 1.0

@hookimpl
def looseleaf_ranker(name, settings):
    if name != "{name}":
        return None
    options = parse(Options, settings.plugin(name), plugin=name)
    return lambda lists, query: [hit.scored(options.factor) for hits in lists.values() for hit in hits]
"""
_NO_OPTIONS = """
from looseleaf import hookimpl

@hookimpl
def looseleaf_ranker(name{more}):
    {body}
    return (lambda lists, query: []) if name == "{name}" else None
"""
#: By name: the source of the module, and other entry points than the usual one.
_SOURCES = {
    "mutant-sound": (_SOUND, ""),
    "mutant-heavy": ("import numpy\n" + _SOUND, ""),
    "mutant-broken": ("import no_such_module\n" + _SOUND, ""),
    "mutant-Shouts_": (_SOUND, ""),
    "mutant-none": (_SOUND, "[looseleaf.ranker]\nnone = {module}\n"),
    "mutant-clash": (_SOUND, "[looseleaf.ranker]\nmutant-clash = {module}\nmutant-sound = {module}\n"),
    "mutant-arguments": (_NO_OPTIONS.replace("{more}", ", config").replace("{body}", "pass"), ""),
    "mutant-unmarked": (_SOUND.replace("@hookimpl\n", ""), ""),
    "mutant-any-name": (_SOUND.replace('    if name != "{name}":\n        return None\n', ""), ""),
    "mutant-foreign-raises": (_NO_OPTIONS.replace("{more}", "").replace("{body}", '{"{name}": 1}[name]'), ""),
    "mutant-no-key": (_NO_OPTIONS.replace("{more}", ", settings").replace("{body}", 'name == "{name}" and {}["ACME_KEY"]'), ""),
    "mutant-nothing": (_SOUND.replace("    options =", "    return None\n    options ="), ""),
    "mutant-deaf": (_NO_OPTIONS.replace("{more}", "").replace("{body}", "pass"), ""),
    "mutant-pathless": (
        _SOUND.replace(
            "options = parse(Options, settings.plugin(name), plugin=name)", "options = Options(**settings.plugin(name))"
        ),
        "",
    ),
}


def install(folder: Path) -> None:
    """Write the distributions into `folder`."""
    for name, (source, points) in _SOURCES.items():
        module = name.replace("-", "_").lower()
        (folder / f"{module}.py").write_text(source.replace("{name}", name), "utf-8")
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.lower().rstrip('_')}\nVersion: 1.0\n", "utf-8")
        points = points or "[looseleaf.ranker]\n{name} = {module}\n"
        (info / "entry_points.txt").write_text(points.replace("{name}", name).replace("{module}", module), "utf-8")


LAWS = plugin_laws("options")
SOUND = Mutant("mutant-deaf", "", plugin_laws(), lambda: "mutant-deaf")
MUTANTS = [
    Mutant(name, law, LAWS, lambda name=name: name.lower().rstrip("_"))
    for name, law in {
        "mutant-heavy": "plugin-import",
        "mutant-broken": "plugin-import",
        "mutant-Shouts_": "plugin-name",
        "mutant-none": "plugin-name",
        "mutant-clash": "plugin-name",
        "mutant-arguments": "plugin-hook",
        "mutant-unmarked": "plugin-hook",
        "mutant-any-name": "plugin-foreign",
        "mutant-foreign-raises": "plugin-foreign",
        "mutant-no-key": "plugin-makes",
        "mutant-nothing": "plugin-makes",
        "mutant-deaf": "plugin-options",
        "mutant-pathless": "plugin-options",
    }.items()
]
