# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""classes.py FOLDER CLASSES: writes ids.npy and labels.npy, 4 x 8 numbers below CLASSES."""
import array
import sys

folder, classes = sys.argv[1], int(sys.argv[2])
for name, step in (("ids", 977), ("labels", 1283)):
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (4, 8), }"
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    with open(f"{folder}/{name}.npy", "wb") as file:
        values = array.array("q", [(i + 1) * step % classes for i in range(32)])
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values.tobytes())
