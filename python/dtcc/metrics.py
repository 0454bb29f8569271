# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The JSON lines that a run writes."""
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List

Row = Dict[str, Any]


def read(path: "str | Path") -> List[Row]:
    """All rows of a metrics file, events included."""
    with open(path, encoding="utf-8") as file:
        rows = []
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: must be a JSON object, as --metrics writes it")
            rows.append(row)
        return rows


class Follower:
    """Rows of a metrics file that a run is still writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0

    def new_rows(self) -> Iterator[Row]:
        """The complete rows since the last call. A run that rolled back has shortened the file."""
        if not self.path.is_file():
            return
        with open(self.path, "rb") as file:
            self.position = min(self.position, self.path.stat().st_size)
            file.seek(self.position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self.position += len(line)
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # the file was shortened to the middle of what this reader had passed
                if isinstance(row, dict):
                    yield row
