# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs and measures them, for all benchmarks. Python's standard library only."""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
# One rank a process: yielding, since ranks may outnumber the cores; root needs to be told twice.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
          "--mca", "btl", "self,vader", "--mca", "pml", "ob1", "--mca", "plm", "isolated"]
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Failed(RuntimeError):
    """A program that did not end well, with what it said."""


def tool(name):
    path = os.path.join(os.environ.get("DTCC_BUILD", os.path.join(ROOT, "build")), "bin", name)
    if not os.path.exists(path):
        raise SystemExit(f"no {path}; build first, or set DTCC_BUILD")
    return path


def run(command, limit=900, environment=None):
    """Runs a command. Returns (seconds, peak resident MiB of its greatest process, standard output)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True,
                                   env={**os.environ, **(environment or {})})
        usage = None
        while usage is None:
            pid, status, found = os.wait4(process.pid, os.WNOHANG)
            if pid:
                usage = found
            elif time.monotonic() - began > limit:
                os.killpg(process.pid, signal.SIGKILL)
                os.wait4(process.pid, 0)
                raise Failed(f"longer than {limit} s: {' '.join(command)}")
            else:
                time.sleep(0.02)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise Failed(f"exit status {process.returncode}: {' '.join(command)}\n{err.read()[-2000:]}")
        return seconds, usage.ru_maxrss / 1024, out.read()


def compile_model(model, program, options):
    """Compiles; returns (seconds, peak resident MiB)."""
    seconds, peak, _ = run([tool("dtcc"), model, *options, "-o", program], limit=300)
    return seconds, peak


def train(program, options, processes=0, environment=None, limit=900, emulator=()):
    """Runs a compiled program, under mpirun if processes are asked for, or by an emulator's command. Returns its metrics
    and peak resident MiB.

    The metrics are {"start": event, "steps": [rows], "end": event}.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "metrics.jsonl")
        command = [*emulator, program, *options, f"--metrics={file}"]
        if processes:
            command = [*MPIRUN, "-n", str(processes), *command]
        _, peak, _ = run(command, limit, {**MPI_ENVIRONMENT, **(environment or {})})
        with open(file) as stream:
            rows = [json.loads(line) for line in stream if line.strip()]
    events = {row["event"]: row for row in rows if "event" in row}
    return {"start": events.get("start", {}), "steps": [r for r in rows if "step" in r], "end": events.get("end", {})}, peak


def median_step(metrics, warmup):
    return statistics.median(row["step_seconds"] for row in metrics["steps"][warmup:])


def emit(**row):
    """One JSON line a run."""
    print(json.dumps(row), flush=True)


def busy():
    """How loaded the machine was in the last minute, beyond this benchmark: figures taken above 0.3 are worth little."""
    return round(os.getloadavg()[0], 2)


def note(text):
    print(text, file=sys.stderr, flush=True)
