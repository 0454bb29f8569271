# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains small models on random data, and compares every step with numpy's reading of the same files.

    compare_data.py --seeds 0:20            # all models
    compare_data.py --seeds 17:18 --notes   # one, with what the programs say

A run (random_data.py) is trained under up to three plans one after the other: each resumes behind a step that is drawn, on other
ranks, with other micro-batches, or as another world of one program. Compared are the number of steps, the loss of each, the losses
and accuracies of evaluations, and the best model that is kept, with the batches that docs/data.md says. Programs are compiled once
for all seeds. A plan that dtcc refuses is counted; a program must take the data.

Prints the seed, the run and both values for each difference, and keeps the folder of the seed. The exit status is 1 if anything
differs, crashes or takes too long.
"""
import hashlib
import json
import math
import os
import re
import shutil
import sys

import numpy

import random_data
from data_models import MODELS, evaluate
from run_programs import Failed, Refused, call, compare_seeds, keep_until, parser_of, report, rows_of

REACH = 3e-5
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl",
          "self,vader", "--mca", "pml", "ob1", "--mca", "plm", "isolated"]


def reference(run):
    """Losses of the steps, losses and accuracies of evaluations by step, and the parameters behind the best of them."""
    held = {name: cells.astype(numpy.float64) for name, cells in run.model.parameters.items()}
    losses, evaluations, best, position = [], {}, (math.inf, None), 0
    for step in range(run.steps):
        batch = run.batches[sum(step >= stop for stop in run.stops)]
        order = run.order.with_batch(batch)
        total, count, _, slopes = evaluate(run.model, held, order.batch_from(position))
        position += order.size
        losses.append(total / count)
        for name, slope in slopes.items():
            held[name] = held[name] - run.rate * slope / count
        if run.evaluation and (step + 1 == run.steps or run.every and (step + 1) % run.every == 0):
            order = run.evaluation.with_batch(batch)
            found = [evaluate(run.model, held, order.batch_from(i * order.size))[:3]
                     for i in range(min(order.steps, run.most or math.inf))]
            loss, count, hits = map(sum, zip(*found))
            evaluations[step + 1] = loss / count, hits / count
            if loss / count < best[0]:
                best = loss / count, dict(held)
    # Losses of other numbers of samples are no better or worse.
    return losses, evaluations, best[1] if len(set(run.batches)) == 1 else None


def saved_arrays(path):
    """The arrays of f32 of a file of safetensors."""
    with open(path, "rb") as file:
        whole = file.read()
    begin = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:begin])
    return {name: numpy.frombuffer(whole[begin:][slice(*each["data_offsets"])], "<f4").reshape(each["shape"])
            for name, each in header.items() if name != "__metadata__"}


def program_of(run, plan, batch, given, notes):
    """The program of a plan, compiled if no seed before has needed it, and how it is started."""
    kind, *more = plan.split()
    worlds = kind == "worlds"
    words = run.model.options(batch, run.length) + [f"--optimizer=sgd:lr={run.rate}"]
    words += ["--worlds=1,2,4"] if worlds else [f"--mesh={kind}", *more]
    name = hashlib.sha256(" ".join([run.model.name, *words]).encode()).hexdigest()[:16]
    folder = os.path.join(os.path.abspath(given.keep), "programs", name)
    if not os.path.exists(os.path.join(folder, "program")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        run.model.write(os.path.join(folder, "model.onnx"), run.length)
        call([given.dtcc, "model.onnx", *words, "-o", "program"], folder, notes)
    program = [os.path.join(folder, "program")]
    ranks = more[0] if worlds else str(math.prod(int(size) for size in re.findall(r"\d+", kind)))
    if run.mpi and shutil.which("mpirun"):
        return [*MPIRUN, "-n", ranks, *program]
    return program + [f"--ranks={ranks}"] * worlds


def differences(run, rows, first, last, want):
    """A line for each difference in the steps behind `first` up to `last`."""
    losses, evaluations, _ = want
    steps = {row["step"]: row["loss"] for row in rows if "loss" in row}
    if sorted(steps) != list(range(first + 1, run.steps + 1)):
        yield f"steps {sorted(steps)}, expected {first + 1} to {run.steps}"
    for step, loss in steps.items():
        if step <= last and not abs(loss - losses[step - 1]) <= REACH * losses[step - 1]:
            yield f"loss of step {step}: {loss:.7g}, expected {losses[step - 1]:.7g}"
    found = {row["step"]: row for row in rows if "eval_loss" in row}
    wanted = {step: each for step, each in evaluations.items() if step > first}
    if sorted(found) != sorted(wanted):
        yield f"evaluations behind {sorted(found)}, expected {sorted(wanted)}"
    for step, (loss, accuracy) in wanted.items():
        if step > last:
            break
        row = found.get(step, {})
        if not abs(row.get("eval_loss", math.nan) - loss) <= REACH * loss:
            yield f"evaluation behind step {step}: {row.get('eval_loss')}, expected {loss:.7g}"
        if "eval_accuracy" in row and not abs(row["eval_accuracy"] - accuracy) < 1e-6:
            yield f"accuracy behind step {step}: {row['eval_accuracy']}, expected {accuracy:.7g}"
    if not run.model.reads_tokens and any("eval_accuracy" not in row for row in found.values()):
        yield "no accuracy"


def train(run, folder, given, notes):
    """Trains a run under its plans. Yields a line for each difference."""
    want, begins = reference(run), [0, *run.stops]
    for number, (plan, batch, first) in enumerate(zip(run.plans, run.batches, begins)):
        try:
            start = program_of(run, plan, batch, given, notes)
        except Refused as refusal:
            yield None, f"plan {plan}: {refusal}"
            return
        if first:
            keep_until(os.path.join(folder, "checkpoints"), first)
        metrics = f"metrics-{number}.jsonl"
        words = [*start, *run.words, f"--metrics={metrics}", "--checkpoint=checkpoints", "--checkpoint-every=1"]
        try:
            call(words + ["--resume"] * bool(first), folder, notes)
        except Refused as refusal:
            raise Failed(f"plan {plan} refuses the data: {refusal}")
        # A program trains until the end with its own batch.
        last = run.steps if len(set(run.batches)) == 1 else [*run.stops, run.steps][number]
        for line in differences(run, rows_of(os.path.join(folder, metrics)), first, last, want):
            yield False, f"plan {plan}: {line}"
        best = want[2]
        if best:
            for name, cells in saved_arrays(os.path.join(folder, "best.safetensors")).items():
                if not numpy.abs(cells - best[name]).max() <= 1e-4:
                    yield False, f"plan {plan}: the best model's {name} differs by {numpy.abs(cells - best[name]).max():.2g}"
        yield True, ""


def compare(seed, given, counts):
    """Trains the run of a seed. Returns whether all agree."""
    run = random_data.draw(seed)
    folder, found, notes = os.path.join(os.path.abspath(given.keep), f"seed-{seed}"), [], []
    shutil.rmtree(folder, ignore_errors=True)
    for source in run.sources:
        source.write(folder)
    try:
        for good, line in train(run, folder, given, notes):
            if good:
                counts["runs end"] += 1
            elif good is None:
                counts["plans refused"] += 1
                if given.refusals:
                    print(f"seed {seed}: {line}", flush=True)
            else:
                found.append(line)
    except Failed as failure:
        found.append(str(failure))
    counts["runs agree" if not found else "runs differ"] += 1
    return report(seed, run, found, folder, notes if given.notes else [])


def main():
    parser = parser_of(__doc__, "random-data")
    parser.add_argument("--notes", action="store_true", help="print notes and warnings")
    given = parser.parse_args()
    return compare_seeds(parser, given, compare, "runs agree")


if __name__ == "__main__":
    sys.exit(main())
