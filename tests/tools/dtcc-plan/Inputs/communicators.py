# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""communicators.py MODEL BIND CLUSTER OPTION...: what --info of the plan's program says of the stage for which the search
charges as much for communicators, launches of a graph aside; status 1 if it is none."""
import json
import re
import subprocess
import sys

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def main():
    model, bind, cluster, *options = sys.argv[1:]

    def run(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    searched = run("dtcc-plan", "search", model, bind, f"--cluster={cluster}", *options, "--json", "-o", "plan.json")
    charged = json.loads(searched)["plans"][0]["bytes"]["communicators"]
    own = [option for option in options if option.startswith(("--precision", "--batch-norm"))]
    run("dtcc", model, bind, f"--cluster={cluster}", "--plan=plan.json", "--init=random", *own, "-o", "program")
    lines = re.findall(r"besides .*", run("./program", "--info"))
    for line in lines:
        parts = re.findall(r"(?:driver and code|NCCL's \w+) ([0-9.]+) (\w+)", line)
        if abs(charged - sum(float(number) * UNITS[unit] for number, unit in parts)) < 0.005 * charged:
            print(line)
            return 0
    print(f"the search charges {charged / 2**20:.1f} MiB", *lines, sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
