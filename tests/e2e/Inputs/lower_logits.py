# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lower_logits.py FILE BIAS: subtracts 100 from every cell of the tensor BIAS of a safetensors file, which is f32."""
import array
import json
import sys

path, name = sys.argv[1:]
with open(path, "rb") as file:
    data = bytearray(file.read())
start = 8 + int.from_bytes(data[:8], "little")
begin, end = (start + place for place in json.loads(data[8:start])[name]["data_offsets"])
cells = array.array("f", data[begin:end])
data[begin:end] = array.array("f", [cell - 100 for cell in cells]).tobytes()
with open(path, "wb") as file:
    file.write(data)
