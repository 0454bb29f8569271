# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cut_tokens.py BATCH LENGTH: writes into the current folder stream (u16), two batches and one token of bytes, and the
same as rows of LENGTH: rows.npy, and next.npy, one token further. Standard library only."""
import array
import random
import struct
import sys

batch, length = map(int, sys.argv[1:])
count = 2 * batch * length
random.seed(3)
stream = array.array("H", (random.randrange(257) for _ in range(count + 1)))


def write(path, values):
    header = str({"descr": "<i8", "fortran_order": False, "shape": (2 * batch, length)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array.array("q", values).tobytes())


with open("stream", "wb") as file:
    stream.tofile(file)
write("rows.npy", stream[:count])
write("next.npy", stream[1:])
