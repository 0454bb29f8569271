# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every plan trains the same model: plans x models, 10 steps in f32, against PyTorch in double precision.

One row a plan, one column a model: the greatest relative difference of a loss or, after a slash, of a gradient norm from
the golden. A cell fails if its loss is farther off than 1e-5 or four times PyTorch's own f32. The optimizers and clips
that a model's golden has take turns over the plans. What this version of dtcc has not is skipped and counted
("-"); what it refuses for a reason of the model is shown as "refused", with the reasons below.

    python3 tests/benchmarks/plans.py                                  # everything: an hour on two busy cores
    python3 tests/benchmarks/plans.py --models mlp gpt2 --only zero=3  # plans whose name has zero=3
    python3 tests/benchmarks/plans.py --turns                          # every plan with one model
    python3 tests/benchmarks/plans.py --sample 20 --seed 7             # 20 of them, drawn
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import golden
import measure

MODELS = ("mlp", "gpt2", "llama", "bert", "vit", "resnet", "mixtral")


def plans():
    """Options of dtcc, as one text each; all use 8 ranks or fewer and split batches of 8."""
    def plan(mesh, **options):
        return " ".join([f"--mesh={mesh}", *(f"--{name.replace('_', '-')}={value}" for name, value in options.items())])

    for m in (1, 2, 4, 8):
        yield plan("dp=1", microbatches=m)
    for mode in ("selective", "full"):
        yield plan("dp=1", recompute=mode)
        yield plan("dp=1", microbatches=2, recompute=mode)
    for dp in ("2", "4", "8", "2x2", "2x4", "4x2"):
        for zero in range(4):
            yield plan(f"dp={dp}", zero=zero)
    for dp, m in (("2", 2), ("4", 2), ("2", 4), ("2x2", 2)):
        for zero in range(4):
            yield plan(f"dp={dp}", zero=zero, microbatches=m, recompute=("none", "selective", "full", "full")[zero])
    for tp in (2, 3, 4, 6, 8):
        yield plan(f"tp={tp}")
    yield plan("tp=2", microbatches=2)
    yield plan("tp=4", microbatches=4, recompute="full")
    yield plan("tp=2", sequence_parallel="on")
    yield plan("dp=2,tp=2", zero=1, sequence_parallel="on")
    for mesh in ("dp=2,tp=2", "dp=4,tp=2", "dp=2,tp=4"):
        for zero in range(4):
            yield plan(mesh, zero=zero)
    for zero in range(4):
        yield plan("dp=2,tp=2", zero=zero, microbatches=2, recompute=("full", "selective", "none", "full")[zero])
    yield plan("dp=2,tp=3", zero=3)
    yield plan("dp=2x2,tp=2", zero=3)
    for schedule in ("gpipe", "1f1b", "zero-bubble", "interleaved:2"):
        yield plan("pp=2", schedule=schedule, microbatches=4)
    for zero in range(4):
        yield plan("pp=2,dp=2", schedule="1f1b", microbatches=4, zero=zero)
    yield plan("pp=2,tp=2", schedule="1f1b", microbatches=4)
    yield plan("pp=2,tp=2", schedule="zero-bubble", microbatches=2, recompute="full")
    yield plan("pp=2,dp=2,tp=2", schedule="1f1b", microbatches=2, zero=1)
    yield plan("pp=4", schedule="1f1b", microbatches=8)
    for cp in ("cp=2", "cp=4", "dp=2,cp=2", "cp=2,tp=2"):
        yield plan(cp)
    for exchange in ("gather", "alltoall", "ring"):
        yield plan("cp=2", cp_attention=exchange)
    yield plan("cp=4", cp_attention="ring", cp_order="zigzag")
    yield plan("dp=2,cp=2,tp=2", cp_attention="ring", zero=1)
    yield plan("dp=2,cp=2", zero=3, microbatches=2)
    yield plan("pp=2,cp=2", microbatches=4)
    for ep in ("ep=2", "ep=4", "dp=2,ep=2", "ep=2,tp=2"):
        yield plan(ep)
    for dispatch in ("gather", "alltoall"):
        yield plan("dp=2,ep=2", moe_dispatch=dispatch, zero=1, microbatches=2)
    yield plan("pp=2,dp=2,ep=2", moe_dispatch="alltoall", microbatches=2)


def ranks_of(plan):
    count = 1
    for size in re.findall(r"=(\d+(?:x\d+)?)", plan.split()[0].split("=", 1)[1]):
        for factor in size.split("x"):
            count *= int(factor)
    return count


class Refused(Exception):
    """dtcc says that it cannot; its message, and whether that is a matter of the version."""

    def __init__(self, message):
        super().__init__(message)
        self.later = "in this version" in message


