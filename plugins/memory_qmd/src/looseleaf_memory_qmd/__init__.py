"""memory-qmd: recall through the QMD command line. Only the hook stands here, so that importing it costs nothing."""

from __future__ import annotations

from looseleaf import hookimpl

__version__ = "0.1.0"
