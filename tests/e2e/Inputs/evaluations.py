# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What metrics files say of evaluations: evaluations.py WHAT FILE [OTHER [REACH]]

steps       prints the steps behind which there was one
like-step   the evaluation is, to 1e-6, the loss of step 1 of OTHER
close       those of both files agree to 1e-6, or to REACH
best        the smallest is, bit for bit, the one of OTHER
last        the last is, bit for bit, the one of OTHER
"""
import json
import sys


def rows(path, key):
    with open(path) as file:
        found = [(row["step"], row[key]) for row in map(json.loads, file) if key in row]
    assert found, f"{path} has no {key}"
    return found


def close(a, b, reach=1e-6):
    assert abs(a - b) <= reach * abs(b), (a, b)


what, mine = sys.argv[1], rows(sys.argv[2], "eval_loss")
if what == "steps":
    print(*(step for step, _ in mine))
elif what == "like-step":
    close(mine[0][1], rows(sys.argv[3], "loss")[0][1])
else:
    other = rows(sys.argv[3], "eval_loss")
    if what == "close":
        assert [step for step, _ in mine] == [step for step, _ in other]
        for (_, a), (_, b) in zip(mine, other):
            close(a, b, *map(float, sys.argv[4:]))
    else:
        chosen = min(loss for _, loss in mine) if what == "best" else mine[-1][1]
        assert other == [(other[0][0], chosen)], (mine, other)
