"""`looseleaf doctor`: look the whole set-up over and say what to do."""

from __future__ import annotations

import click

from ..errors import ConfigError
from ..reports import Check
from ._common import common_options
from ._output import is_terminal, print_json, print_table

_SHOWN = {"ok": "ok", "warning": "!", "failure": "FAILED"}


@click.command("doctor", help=__doc__)
@common_options
def command(agent: str | None, workspace: str | None, config: str | None, as_json: bool) -> int:
    """Check config, workspace, plugins, database, extension, provider, disk and clock; nothing is changed. Exits with 1 on a failure."""
    checks = _checks(agent, workspace, config)
    if as_json:
        print_json([check._asdict() for check in checks])
    else:
        rows = [[_SHOWN[check.state], check.name, " ".join(filter(None, (f"{check.text}.", check.remedy)))] for check in checks]
        print_table(["", "", ""] if is_terminal() else [], rows)
    return int(any(check.state == "failure" for check in checks))


def _checks(agent: str | None, workspace: str | None, config: str | None) -> list[Check]:
    from pathlib import Path

    from .._run import run
    from ..doctor import examine, examine_config
    from ..settings import load_settings

    try:
        settings = load_settings(config)
        chosen = settings.for_agent(agent, workspace=Path(workspace) if workspace else None)
    except ConfigError as error:
        return [
            Check("config", "failure", str(problem), "`looseleaf config explain KEY` says what a key means.")
            for problem in error.problems
        ]
    return [examine_config(settings), *run(examine(chosen), inline=False)]
