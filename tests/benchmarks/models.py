# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Six networks, exported by tools/export, trained by dtcc and by PyTorch (eager and compiled) in turns of one step.

A machine may change its speed within minutes, so both processes live at the same time and one is stopped while the other
makes a step. A pair is a step of each; a line has the median of the pairs' ratios (PyTorch's seconds over dtcc's, above 1
where dtcc is faster) with its quartiles, by the clock and by processor time, which tells more on a machine with other work.
The networks are those of ../shared/peers and a small Mixtral (models_networks.py); both sides start from the same weights and see the same batches, so the first
losses must be equal. Runs in a Python with the requirements of tools/export:

    build/export/bin/python tests/benchmarks/models.py                            # all, against both peers, 15 pairs
    build/export/bin/python tests/benchmarks/models.py resnet50 --peers eager --threads 1
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy
import torch

import measure
import models_networks
import pairs

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(measure.ROOT, "tools", "export"))
import dtcc_export  # noqa: E402

NETWORKS = models_networks.BATCHES
SEQ, WARMUP = 256, 2
REACH = 1e-5  # between the first losses


class Peer:
    """PyTorch, which makes a step when it is told to."""

    def __init__(self, name, batch, threads, compiled):
        command = [sys.executable, os.path.join(HERE, "models_peer.py"), name, str(batch), str(SEQ), str(threads)]
        self.process = subprocess.Popen(command + (["--compile"] if compiled else []), text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.losses = []
        self.line()

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise measure.Failed(f"PyTorch ended with status {self.process.wait()}")
        return line

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        row = json.loads(self.line())
        self.losses.append(row["loss"])
        return row["seconds"], row["processor"]

    def end(self):
        self.process.kill()
        self.process.wait()


def export(name, batch, steps, folder):
    """Writes the network with its loss as ONNX and the batches of all steps; returns their paths."""
    task = models_networks.build(name, SEQ)
    batches = [models_networks.batch(name, batch, SEQ, step) for step in range(steps)]
    model, data = os.path.join(folder, "model.onnx"), os.path.join(folder, "data")
    dtcc_export.export(task, dict(zip(("inputs", "targets"), batches[0])), model, dynamic={})
    os.makedirs(data)
    for field, cells in zip(("inputs", "targets"), zip(*batches)):
        numpy.save(os.path.join(data, field + ".npy"), torch.cat(cells).contiguous().numpy())
    return model, data


def compare(name, arguments, peer, program, data, folder):
    """One line: dtcc beside one peer."""
    batch = NETWORKS[name]
    load = measure.busy()
    steps = arguments.pairs + WARMUP + 2
    ours = pairs.Program(program, [f"--data={data}", f"--steps={steps}"], arguments.threads, folder)
    theirs = None
    try:
        theirs = Peer(name, batch, arguments.threads, peer == "compiled")
        rows = [(ours.step(), theirs.step()) for _ in range(arguments.pairs + WARMUP)][WARMUP:]
    finally:
        ours.end()
        if theirs:
            theirs.end()
    difference = abs(ours.losses[0] - theirs.losses[0]) / abs(theirs.losses[0])
    measure.emit(benchmark="models", network=name, batch=batch, threads=arguments.threads, peer=peer, pairs=len(rows),
                 load_before=load, dtcc_seconds=round(statistics.median(o[0] for o, _ in rows), 3),
                 peer_seconds=round(statistics.median(t[0] for _, t in rows), 3),
                 ratio=pairs.quartiles([t[0] / o[0] for o, t in rows]),
                 processor_ratio=pairs.quartiles([t[1] / o[1] for o, t in rows]),
                 first_loss_difference=float(f"{difference:.2g}"), good=difference <= REACH)
    return difference <= REACH


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", choices=[[], *NETWORKS], default=[], help="default: all")
    parser.add_argument("--peers", nargs="+", default=["eager", "compiled"], choices=("eager", "compiled"))
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    good = True
    for name in arguments.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            model, data = export(name, NETWORKS[name], arguments.pairs + WARMUP + 2, folder)
            measure.compile_model(model, program, ["--cluster=cpu:1", "--optimizer=adamw:lr=3e-4,weight_decay=0.01"])
            for peer in arguments.peers:
                try:
                    good &= compare(name, arguments, peer, program, data, folder)
                except measure.Failed as error:
                    good = False
                    measure.emit(benchmark="models", network=name, peer=peer, good=False, error=str(error)[-600:])
                os.remove(os.path.join(folder, "metrics.jsonl"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
