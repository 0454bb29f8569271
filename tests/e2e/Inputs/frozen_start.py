# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""frozen_start.py SAVED MODEL PART: the tensors of a safetensors file whose names hold PART are, bit by bit, those of the model."""
import json
import sys

import onnx

saved, model, part = sys.argv[1:]
with open(saved, "rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    data = file.read()
count = 0
for tensor in onnx.load(model).graph.initializer:
    if part in tensor.name and tensor.name in header:
        begin, end = header[tensor.name]["data_offsets"]
        if data[begin:end] != onnx.numpy_helper.to_array(tensor).tobytes():
            sys.exit(f"{tensor.name} differs")
        count += 1
if count == 0:
    sys.exit(f"no tensor of {part}")
