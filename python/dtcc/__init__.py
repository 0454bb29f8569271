# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the training of a model, and runs it, from Python.

    import dtcc
    program = dtcc.compile(module, example={"input_ids": ids, "labels": ids}, cluster="cpu:4")
    program.plan                                            # a page with pictures in a notebook
    run = program.run(tokens="corpus.npy", steps=1000)      # with a progress bar
    run.metrics[-1]["loss"]
    run.load_into(module)

Every function calls a command-line tool, and options have the tools' names: ``zero=1`` is ``--zero=1``. docs/python.md has the
whole story. The package needs no other; PyTorch is needed for modules, pandas and TensorBoard for what bears their names.
"""
from .build import compile, export
from .errors import DtccError
from .plan import Plan
from .program import Program
from .run import Run

__all__ = ["DtccError", "Plan", "Program", "Run", "compile", "export"]
