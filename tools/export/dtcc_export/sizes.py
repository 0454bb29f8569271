# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What forward asks in Python about a size that stays open: a trace holds the answer for the example's size."""
import re
import warnings

import torch

from .gradients import LIBRARY, bracketed
from .losses import ExportWarning


def asked(program, shapes):
    """(name of the dimension, the answer held, the user's line) of each question that forward's own code asks about one open
    size. Assertions are none: they hold for every size that forward takes."""
    names, guards = {}, []
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op != "placeholder" or node.name not in shapes or not isinstance(value, torch.Tensor):
            continue
        for axis, name in shapes[node.name].items():
            if isinstance(value.shape[axis], torch.SymInt):
                names[str(value.shape[axis].node.expr)] = name
                guards = value.shape[axis].node.shape_env.guards
    for guard in guards:
        symbols = [str(s) for s in guard.expr.free_symbols]
        frame = guard.sloc.framework_loc
        line = (getattr(frame, "line", None) or "").strip()
        if len(symbols) != 1 or symbols[0] not in names or not line or line.startswith("assert") or frame.filename.startswith(LIBRARY):
            continue
        yield names[symbols[0]], re.sub(rf"\b{symbols[0]}\b", names[symbols[0]], str(guard.expr)), line


def warn_of_answers(program, shapes):
    for name, answer, line in dict.fromkeys(asked(program, shapes)):
        warnings.warn(f"forward asks about the size of '{name}'{bracketed(line)}, and the file holds what follows for sizes with {answer}: "
                      f"bind no other, or leave '{name}' out of dynamic=", ExportWarning, stacklevel=2)
