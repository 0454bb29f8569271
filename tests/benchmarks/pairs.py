# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs that make a step when they are told to, so that two can take turns. Standard library only.

A machine may change its speed within minutes: programs that are compared live at the same time, and all but one are
stopped. A pair is a step of each, and the median of the pairs' ratios is what a machine's moods change least. Processor
time tells more than the clock where other work is on the machine, unless a program waits without using its core.
"""
import json
import os
import signal
import statistics
import subprocess
import time

import measure


class Program:
    """A compiled program, its ranks threads or (with `processes`) processes of mpirun, stopped between its steps."""

    def __init__(self, program, options, threads, folder, processes=0):
        self.metrics = os.path.join(folder, "metrics.jsonl")
        self.seen, self.losses = 0, []
        # A program counts its threads by the processors that it may use.
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads]))
        command = ["taskset", "-c", cores, program, *options, f"--metrics={self.metrics}"]
        if processes:
            command = [*measure.MPIRUN, "-n", str(processes), *command]
        self.process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE,
                                        env={**os.environ, **measure.MPI_ENVIRONMENT})
        self.wait()
        self.signal(signal.SIGSTOP)

    def wait(self):
        """Waits for the end of one more step: its line, which follows its metrics. Polling would take the program's time."""
        for line in self.process.stdout:
            if line.startswith(f"step {self.seen + 1}/"):
                break
        else:
            raise measure.Failed(f"the program ended with status {self.process.wait()} after {self.seen} steps")
        self.seen += 1
        with open(self.metrics) as stream:
            rows = [json.loads(line) for line in stream if line.endswith("\n")]
        self.losses = [row["loss"] for row in rows if "step" in row]

    def family(self):
        """The process and those that descend from it."""
        children = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            if fields := statistic(int(name)):
                children.setdefault(int(fields[1]), []).append(int(name))
        found = [self.process.pid]
        for parent in found:
            found.extend(children.get(parent, []))
        return found

    def signal(self, number):
        for pid in self.family():
            os.kill(pid, number)

    def used(self):
        """Seconds of a processor since the start, all threads."""
        fields = [statistic(pid) for pid in self.family()]
        return sum(int(row[11]) + int(row[12]) for row in fields if row) / os.sysconf("SC_CLK_TCK")

    def step(self):
        """Seconds by the clock and of a processor."""
        before, began = self.used(), time.perf_counter()
        self.signal(signal.SIGCONT)
        self.wait()
        seconds = time.perf_counter() - began
        self.signal(signal.SIGSTOP)
        return seconds, self.used() - before

    def end(self):
        for pid in reversed(self.family()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


def statistic(pid):
    """The fields of /proc/PID/stat after the name; none if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()
    except OSError:
        return []


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return {"median": round(middle, 3), "quartiles": [round(low, 3), round(high, 3)]}
