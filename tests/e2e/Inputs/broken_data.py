# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""broken_data.py FOLDER: writes damaged forms of FOLDER/input_ids.npy [samples, 33] into the current folder. Standard
library only."""
import ast
import os
import struct
import sys


def read(path):
    """Type, shape and bytes of an .npy file of version 1."""
    with open(path, "rb") as file:
        whole = file.read()
    (length,) = struct.unpack("<H", whole[8:10])
    header = ast.literal_eval(whole[10:10 + length].decode())
    return header["descr"], header["shape"], whole[10 + length:]


def write(path, kind, shape, data):
    header = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


kind, shape, ids = read(os.path.join(sys.argv[1], "input_ids.npy"))
width = int(kind[2:])
write("floats.npy", "<f4", shape, b"\0" * (4 * shape[0] * shape[1]))
write("narrow.npy", kind, (shape[0], 32), b"\0" * (width * shape[0] * 32))
write("range.npy", kind, shape, ids[:5 * width] + (257).to_bytes(width, "little") + ids[6 * width:])
late = 29 * 33 * width
write("late.npy", kind, shape, ids[:late + 5 * width] + (257).to_bytes(width, "little") + ids[late + 6 * width:])
os.mkdir("few")
for name in ("input_ids", "labels"):
    write(f"few/{name}.npy", kind, (7, 33), b"\0" * (width * 7 * 33))
write("cut.npy", kind, shape, ids[:-1])
with open("odd", "wb") as file:
    file.write(b"\0\0\0")
