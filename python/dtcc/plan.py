# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was decided for a program, as text, values and a page."""
import functools
import html
import json
import tempfile
from pathlib import Path
from typing import Any, Dict

from . import tools
from .errors import call


class Plan:
    """The plan of a program or of a plan file: ``dtcc-plan show``. Each form is made when it is first asked for."""

    def __init__(self, path: "str | Path") -> None:
        self.path = Path(path)

    @functools.cached_property
    def text(self) -> str:
        return call([tools.find("dtcc-plan"), "show", str(self.path)]).stdout

    @functools.cached_property
    def facts(self) -> Dict[str, Any]:
        """The values of ``--json``."""
        facts: Dict[str, Any] = json.loads(call([tools.find("dtcc-plan"), "show", str(self.path), "--json"]).stdout)
        return facts

    @functools.cached_property
    def html(self) -> str:
        """One page with pictures, without external files."""
        with tempfile.TemporaryDirectory(prefix="dtcc-") as folder:
            page = Path(folder) / "plan.html"
            call([tools.find("dtcc-plan"), "show", str(self.path), f"--html={page}"])
            return page.read_text(encoding="utf-8")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Plan({str(self.path)!r})"

    def _repr_html_(self) -> str:
        # A frame keeps the page's style and the notebook's apart.
        return (f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:600px;border:0" '
                f'title="plan of {html.escape(self.path.name)}"></iframe>')
