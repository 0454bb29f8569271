# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""status.py STATUS COMMAND ...: runs the command; it must end with that status and, if that is not 0, with exactly
one line on stderr and nothing on stdout."""
import subprocess
import sys

wanted = int(sys.argv[1])
done = subprocess.run(sys.argv[2:], capture_output=True, text=True, timeout=120)
print(done.stdout, end="")
print(done.stderr, end="", file=sys.stderr)
if done.returncode != wanted:
    sys.exit(f"status must be {wanted}, got: {done.returncode}")
if wanted and (done.stdout or done.stderr.count("\n") != 1):
    sys.exit("a failure must give one line on stderr alone")