def compile_plan(model, program, options):
    """A refusal is one message and status 1 or 2. Anything else that is not a program is a failure."""
    done = subprocess.run([measure.tool("dtcc"), model, *options, "-o", program], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode in (1, 2) and "error: " in done.stderr:
        raise Refused(done.stderr.split("error: ", 1)[1].splitlines()[0])
    if done.returncode:
        raise measure.Failed(f"dtcc ended with {done.returncode}: {done.stderr[-300:]}")


def one(model, plan, number):
    """One cell, as a row."""
    folder = os.path.join(measure.SHARED, "models", model)
    with open(os.path.join(folder, "golden.json")) as stream:
        reference = json.load(stream)
    name = sorted(reference["runs"])[number % len(reference["runs"])]
    run = reference["runs"][name]
    bind = f"batch={reference['batch']}" + (f",seq={reference['seq']}" if reference.get("seq") else "")
    options = [f"--bind={bind}", *plan.split(), golden.optimizer_option(run["optimizer"])]
    if run["clip"]:
        options.append(f"--clip={run['clip']['max_norm']}")
    row = {"benchmark": "plans", "model": model, "run": name, "plan": plan}
    try:
        with tempfile.TemporaryDirectory() as build:
            program = os.path.join(build, model)
            compile_plan(os.path.join(folder, "loss.onnx"), program, options)
            metrics, _ = measure.train(program, [f"--data={os.path.join(folder, 'data')}", f"--steps={reference['steps']}"],
                                       limit=300)
        losses, norms = ([r[what] for r in metrics["steps"]] for what in ("loss", "grad_norm"))
        parts = re.search(r"--microbatches=(\d+)", plan)
        reference, own = golden.nearest_reference(model, run, losses, int(parts[1]) if parts else 1)
        loss, norm = golden.worst(losses, reference["loss"]), golden.worst(norms, reference["gradient_norm"])
        reach, norm_reach = (max(1e-5, 4 * golden.worst(own[what], reference[what])) for what in ("loss", "gradient_norm"))
        return {**row, "status": "good" if loss <= reach and norm <= norm_reach else "far", "loss": loss,
                "gradient_norm": norm}
    except Refused as refusal:
        return {**row, "status": "later" if refusal.later else "refused", "reason": str(refusal)}
    except (measure.Failed, subprocess.TimeoutExpired, KeyError, ValueError) as error:
        return {**row, "status": "failed", "reason": str(error)[-400:]}


def cell(row):
    if row["status"] in ("good", "far"):
        return f"{row['loss']:.1e}/{row['gradient_norm']:.1e}" + ("" if row["status"] == "good" else " FAR")
    return {"later": "-", "refused": "refused", "failed": "FAILED"}[row["status"]]


def show(rows, models, out):
    """The table, as Markdown."""
    print("| plan | " + " | ".join(models) + " |\n|---|" + "---|" * len(models), file=out)
    names = list(dict.fromkeys(row["plan"] for row in rows))
    table = {(row["plan"], row["model"]): row for row in rows}
    for name in names:
        cells = [cell(table[name, model]) if (name, model) in table else "" for model in models]
        print(f"| `{name}` | " + " | ".join(cells) + " |", file=out)
    count = {status: sum(row["status"] == status for row in rows) for status in ("good", "far", "failed", "refused", "later")}
    trained = {row["plan"] for row in rows if row["status"] in ("good", "far")}
    print(f"\n{len(trained)} plans, {count['good'] + count['far']} runs: {count['good']} within reach, {count['far']} too far, "
          f"{count['failed']} failed; {count['refused']} refused, {count['later']} of a later version", file=out)
    compared = [row for row in rows if "loss" in row]
    for what in ("loss", "gradient_norm"):
        if compared:
            row = max(compared, key=lambda r: r[what])
            print(f"worst {what.replace('_', ' ')}: {row[what]:.2e}, {row['model']} {row['run']} {row['plan']}", file=out)
    reasons = {(row["status"], row["model"], row["reason"]): row["plan"] for row in rows if row["status"] in ("failed", "refused")}
    for (status, model, reason), plan in reasons.items():
        print(f"{status}: {model} {plan}: {reason}", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--only", default="", help="plans whose text holds this regular expression")
    parser.add_argument("--ranks", type=int, default=8, help="plans of at most so many")
    parser.add_argument("--turns", action="store_true", help="one model a plan, in turns")
    parser.add_argument("--sample", type=int, help="so many cells, drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="append a JSON line for each cell to this file")
    arguments = parser.parse_args()
    chosen = [plan for plan in plans() if re.search(arguments.only, plan) and ranks_of(plan) <= arguments.ranks]
    cells = [(model, plan, number) for number, plan in enumerate(chosen) for model in arguments.models]
    if arguments.turns:
        cells = [c for c in cells if c[0] == arguments.models[c[2] % len(arguments.models)]]
    if arguments.sample:
        cells = sorted(random.Random(arguments.seed).sample(cells, min(arguments.sample, len(cells))), key=lambda c: c[2])
    rows = []
    for model, plan, number in cells:
        rows.append(one(model, plan, number))
        measure.note(f"{len(rows)} of {len(cells)}: {model} {plan}: {cell(rows[-1])}")
        if arguments.json:
            with open(arguments.json, "a") as stream:
                stream.write(json.dumps(rows[-1]) + "\n")
    show(rows, arguments.models, sys.stdout)
    return 0 if all(row["status"] not in ("far", "failed") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
