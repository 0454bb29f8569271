# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""replaced.py FOLDER: exports over an older file, checks files that are no exports, and a parameter in bfloat16."""
import os
import sys
from unittest import mock

import onnx
import torch
from dtcc_export import ExportError, check, export, forms
from dtcc_export.check import held_as_in_module

folder = sys.argv[1]
path = os.path.join(folder, "m.onnx")
x = {"input": torch.randn(2, 64)}


def write(external_data, module=None):
    export(module or torch.nn.Linear(64, 64), x, path, loss=False, external_data=external_data)
    print(sorted(os.listdir(folder)))


write(True)
write(True)
module = torch.nn.Linear(64, 64)
write(True, module)
replace = os.replace


def full(source, target):
    if target == path:
        raise OSError("no space is left")
    replace(source, target)


with mock.patch.object(os, "replace", full):
    try:
        write(True)
    except OSError as error:
        print("failed:", error)
held_as_in_module(onnx.load(path), module)
write(False, module)

plain = onnx.load(path)
del plain.metadata_props[:]
onnx.save(plain, path)
try:
    check(path, module, x, loss=False)
except ExportError as error:
    print("refused:", error)

half = torch.nn.Linear(64, 64).bfloat16()
export(half, {"input": x["input"].bfloat16()}, path, loss=False)
held_as_in_module(onnx.load(path), half)
try:
    held_as_in_module(onnx.load(path), torch.nn.Linear(64, 64).bfloat16())
except ExportError as error:
    print("refused:", error)

layer = torch.ops.aten.lstm.input
try:
    with forms.open_lengths():
        layer._dispatch_cache["left"] = None
        raise ValueError
except ValueError:
    print("left:", "left" in layer._dispatch_cache)
