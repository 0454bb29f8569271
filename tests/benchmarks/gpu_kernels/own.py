# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same table for the runtime's own kernels that move rows (runtime/cuda/kernels), at sizes of GPT-2 124M.

    python3 tests/benchmarks/gpu_kernels/own.py

Launches are as runtime/cuda/ops makes them; parameters stand here as the headers beside the kernels lay them out.
"""
import argparse
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import machine  # noqa: E402
import roofline  # noqa: E402
import warp  # noqa: E402

ROWS, COLUMNS, CLASSES = 16384, 768, 50257
BF16 = 2  # of dtcc_dtype


def looping(work):
    """Blocks of a kernel that loops over its work."""
    return min(work, 16 * machine.H100.processors)


class Parameters:
    """A structure of parameters, and the memory that it leads to."""

    def __init__(self):
        self.data, self.memory, self.sizes, self.buffers = b"", {}, {}, 0

    def add(self, form, *values):
        align = max(struct.calcsize(letter) for letter in form)
        self.data += b"\0" * (-len(self.data) % align) + struct.pack("<" + form, *values)
        return self

    def buffer(self, size, words=()):
        """A pointer to memory of so many bytes that begins with these words; the rest of it is unknown."""
        self.buffers += 1
        self.sizes[self.buffers] = size
        self.memory.update({(self.buffers << 40) + 4 * n: word for n, word in enumerate(words)})
        return self.add("q", self.buffers << 40)

    def vector(self, size):
        """FloatVector."""
        return self.buffer(size).add("q", 1)

    def integers(self, count, words=()):
        """Integers, of 32 bits."""
        return self.buffer(4 * count, words).add("qii", 1, 0, 0)

    def classes(self, rows):
        """ClassRows; all labels are class 7."""
        self.add("qqqq", rows, CLASSES, 0, CLASSES)
        return self.integers(rows, [7] * rows).add("qii", -100, 1, 0)

    def launch(self, grid, block):
        words = struct.unpack(f"<{len(self.data) // 4}I", self.data + b"\0" * (-len(self.data) % 4))
        constants = {0x0: block, 0xc: grid, roofline.FIRST_PARAMETER: 0, roofline.FIRST_PARAMETER + 4: 0}
        constants.update({roofline.FIRST_PARAMETER + 8 + 4 * n: word for n, word in enumerate(words)})
        return warp.Launch(constants, grid, block, self.memory, self.sizes)


def cases():
    """(module, kernel, bytes that must move, launch)."""
    logits = 4 * ROWS * CLASSES // 8
    rows = ROWS // 8
    p = Parameters().classes(rows).buffer(logits).add("q", CLASSES)
    yield "CrossEntropy", "cross_entropy_stats", logits, p.vector(rows).vector(rows).vector(rows).launch(looping(rows), 256)
    p = Parameters().classes(rows).buffer(logits).buffer(logits // 2).add("qq", CLASSES, CLASSES)
    yield "CrossEntropy", "cross_entropy_grad_bf16", logits + logits // 2, p.vector(4 * rows).launch(looping(rows), 256)

    size = 124_401_408
    p = Parameters().buffer(64, [0, 0, size & warp.MASK, size >> 32]).buffer(64).add("qq", 1, size).buffer(4 * size)
    p.buffer(4).buffer(4).buffer(8).buffer(4 * size).buffer(4 * size).buffer(4 * size).buffer(2 * size)
    p.add("ii", BF16, 1).add("i", 0).add("ddd", 0.9, 0.999, 1e-8).add("iii", 1, 1, 0)
    yield "Optimizer", "adam", size * 30, p.launch(-(-size // 4096), 256)
    part = -(-size // 1024) + 3 & ~3
    p = Parameters().buffer(4 * size).add("qqq", size, part, 1024).buffer(8 * 1024).buffer(4).add("i", 0)
    yield "Optimizer", "sum_squares_blocks", 4 * size, p.launch(1024, 512)

    units = COLUMNS * 2 // 16
    p = Parameters().buffer(2 * COLUMNS * CLASSES).add("qq", units, 1).buffer(2 * COLUMNS * ROWS).add("qq", units, 1)
    p.integers(ROWS, [n * 3 for n in range(ROWS)]).add("qqqq", ROWS, units, CLASSES, 0)
    yield "Embedding", "embedding_16", 4 * COLUMNS * ROWS, p.launch(looping(ROWS), 128)
    # A block has 128 columns of 64 rows. The grid has a second dimension for columns, which here are more rows.
    blocks, segments = COLUMNS // 128, ROWS // 64
    p = Parameters().buffer(2 * COLUMNS * ROWS).add("qq", 128, 1).buffer(4 * COLUMNS * CLASSES).add("qq", 128, 1)
    p.integers(ROWS * blocks, [n * 3 for n in range(ROWS * blocks)])
    p.add("qqqqq", ROWS * blocks, 128, 0, CLASSES * blocks, -1).buffer(4 * ROWS * blocks, range(ROWS * blocks)).buffer(0)
    p.buffer(8 * segments * COLUMNS).buffer(8 * segments * blocks).add("ii", 64, 7)
    yield "Embedding", "scatter_add_bf16", 10 * COLUMNS * ROWS, p.launch(segments * blocks, 128)

    count = 1 << 23
    for kernel, moved in (("copy_16", 32 * count), ("fill_16", 16 * count)):
        p = Parameters().buffer(16 * count).buffer(16 * count).add("q", count)
        p.add("q" * 9, count, *[0] * 8).add("q" * 18, 16, *[0] * 8, 16, *[0] * 8).add("iIIII", 1, 0, 0, 0, 0)
        yield "Copy", kernel, moved, p.launch(looping(count // 256), 256)
    p = Parameters().buffer(16 * count).buffer(16 * count).add("q", count)
    strides = [1024 * 1536, 128, 1536, 16]  # of [16, 12, 1024, 8 units of 16 bytes] made of [16, 1024, 12, 8]
    p.add("q" * 9, count // 98304, 12, 1024, 8, *[0] * 5).add("q" * 9, *strides, *[0] * 5)
    p.add("q" * 9, 12 * 1024 * 128, 1024 * 128, 128, 16, *[0] * 5).add("iIIII", 4, 0, 0, 0, 0)
    yield "Copy", "copy_16 (transpose)", 32 * count, p.launch(looping(count // 256), 256)
    p = Parameters().buffer(2 * COLUMNS * ROWS).buffer(2 * COLUMNS * ROWS)
    p.add("qqqqqqq", 16, 1024, 1024, units, 0, 1024, 4)
    yield "RowOrder", "reorder_16", 4 * COLUMNS * ROWS, p.add("iIIII", 0, 0, 0, 0, 0).launch(looping(ROWS), 128)


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rows, codes = [], {}
    build = os.environ.get("DTCC_BUILD", os.path.join(roofline.measure.ROOT, "build"))
    folder = os.path.join(build, "runtime", "cuda", "kernels")
    for module, name, moved, launch in cases():
        if module not in codes:
            with tempfile.TemporaryDirectory() as place:
                codes[module] = roofline.disassemble(os.path.join(folder, module + ".ptx"), place)
        code, resources = (part[name.split()[0]] for part in codes[module])
        rows.append(roofline.row(name, 1, moved, *resources, code, launch))
    roofline.show(rows)


if __name__ == "__main__":
    sys.exit(main())
