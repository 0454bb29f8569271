# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of Python as the files and words that a program reads: arrays, prompts and launchers."""
import operator
import os
import shlex
from pathlib import Path
from typing import Any, List, Sequence

from . import options as words_of


def as_file(value: Any, path: Path) -> Any:
    """An array of NumPy or a tensor of PyTorch as a .npy file at `path`; any other value as it is."""
    if isinstance(value, (str, os.PathLike)) or not hasattr(value, "__array__"):
        return value
    import numpy

    numpy.save(path, numpy.asarray(value.detach().cpu() if hasattr(value, "detach") else value))
    return path


def tokens_of(tokens: Any, folder: Path, name: str) -> Any:
    """What --tokens takes: files, and arrays that `folder` then holds."""
    if isinstance(tokens, (list, tuple)):
        return [as_file(each, folder / f"{name}-{number}.npy") for number, each in enumerate(tokens)]
    return as_file(tokens, folder / f"{name}.npy")


def data_of(data: Any, folder: Path, name: str) -> Any:
    """What --data takes: folders, and for {input: file or array} a NAME=FILE each."""
    if not isinstance(data, dict):
        return data
    return [f"{each}={words_of.text_of(name, as_file(file, folder / f'{name}-{each}.npy'))}"
            for each, file in data.items()]


def prompt_of(prompt: Any) -> str:
    """Token ids as --prompt-tokens takes them: of a list, an array or a tensor, which may have a batch of one row."""
    ids = prompt.tolist() if hasattr(prompt, "tolist") else prompt
    if isinstance(ids, (list, tuple)) and len(ids) == 1 and isinstance(ids[0], (list, tuple)):
        ids = ids[0]
    if isinstance(ids, str) or not hasattr(ids, "__iter__"):
        raise TypeError(f"the prompt must be token ids, which a tokenizer makes of text, got: {type(prompt).__name__}")
    try:
        text = ",".join(str(operator.index(each)) for each in ids)
    except TypeError as error:
        raise TypeError(f"the prompt must be one row of whole numbers: {error}") from None
    if not text:
        raise ValueError("the prompt must have at least one token id")
    return text


def launcher_of(launcher: "str | Sequence[str]") -> List[str]:
    """The words before a program: a list, or a text as a shell splits it."""
    return shlex.split(launcher) if isinstance(launcher, str) else list(launcher)
