# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""damage.py PROGRAM OUTPUT KIND: writes a copy of the program with one thing wrong in its image. Offsets are those of
runtime/abi/dtcc_rt.h."""
import os
import re
import struct
import sys

program, output, kind = sys.argv[1:]
with open(os.path.join(os.path.dirname(__file__), *[".."] * 4, "runtime", "abi", "dtcc_rt.h")) as header:
    HEAD = struct.pack("<II", *(int(re.search(rf"#define DTCC_ABI_{name} (\w+)u", text)[1], 0)
                                for text in [header.read()] for name in ("MAGIC", "VERSION")))
data = bytearray(open(program, "rb").read())
# The image begins with the magic and version, aligned to 64.
image = next(i for i in range(0, len(data), 64) if data[i:i + 8] == HEAD)
SECTIONS = image + 32 + 40 + 24 + 8  # after four names, the training defaults, stage axis to gradients, and a double
NAMES = ["strings", "axes", "communicators", "arenas", "views", "slot_orders", "operands", "attributes", "waits", "commands",
         "phases", "actions", "inputs", "states", "buckets", "segments", "stages"]


SUMS = SECTIONS + 16 * (len(NAMES) + 4)  # of the tables, then of the header; three sections for GPUs and the ONNX model stand before
SIZE = struct.unpack_from("<Q", data, image + 8)[0]


def checksum(begin, end):
    total = 0xCBF29CE484222325
    for byte in data[begin:end]:
        total = (total ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return total


def seal():
    """Makes the checksums right (runtime/abi/Checksum.h): what is wrong is then found by the checks of the tables."""
    struct.pack_into("<Q", data, SUMS, checksum(SUMS + 16, image + SIZE))
    struct.pack_into("<Q", data, SUMS + 8, checksum(image, SUMS + 8))


def section(name):
    return SECTIONS + 16 * NAMES.index(name)


def table(name):
    return image + struct.unpack_from("<Q", data, section(name))[0]


def row(name, field, value, format="<I"):
    struct.pack_into(format, data, table(name) + field, value)


if kind == "magic":
    data[image] ^= 1
    # The symbol remains, so this is a damaged program and not another one.
elif kind == "version":
    struct.pack_into("<I", data, image + 4, 99)
elif kind == "bytes":
    struct.pack_into("<Q", data, image + 8, 1 << 60)
elif kind == "section":
    struct.pack_into("<Q", data, section("commands") + 8, 1 << 61)
elif kind == "operand":
    struct.pack_into("<I", data, table("operands"), 0x7FFFFFFF)
elif kind == "axis":
    row("axes", 8, 0, "<q")
elif kind == "action":
    row("actions", 0, 1000)
elif kind == "name":
    row("phases", 0, 0x7FFFFFFF)
elif kind == "gradients":
    struct.pack_into("<I", data, SECTIONS - 8 - 4, 0x7FFFFFFF)
elif kind == "cut":
    del data[image + 64:]
elif kind == "flip":
    data[image + SIZE - 1] ^= 64
elif kind == "header":
    data[section("commands") + 8] ^= 1
elif kind == "random":
    # Every byte of the tables in turn would take long: each 997th, all at once.
    for i in range(SECTIONS, SECTIONS + 4096, 997):
        data[i] ^= 0xFF
else:
    sys.exit("unknown kind: " + kind)
if kind in ("bytes", "section", "operand", "axis", "action", "name", "gradients"):
    seal()
open(output, "wb").write(data)
