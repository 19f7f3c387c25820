"""The page of a report in a notebook."""

from __future__ import annotations

import html
import inspect
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from .calls import Error, Model, Option, run
from .results.report import Report

MOST_BYTES = 8 << 20  # of a page, which a notebook keeps
NOT_AGAIN = ("html", "netron", "model_explorer", "force")  # what the first call wrote is left alone
# Of a frame without the rights of the notebook: its styles and scripts stay inside.
FRAME = ('<iframe srcdoc="{}" sandbox="allow-scripts allow-downloads allow-popups" loading="lazy" '
         'style="width: 100%; height: 640px; border: 0"></iframe>')  # fmt: skip


def with_page(report: Report, model: Model, flags: Mapping[str, bool], options: Mapping[str, Option]) -> Report:
    """The report, which knows how it was made."""
    object.__setattr__(report, "_call", (model, flags, options))  # no field of it, so that it is neither compared nor printed
    return report


def page_of(report: Report) -> str | None:
    """The page that --html writes, in a frame; None where it cannot be made again: the model or the lists have changed, or it
    is larger than a notebook should be."""
    from .functions import preview

    if not hasattr(report, "_call"):
        return None
    model, flags, options = report._call
    taken = inspect.signature(preview).parameters
    flags, options = ({name: value for name, value in given.items() if name in taken and name not in NOT_AGAIN}
                      for given in (flags, options))  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="cleave-") as folder:
        path = os.path.join(folder, "page.html")
        try:
            again: dict[str, Any] = run("preview", [model], flags, {**options, "html": path})
        except Error:
            return None
        if again["node_map"] != report.node_map or os.path.getsize(path) > MOST_BYTES:
            return None
        with open(path, encoding="utf-8") as file:
            return FRAME.format(html.escape(file.read()))
