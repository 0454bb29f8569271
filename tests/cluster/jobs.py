# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs of one program on hosts of hosts.py, for the tests beside this file. Their first argument is the build folder.
import json, os, pathlib, re, signal, subprocess, sys, time

import hosts as network

here = pathlib.Path(__file__).resolve().parent
build = pathlib.Path(sys.argv[1]).resolve()
source = here.parent.parent
model = source / "tests/frontends/onnx/Inputs/gpt2/loss.onnx"
data = f"--data={source / 'tests/e2e/Inputs/gpt2/data'}"
HOSTS = int(os.environ["DTCC_TEST_HOSTS"])  # hosts.py says it
RANKS, EACH = 4, 2  # of most tests, which have two hosts
patience = int(os.environ.get("DTCC_TEST_PATIENCE", 1))  # times a hang timeout, where others use the cores
torchrun = build / "export/bin/torchrun"
wrong = []
began = time.monotonic()


def check(good, what, *more):
    """Tells whether `what` holds, and the seconds since the start of the test."""
    print("ok:  " if good else "BAD: ", f"{time.monotonic() - began:5.1f} s ", what, flush=True)
    if not good:
        wrong.append(what)
        print(*more, sep="\n", flush=True)


def on(host, *command):
    return network.on(host, [str(word) for word in command])


def hosts(*command):
    subprocess.run([sys.executable, here / "hosts.py", *command], check=True)


class Job:
    """Processes that run one program; what they say goes to files."""

    def __init__(self, folder):
        self.folder, self.children = folder, []

    def start(self, command, **environment):
        with open(self.folder / f"said-{len(self.children)}", "w") as said:
            self.children.append(subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                                                  stderr=said, env={**os.environ, **environment}))

    def wait(self, seconds=60):
        """Statuses of all children; None of one that did not end."""
        end = time.monotonic() + seconds
        for child in self.children:
            try:
                child.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        return [child.poll() for child in self.children]

    def running(self):
        return None in [child.poll() for child in self.children]

    def said(self):
        return "".join((self.folder / f"said-{i}").read_text() for i in range(len(self.children)))

    def errors(self):
        return [line for line in self.said().splitlines() if line.startswith("error")]

    def ranks(self):
        """Numbers of processes, by rank."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0")
                variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if f"DTCC_TEST_JOB={self.folder}" not in variables or self.program != words[0]:
                continue
            for word in [*words, *variables]:
                if match := re.fullmatch(r"(?:--rank|OMPI_COMM_WORLD_RANK|SLURM_PROCID|RANK)=(\d+)", word):
                    found[int(match[1])] = int(process.name)
                    break
        return found

    def gone(self, but=frozenset()):
        """Waits for all ranks to end; the ones that do not, within a minute."""
        end = time.monotonic() + 60
        while time.monotonic() < end and set(self.ranks()) - but:
            time.sleep(0.1)
        return set(self.ranks()) - but

    def kill(self):
        for process in [*self.ranks().values(), *[child.pid for child in self.children if child.poll() is None]]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.wait(10)


def losses(path):
    """Step to loss and gradient norm, as text: no digit is lost."""
    steps = [json.loads(line, parse_float=str) for line in path.read_text().splitlines()]
    return {step["step"]: (step["loss"], step.get("grad_norm")) for step in steps if "loss" in step}


def has_begun(path):
    """Whether the metrics hold a step."""
    return path.exists() and '{"step":' in path.read_text()


def ended():
    """The end of a test."""
    print(f"{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)
