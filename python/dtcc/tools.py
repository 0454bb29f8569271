# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the tools lie: dtcc and dtcc-plan."""
import os
import shutil
import sys
from pathlib import Path
from typing import List

from .errors import DtccError

HERE = Path(__file__).resolve().parent
# The folders in which tools are looked for, in this order; behind them comes the PATH.
BESIDE = (
    HERE / "tree" / "bin",  # a wheel
    HERE.parents[3] / "bin",  # an installed tree: share/dtcc/python/dtcc
    HERE.parents[1] / "build" / "bin",  # the repository
)


def find(name: str) -> str:
    """The path of a tool. The variable DTCC_BIN names another folder to take tools from."""
    folder = os.environ.get("DTCC_BIN")
    places = [Path(folder)] if folder else BESIDE
    for place in places:
        if os.access(place / name, os.X_OK):
            return str(place / name)
    found = None if folder else shutil.which(name)
    if found is None or Path(found).resolve() == Path(sys.argv[0]).resolve():
        raise DtccError(f"{name} was not found in {folder or 'the PATH'}: install dtcc, or name the folder of its tools in "
                        "the variable DTCC_BIN", 127, [name])
    return found


def run_in_place(name: str) -> None:
    """Becomes the tool: what the commands dtcc and dtcc-plan of a wheel do."""
    path = find(name)
    arguments: List[str] = [path, *sys.argv[1:]]
    os.execv(path, arguments)


def dtcc() -> None:
    run_in_place("dtcc")


def dtcc_plan() -> None:
    run_in_place("dtcc-plan")
