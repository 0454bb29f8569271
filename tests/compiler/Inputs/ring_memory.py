# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ring_memory.py FOLDER: compares the planned activations of long-attention.mlir.in on 4 and 8 ranks, in FOLDER/FORM.RANKS."""
import re
import sys

# Keys of a rank: 2 examples, 64 positions, 4 heads of 32 numbers.
BLOCK = 2 * 64 * 4 * 32 * 4


def activations(form, ranks):
    text = open(f"{sys.argv[1]}/{form}.{ranks}").read()
    return int(re.search(r"exec\.arena @activations : (\d+)", text).group(1))


for form in ("ring", "gather"):
    few, many = activations(form, 4), activations(form, 8)
    print(f"{form}: {few} bytes on 4 ranks, {many} on 8: {few / BLOCK:.2f} and {many / BLOCK:.2f} blocks of keys")
    # Labels and tokens in another order: 8 bytes each, twice.
    integers = 4 * 2 * (512 - 256) * 8
    if form == "ring" and abs(many - few) > integers:
        sys.exit(f"a ring must plan the same within {integers} bytes for any number of ranks")
    # Keys and values of four more ranks.
    if form == "gather" and many - few < 2 * 4 * BLOCK:
        sys.exit("gathered keys and values must grow with the ranks: the test compares nothing")
# Own keys and values, those that are worked on, the next; queries and result; gradients of all five, the sums that
# arrive; and less than four blocks of the rest.
if activations("ring", 8) > 20 * BLOCK:
    sys.exit("a ring must hold at most 20 blocks")
