# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a run is, while it runs."""
import sys
from typing import Any, Callable, Optional

from .metrics import Row

try:
    from tqdm.auto import tqdm
except ImportError:
    tqdm = None

WIDTH = 30  # characters of the bar


class Progress:
    """Shows rows of metrics as they come: with tqdm where it is installed, else as a line of a terminal.

    `show` is True, False, or a function that takes each row instead.
    """

    def __init__(self, show: "bool | Callable[[Row], Any]") -> None:
        self.show = show
        self.steps = 0
        self.bar: Optional[Any] = None
        self.evaluation = ""
        self.is_line = show is True and tqdm is None and sys.stderr.isatty()

    def add(self, row: Row) -> None:
        if callable(self.show):
            self.show(row)
            return
        if not self.show:
            return
        if row.get("event") == "start":
            self.steps = row["steps"]
            if tqdm is not None:
                self.bar = tqdm(total=self.steps, initial=row["first_step"] - 1, unit="step")
        if "eval_loss" in row:
            self.evaluation = f", evaluation {row['eval_loss']:.4f}"
        if "loss" not in row:
            return
        state = f"loss {row['loss']:.4f}{self.evaluation}"
        if self.bar is not None:
            self.bar.n = row["step"]
            self.bar.set_postfix_str(state)
        elif self.is_line:
            done = WIDTH * row["step"] // max(self.steps, 1)
            print(f"\r[{'#' * done}{' ' * (WIDTH - done)}] step {row['step']}/{self.steps}  {state}", end="", file=sys.stderr)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.is_line and self.steps:
            print(file=sys.stderr)
