# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses and gradient norms of the given models, 10 steps in f32, against PyTorch in double precision.

Prints one JSON line for each model, run and plan: the greatest relative differences, and beside them those of PyTorch's
own f32. Fails if a loss is farther off than 1e-5 or four times PyTorch's own, whichever is more.

    python3 tests/benchmarks/golden.py                         # mlp gpt2 llama bert vit resnet mixtral, all plans
    python3 tests/benchmarks/golden.py --models gpt2 --plans dp=2 --mpi
    python3 tests/benchmarks/golden.py --runs adamw --plans dp=1 --mcpu haswell --emulator "taskset -c 0 qemu-x86_64 -cpu Haswell"
"""
import argparse
import json
import os
import sys
import tempfile

import measure

MODELS = ("mlp", "gpt2", "llama", "bert", "vit", "resnet", "mixtral")
PLANS = ("dp=1", "dp=2", "tp=2", "dp=2,tp=2", "dp=4:zero=1")
# Further plans of a model, which are taken if --plans is not given.
PLANS_OF = {"mixtral": ("dp=1,ep=2", "dp=1,ep=4", "dp=2,ep=2", "dp=2,ep=2:zero=1")}


def ranks_of(mesh):
    count = 1
    for axis in mesh.split(","):
        count *= int(axis.split("=")[1])
    return count


def optimizer_option(spec):
    keys = {"AdamW": ("lr", "beta1", "beta2", "eps", "weight_decay"), "SGD": ("lr", "momentum", "weight_decay")}
    return f"--optimizer={spec['kind'].lower()}:" + ",".join(f"{k}={spec[k]!r}" for k in keys[spec["kind"]])


def worst(ours, reference):
    return max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(ours, reference, strict=True))


def nearest_reference(model, run, losses, microbatches=1):
    """What `losses` are compared with, a run in double precision and PyTorch's in single: the golden ones, but for batch
    statistics (make_runs.py of tests/e2e/Inputs): those of micro-batches are another model's. A ReLU nearer to zero than f32
    can tell has two sides, both right: the nearer run counts."""
    folder = os.path.join(measure.ROOT, "tests", "e2e", "Inputs", model)
    instead, other = (os.path.join(folder, name) for name in (f"microbatches-{microbatches}.json", "relu-off.json"))
    runs = [run]
    if os.path.exists(instead):
        with open(instead) as stream:
            runs = [json.load(stream)]
    elif os.path.exists(other):
        with open(other) as stream:
            runs.append(json.load(stream))
    return min((r["f64"] for r in runs), key=lambda r: worst(losses, r["loss"])), runs[0]["f32"]


def one(model, run_name, plan, arguments):
    folder = os.path.join(measure.SHARED, "models", model)
    with open(os.path.join(folder, "golden.json")) as stream:
        golden = json.load(stream)
    run, (mesh, _, zero) = golden["runs"][run_name], plan.partition(":")
    ranks = ranks_of(mesh)
    bind = f"batch={golden['batch']}" + (f",seq={golden['seq']}" if golden["seq"] else "")
    options = [f"--bind={bind}", f"--cluster=cpu:{ranks}", f"--mesh={mesh}", optimizer_option(run["optimizer"])]
    options += [f"--{zero}"] if zero else []
    if run["clip"]:
        options.append(f"--clip={run['clip']['max_norm']}")
    if arguments.mcpu:
        options.append(f"--mcpu={arguments.mcpu}")
    row = {"benchmark": "golden", "model": model, "file": arguments.file, "run": run_name, "plan": plan,
           "mpi": arguments.mpi, "mcpu": arguments.mcpu}
    try:
        with tempfile.TemporaryDirectory() as build:
            program = os.path.join(build, model)
            seconds, _ = measure.compile_model(os.path.join(folder, arguments.file), program, options)
            metrics, _ = measure.train(program, [f"--data={os.path.join(folder, 'data')}", f"--steps={golden['steps']}"],
                                       ranks if arguments.mpi else 0, limit=3000 if arguments.emulator else 300,
                                       emulator=arguments.emulator.split())
        reference, own = nearest_reference(model, run, [r["loss"] for r in metrics["steps"]])
        loss = worst([r["loss"] for r in metrics["steps"]], reference["loss"])
        norm = worst([r["grad_norm"] for r in metrics["steps"]], reference["gradient_norm"])
        own_loss, own_norm = worst(own["loss"], reference["loss"]), worst(own["gradient_norm"], reference["gradient_norm"])
        good = loss <= max(1e-5, 4 * own_loss) and norm <= max(1e-5, 4 * own_norm)
        measure.emit(**row, good=good, loss=float(f"{loss:.3g}"), gradient_norm=float(f"{norm:.3g}"),
                     torch_loss=float(f"{own_loss:.3g}"), torch_gradient_norm=float(f"{own_norm:.3g}"),
                     compile_seconds=round(seconds, 2))
        return good
    except (measure.Failed, KeyError, ValueError) as error:
        measure.emit(**row, good=False, error=str(error)[-600:])
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--plans", nargs="*", default=None)
    parser.add_argument("--runs", nargs="*", help="default: all that golden.json has")
    parser.add_argument("--file", default="loss.onnx")
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--mcpu", default="", help="processor to generate for, if not this one")
    parser.add_argument("--emulator", default="", help="a command that runs programs of that processor")
    arguments = parser.parse_args()
    results = []
    for model in arguments.models:
        with open(os.path.join(measure.SHARED, "models", model, "golden.json")) as stream:
            runs = arguments.runs or json.load(stream)["runs"]
        plans = arguments.plans or (*PLANS, *PLANS_OF.get(model, ()))
        results += [one(model, run, plan, arguments) for run in runs for plan in plans]
    measure.note(f"{sum(results)} of {len(results)} within reach")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
