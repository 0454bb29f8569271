# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one exception of the package."""
import subprocess
import sys
import warnings
from typing import Any, Dict, List, Sequence


class DtccError(RuntimeError):
    """A tool or program refused its input or failed: its text is the tool's message.

    status   the exit status (docs/exit-status.md); 127 if the tool was not found
    command  the words of the command
    rows     of a run that failed: the metrics that it had written
    """

    rows: List[Dict[str, Any]] = []

    def __init__(self, message: str, status: int, command: Sequence[str]) -> None:
        super().__init__(message)
        self.status = status
        self.command = list(command)


def message_of(errors: str) -> str:
    """The message in what a tool wrote to standard error, without notes and progress."""
    lines = [line for line in errors.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if "error: " in line:
            return "\n".join([line.removeprefix("error: "), *lines[number + 1:]])
    return "\n".join(lines)


def check(command: Sequence[str], status: int, errors: str) -> None:
    """Raises what a command that ended with `status` has to say."""
    if status == 0:
        return
    if status < 0:
        ended = f"ended by signal {-status}"
    else:
        ended = f"failed with status {status}"
    raise DtccError(message_of(errors) or f"{command[0]} {ended}", status, command)


def not_run(command: Sequence[str], error: OSError) -> DtccError:
    """What a command that could not be started has to say."""
    return DtccError(f"cannot run {command[0]}: {error.strerror}", 127, command)


def call(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Runs a command to its end, and returns its output."""
    try:
        done = subprocess.run(list(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise not_run(command, error) from error
    check(command, done.returncode, done.stderr)
    return done


def pass_on(errors: str) -> None:
    """Shows what a tool that succeeded said of its input: notes as they are, warnings as Python's own."""
    for line in errors.splitlines():
        if "warning: " in line:
            warnings.warn(line.replace("warning: ", "", 1), stacklevel=4)
        elif "note: " in line:
            print(line, file=sys.stderr)
