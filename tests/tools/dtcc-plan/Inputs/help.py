# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The help of every command that dtcc-plan names when it gets none: its own, and at most 30 lines of 100 characters."""
import re
import subprocess
import sys

names = subprocess.run(["dtcc-plan"], capture_output=True, text=True).stderr
commands = re.search(r"must be given: (.*); see", names).group(1).replace(" or ", ", ").split(", ")
for command in commands:
    text = subprocess.run(["dtcc-plan", command, "--help"], capture_output=True, text=True, check=True).stdout
    lines = text.splitlines()
    if not text.startswith(f"dtcc-plan {command} ") or len(lines) > 30 or max(map(len, lines)) > 100:
        sys.exit(f"the help of {command} must begin with it and fit a screen, got:\n{text}")
