# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches a model, and asks explain, cost, compare and memory about what search found: all must print the same step
time and memory for the same plan, to the last digit.

    agree.py FOLDER MODEL [OPTION...]
"""

import json
import subprocess
import sys


def ask(command, *arguments):
    text = subprocess.run(["dtcc-plan", command, *arguments, "--json"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(text)


def main():
    folder, model, *options = sys.argv[1:]
    plan = folder + "/plan.json"
    searched = ask("search", model, *options, "-o", plan)
    best = searched["plans"][0]
    print(best["options"])
    want = {"seconds": best["seconds"], "bytes": best["bytes"]["all"]}

    def check(name, seconds, held):
        got = {"seconds": seconds, "bytes": held}
        assert got == want, f"{name} says {got}, search {want}"

    explained = ask("explain", plan, model, *options)
    assert explained["plans"][0]["options"] == best["options"]
    for given in (explained["plans"][0], explained["given_plan"]):
        check("explain", given["seconds"], given["bytes"]["all"])
    priced = ask("cost", plan, model, *options)
    check("cost", priced["step_seconds"]["total"], priced["memory_bytes"])
    priced = ask("cost", model, *options)
    check("cost without a plan", priced["step_seconds"]["total"], priced["memory_bytes"])
    # The last of the plans whose programs the search compared.
    other = [plan for plan in searched["plans"] if plan["confirmed"]][-1]
    for words in (best["options"], other["options"]):
        compared = ask("compare", plan, words, "--model=" + model, *options)
        seconds, held = compared["Forecast of a step"]["a step"], compared["Forecast of a device"]["memory"]
        check("compare", seconds["a"], held["a"])
        if words == best["options"]:
            check("compare in words", seconds["b"], held["b"])
    assert seconds["b"] == other["seconds"], f"compare says {seconds['b']}, search {other}"
    # Rows of memory are estimates, and have all blocks alike: they are compared where that was asked for, with the mesh held.
    mesh = ",".join(f"{axis}={best['mesh'][axis]}" for axis in ("tp", "cp", "pp"))
    for recompute in ("none", "full"):
        held = [option for option in options if not option.startswith(("--mesh", "--microbatches"))]
        held += [f"--mesh={mesh}", f"--recompute={recompute}", f"--microbatches={best['microbatches']}"]
        if best["mesh"]["pp"] > 1:
            held.append("--schedule=1f1b")
        rows = {(row["zero"], row["recompute"]): row["bytes"] for row in ask("memory", model, *held)["rows"]}
        found = [each for each in ask("search", model, *held)["plans"] if each["zero"] == best["zero"]]
        # Positions may be shared out or not: the table has one of the two.
        bytes = [each.get("estimated_bytes", each["bytes"]) for each in found]
        row = rows[best["zero"], recompute]
        assert row in bytes, f"memory says {row}, search {bytes}"


main()
