# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes x.npy (float32 [64, 12]) and labels.npy (int64 [64] below 9) into a folder."""
import random
import struct
import sys


def write(path, code, kind, values, shape):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(values), code), *values))


random.seed(1)
write(sys.argv[1] + "/x.npy", "f", "<f4", [random.gauss(0, 1) for _ in range(64 * 12)], (64, 12))
write(sys.argv[1] + "/labels.npy", "q", "<i8", [random.randrange(9) for _ in range(64)], (64,))
