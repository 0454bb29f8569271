# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cut_shards.py LENGTH ROWS ROWS ROWS: writes tokens below 256 into the current folder. shards/ holds so many rows of
LENGTH in each of three files, the first two in llm.c's formats of 16 and 32 bits, the third as .npy; whole.npy and
bytes (raw, 8 bits) hold them all. cut.bin is cut short, high.bin has a token too large. Standard library only."""
import array
import os
import random
import struct
import sys

length, *rows = map(int, sys.argv[1:])
random.seed(4)
parts = [[random.randrange(256) for _ in range(length * count)] for count in rows]


def npy(path, values):
    header = str({"descr": "|u1", "fortran_order": False, "shape": (len(values),)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(values))


def llmc(path, code, values):
    magic, version = {"H": (20240520, 1), "I": (20240801, 7)}[code]
    with open(path, "wb") as file:
        file.write(struct.pack("<256i", magic, version, len(values), *[0] * 253) + array.array(code, values).tobytes())


os.mkdir("shards")
llmc("shards/0.bin", "H", parts[0])
llmc("shards/1.bin", "I", parts[1])
npy("shards/2.npy", parts[2])
whole = [token for part in parts for token in part]
npy("whole.npy", whole)
with open("bytes", "wb") as file:
    file.write(bytes(whole))
llmc("cut.bin", "H", [1] * 600)
os.truncate("cut.bin", 2000)
high = array.array("H", [1] * 600)
high[70] = 999
with open("high.bin", "wb") as file:
    high.tofile(file)
