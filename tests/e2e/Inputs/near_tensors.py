# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two files of safetensors hold the same f32 tensors: near_tensors.py ONE OTHER TOLERANCE

The distance of two tensors, as a vector, is at most TOLERANCE of the length of the first.
"""
import array
import json
import math
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    assert all(row["dtype"] == "F32" for row in header.values()), path
    return {name: (row["shape"], array.array("f", data[slice(*row["data_offsets"])])) for name, row in header.items()}


one, other, most = read(sys.argv[1]), read(sys.argv[2]), float(sys.argv[3])
assert one and one.keys() == other.keys(), (one.keys(), other.keys())
for name, (shape, cells) in one.items():
    assert shape == other[name][0], (name, shape, other[name][0])
    distance = math.sqrt(sum((a - b) ** 2 for a, b in zip(cells, other[name][1])))
    length = math.sqrt(sum(a * a for a in cells))
    assert distance <= most * length, (name, distance / length)
print(len(one), "tensors are near")
