# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""schedule_memory.py A.mlir SLOTS B.mlir SLOTS: compares the planned activations of the stages of one model under two
schedules. SLOTS says how many micro-batches each stage keeps. A stage has what it keeps, times the slots, and what a
phase needs for itself: the difference between the schedules must be the difference in what is kept."""
import re
import sys


def stages(path):
    """Per program: bytes of the arena of activations, and of what is kept for one micro-batch."""
    found = []
    for text in re.split(r"(?=exec\.program )", open(path).read())[1:]:
        arena = int(re.search(r"exec\.arena @activations : (\d+)", text).group(1))
        kept = {}
        for name, stride in re.findall(r"exec\.view @(\S+)\[\d+ \+ slot \* (\d+) mod \d+\]", text):
            kept[name] = int(stride)
        inputs = set(re.findall(r"exec\.buffer @(\S+) : \d+ in @inputs", text))
        found.append((arena, sum(bytes for name, bytes in kept.items() if name not in inputs)))
    return found


first, firstSlots, second, secondSlots = sys.argv[1:]
rows = zip(stages(first), map(int, firstSlots.split(",")), stages(second), map(int, secondSlots.split(",")))
for stage, ((most, kept), many, (least, _), few) in enumerate(rows):
    expected = (many - few) * kept
    print(f"stage {stage}: {most} and {least} bytes, {kept} kept a micro-batch, expected difference {expected}")
    # With a single micro-batch in flight, its memory is also used by the temporary buffers of a phase.
    slack = kept if few == 1 else 0
    if abs(most - least - expected) > slack + 0.02 * most:
        sys.exit(f"stage {stage}: the difference must be {expected} within {slack}, got: {most - least}")
