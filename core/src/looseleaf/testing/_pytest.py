"""The pytest plugin: shows at the end of a run which laws were waived, and why."""

from __future__ import annotations

import sys
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the waivers that were used."""
    law = sys.modules.get("looseleaf.testing._law")
    if law is not None and law.WAIVED:
        terminalreporter.section("laws that are waived")
        for name, reason in sorted(law.WAIVED.items()):
            terminalreporter.write_line(f"{name}: {reason}")
