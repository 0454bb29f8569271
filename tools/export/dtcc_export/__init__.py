# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a PyTorch module, with its loss, to an ONNX file that trains as the module does.

    import dtcc_export
    dtcc_export.export(model, {"input_ids": ids, "labels": ids}, "model.onnx")

torch.onnx.export serves inference: it merges parameters that are equal at the start, drops zero biases, stores weights
transposed, folds batch norm away and turns dropout off. Here every parameter stays one initializer under its own name
and shape, dropout and batch norm stay in training form, the loss is the output, and a manifest in the file's metadata
(key "dtcc.manifest") says which parameters train, decay and are tied. docs/export.md has the whole story.
"""
import importlib.util
import sys

# Said before the modules import these: a traceback of theirs would not tell what to do.
_missing = [name for name in ("torch", "onnx", "onnxscript") if importlib.util.find_spec(name) is None]
if _missing:
    _problem = (f"dtcc_export needs {' and '.join(_missing)}, which this Python ({sys.executable}) does not have: "
                "pip install -r tools/export/requirements.txt")
    if sys.argv[:1] == ["-m"]:  # python -m dtcc_export
        sys.exit(f"dtcc_export: error: {_problem}")
    raise ModuleNotFoundError(_problem)

from .api import ExportError, ExportWarning, export
from .check import check

__all__ = ["ExportError", "ExportWarning", "check", "export"]
