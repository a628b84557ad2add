"""What `looseleaf doctor` finds of QMD: the program, its collections, its models. Nothing is changed."""

from __future__ import annotations

from looseleaf import Check, LooseleafError
from looseleaf.settings.surface import Qmd

from .collection import listed
from .command import Command


def qmd_checks(command: Command, options: Qmd) -> list[Check]:
    """Return what is found; the program is run, as a search would run it."""
    try:
        said = command.ask_version()
    except LooseleafError as error:
        return [Check("qmd", "failure", str(error), "Until then memory-core answers, if it is installed.")]
    known = listed(command)
    collections = Check("collections", "ok", f"{len(known)} in {command.home}")
    if not known:
        collections = Check("collections", "warning", f"none in {command.home} yet", "Run `looseleaf index`.")
    return [Check("qmd", "ok", f"{command.words[0]}, {said}"), collections, _models(command, options)]


def _models(command: Command, options: Qmd) -> Check:
    if options.search_mode == "search":
        return Check("models", "ok", "none are needed (memory.qmd.searchMode is search)")
    if command.has_models():
        return Check("models", "ok", "they are there")
    text = f"they are not there, which memory.qmd.searchMode {options.search_mode} needs; notes are found by their words"
    return Check("models", "warning", text, "Run `qmd pull`, or set memory.qmd.searchMode to search.")
