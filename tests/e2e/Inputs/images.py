# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes x.npy, two images of 16 channels and 4 x 4 cells, and labels.npy, a class of 8 for each cell, into a folder.

With a number: so many images of 8 x 8 cells, and a class of 24 for each image.
"""
import array
import sys


def write(name, kind, shape, values):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values.tobytes())


if len(sys.argv) > 2:
    count = int(sys.argv[2])
    write("x", "<f4", (count, 16, 8, 8), array.array("f", [(i * i * 7 % 4099 - 2049) / 1600 for i in range(count * 1024)]))
    write("labels", "<i8", (count,), array.array("q", [i * 5 % 24 for i in range(count)]))
    sys.exit()
write("x", "<f4", (2, 16, 4, 4), array.array("f", [(i * i * 7 % 41 - 20) / 16 for i in range(512)]))
write("labels", "<i8", (2, 4, 4), array.array("q", [i * 5 % 8 for i in range(32)]))
