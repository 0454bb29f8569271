# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of Python as options of the command line."""
import os
from typing import Any, List, Mapping


def text_of(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={text_of(name, each)}" for key, each in value.items())
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    # NumPy's and PyTorch's numbers of one element are numbers too.
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return repr(number)
    raise TypeError(f"{name} must be text, a number, a path, a dict of these, a list of these, or True, "
                    f"got: {type(value).__name__}")


def words(options: Mapping[str, Any]) -> List[str]:
    """``{"zero": 1, "mesh": {"dp": 2}, "verify": True}`` is ``--zero=1 --mesh=dp=2 --verify``.

    A list gives its option several times; None and False leave it out.
    """
    result = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True:
                result.append(option)
            elif each is not None and each is not False:
                result.append(f"{option}={text_of(name, each)}")
    return result
