# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains random graphs by dtcc under many plans, and compares losses and gradients with PyTorch in double precision.

    compare_plans.py --seeds 0:12 --plans 3                           # three plans a seed, drawn
    compare_plans.py --seeds 17:18 --plans "tp=2" "dp=2 --zero=3"     # these plans
    compare_plans.py --seeds 0:20 --plans 2 --often rarer_resize tied # half of the operations are these
    compare_plans.py --seeds 0:20 --plans 2 --emulator build/tests/emulator    # programs for GPUs

Each plan is compared by the loss of the first step, by the gradient of each parameter, which is its change under one SGD step
of rate 1, and by the losses of three steps of a small rate. Each of them may differ from PyTorch's by REACH relative to the
greatest, or by four times the difference of PyTorch in single precision. A graph is left out if PyTorch in single precision
differs by more than UNSURE. Plans of 16 bits are compared with PyTorch that rounds each result to bf16, with reaches of their
own, and graphs whose results jump (JUMPS) are not trained so. A plan that dtcc refuses with a message is counted, and is no
failure.

Prints the seed, the plan, the parameter and both values for each difference, and keeps the folder of the seed. The exit status
is 1 if anything differs, crashes or takes too long.
"""
import os
import random
import shutil
import sys

import numpy
import torch
from safetensors.numpy import load_file

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "graphs"))
import random_operations
from run_programs import Failed, Refused, call, compare_seeds, parser_of, rows_of

PLANS = ["dp=1", "dp=2", "dp=4", "dp=2 --zero=1 --microbatches=2", "dp=2 --zero=2", "dp=2 --zero=3", "dp=4 --zero=3",
         "tp=2", "tp=3", "tp=4", "tp=2 --sequence-parallel=on", "dp=2,tp=2 --zero=2", "cp=2", "dp=2,cp=2",
         "pp=2 --microbatches=2 --schedule=1f1b", "pp=2 --microbatches=4 --schedule=zero-bubble", "pp=3 --microbatches=2",
         "tp=2,pp=2 --microbatches=2", "dp=1 --microbatches=2", "dp=1 --microbatches=4 --recompute=full",
         "dp=1 --recompute=full", "dp=1 --recompute=selective", "dp=1 --update=early", "dp=2 --zero=3 --update=early",
         "dp=3", "dp=2x2 --zero=3", "dp=2x2 --zero=2 --microbatches=2", "tp=2 --sequence-parallel=off --recompute=full",
         "tp=2 --stationary-weights=on", "dp=2,tp=2 --zero=3", "cp=2 --cp-attention=ring", "cp=2 --cp-attention=alltoall",
         "cp=2 --cp-order=zigzag", "tp=2,cp=2", "cp=3", "dp=2,cp=2 --zero=3 --microbatches=2",
         "pp=2 --microbatches=4 --schedule=interleaved:2", "pp=2 --microbatches=2 --schedule=gpipe --recompute=full",
         "dp=2,pp=2 --zero=1 --microbatches=2 --schedule=1f1b", "dp=2,pp=2 --zero=2 --microbatches=2 --schedule=gpipe",
         "pp=2,tp=2 --microbatches=4 --schedule=interleaved:2", "cp=2,pp=2 --microbatches=2", "pp=4 --microbatches=4",
         "dp=2 --gradients=bf16", "dp=2 --zero=3 --gradients=bf16", "dp=1 --gradients=bf16 --microbatches=2",
         "dp=1 --precision=bf16", "dp=2 --precision=bf16 --zero=3", "tp=2 --precision=bf16", "dp=1 --precision=fp16 --loss-scale=1",
         "pp=2 --microbatches=2 --precision=bf16", "dp=2 --zero=1 --precision=bf16 --gradients=bf16"]
EXPERT_PLANS = ["dp=1,ep=2", "dp=1,ep=2 --moe-dispatch=alltoall", "dp=1,ep=2 --moe-dispatch=gather", "dp=2,ep=2", "dp=1,ep=4",
                "dp=2,ep=2 --zero=3 --microbatches=2", "dp=1,ep=2,tp=2", "dp=1,ep=2 --recompute=full", "dp=1,ep=2 --zero=3",
                "dp=1,ep=2,pp=2 --microbatches=2", "dp=1,ep=2 --precision=bf16", "dp=1,ep=2 --moe-capacity=2"]
# Of programs for GPUs, which an emulator runs.
GPU_PLANS = ["dp=1", "dp=2", "dp=2 --zero=3", "tp=2", "dp=1 --microbatches=2", "dp=1 --recompute=full", "dp=2,tp=2 --zero=2",
             "pp=2 --microbatches=2 --schedule=1f1b", "pp=2 --microbatches=4 --schedule=zero-bubble", "cp=2",
             "tp=2 --sequence-parallel=on", "dp=1 --precision=bf16", "dp=2 --precision=bf16 --zero=1", "dp=1 --offload=activations",
             "dp=2 --offload=activations --zero=3",
             "pp=2 --microbatches=4 --offload=activations --schedule=1f1b", "dp=1 --microbatches=2 --offload=activations",
             "dp=1 --precision=bf16 --offload=optimizer", "dp=2 --precision=bf16 --zero=2 --offload=all"]
STEPS, REACH, UNSURE = 3, 2e-4, 1e-3
HALVES_REACH, GRADIENT_REACH, HALVES_UNSURE = 0.06, 0.03, 0.1


def losses_of(path):
    return [row["loss"] for row in rows_of(path) if "loss" in row]


def run(words, folder, environment):
    """Runs a program. What dtcc compiles it must train."""
    try:
        call(words, folder, environment=environment)
    except Refused as refusal:
        raise Failed(f"{os.path.basename(words[0])} refuses to train: {refusal}")


def train(given, plan, rate, graph, folder):
    """The loss of one step of rate 1 and those of some of a small rate, and each parameter after the step of rate 1."""
    mesh, *options = plan.split()
    sizes = {"batch": graph.batch, **graph.sizes}
    options += ["--bind=" + ",".join(f"{name}={size}" for name, size in sizes.items()), f"--mesh={mesh}", "--optimizer=sgd:lr=1"]
    # A vector that is multiplied before a sine counts as frequencies, which train if they are named.
    options += [f"--trainable={value.name}" for value in graph.parameters]
    if graph.attached:
        options += [f"--loss={graph.attached}"]
    if not all(value.batched for value in graph.outputs):
        options += [f"--loss-output={graph.loss.name}"]
    if given.emulator:
        options += ["--target=cuda", *([] if "precision" in plan else ["--precision=f32"])]
    elif graph.kind != "float32" and "precision" not in plan:
        options += ["--precision=f32"]  # Otherwise that of the file.
    if graph.has_known_statistics:
        options += ["--train-mode=as-is"]  # Otherwise a norm by running statistics is trained by those of the batch.
    call([given.dtcc, "model.onnx", *options, "-o", "program"], folder)
    program = ["./program", "--data=data"]
    emulated = {"LD_LIBRARY_PATH": given.emulator, "DTCC_EMULATED_GPUS": "4"} if given.emulator else {}
    run([*program, "--steps=1", "--metrics=one.jsonl", "--save=saved.safetensors", "--save-type=f32"], folder, emulated)
    run([*program, f"--steps={STEPS}", f"--lr={rate}", "--metrics=some.jsonl"], folder, emulated)
    losses = losses_of(os.path.join(folder, "one.jsonl")) + losses_of(os.path.join(folder, "some.jsonl"))
    return losses, load_file(os.path.join(folder, "saved.safetensors"))


def relative(got, wanted, least):
    """The greatest difference, relative to the greatest value, where it lies."""
    error = numpy.abs(got - wanted)
    at = tuple(int(i) for i in numpy.unravel_index(numpy.nan_to_num(error, nan=numpy.inf).argmax(), error.shape))
    return float(error[at]) / max(float(numpy.abs(wanted).max()), least), at


def differences(graph, losses, saved, exact, rounded, reach):
    """A line for each difference from PyTorch: `exact` is in double precision, `rounded` in the precision of the plan."""
    names = ["loss", *(f"loss of step {step} of {STEPS}" for step in range(1, STEPS + 1))]
    wanted, single = ([each[0][0], *each[0]] for each in (exact, rounded))
    if len(losses) != len(names):
        yield f"{len(losses)} losses instead of {len(names)}"
    # Steps in 16 bits drift apart, and equal cells of 16 bits, one of which a maximum picks, part.
    drifts = reach != REACH or graph.kind in ("float16", "bfloat16") and any(node.jumps for node in graph.nodes)
    for name, got, want, own in list(zip(names, losses, wanted, single))[:2 if drifts else None]:
        if not abs(got - want) <= max(reach, 4 * abs(own - want)) * max(1, abs(want)):
            yield f"{name}: {got:.7g}, PyTorch: {want:.7g}"
    least = (0.02 if reach == REACH else 0.1) * max(float(numpy.abs(slope).max()) for slope in exact[1].values()) + 1e-3
    for value in graph.parameters:
        start, want = value.cells.detach().numpy(), exact[1][value.name]
        if value.name not in saved:
            if want.any():  # Without a gradient it is no parameter to dtcc.
                yield f"{value.name}{value.shape} is not saved"
            continue
        got = start - saved[value.name].astype(numpy.float64)
        error, at = relative(got, want, least)
        step = 1e-6 * float(numpy.abs(start).max()) / least  # A parameter in single precision tells its change no better.
        if not error <= max(reach, 4 * relative(rounded[1][value.name], want, least)[0]) + step:
            yield f"gradient of {value.name}{value.shape} at {list(at)}: {got[at]:.7g}, PyTorch: {want[at]:.7g}"


def is_sure(exact, rounded, most):
    """Whether rounding changes losses and gradients little."""
    unsure = [abs(a - b) / max(1, abs(a)) for a, b in zip(exact[0], rounded[0])]
    unsure += [relative(rounded[1][name], slope, 1e-2)[0] for name, slope in exact[1].items()]
    return all(each <= most for each in unsure)  # NaN is not.


def compare(seed, given, counts):
    """Trains the graph of a seed under each plan. Returns whether all agree."""
    graph = random_operations.build(seed, given.size, given.often)
    plans = PLANS + EXPERT_PLANS if given.plans == ["all"] else given.plans
    if plans[0].isdigit():
        draw, count = random.Random(seed), int(given.plans[0])
        plans = draw.sample(GPU_PLANS if given.emulator else PLANS, count)
        if graph.has_experts:
            plans = draw.sample(EXPERT_PLANS, (count + 1) // 2) + plans[:count // 2]
    _, slopes = graph.train(1, 0)
    rate = float(f"{0.02 / max(1, *(numpy.abs(slope).max() for slope in slopes.values())):.3g}")
    exact, rounded = graph.train(STEPS, rate), graph.train(STEPS, rate, torch.float32)
    if not is_sure(exact, rounded, UNSURE):
        counts["graphs left out"] += 1
        return True
    halves = None if any(node.jumps for node in graph.nodes) else graph.train(STEPS, rate, torch.float32, torch.bfloat16)
    if halves and not is_sure(exact, halves, HALVES_UNSURE):
        halves = None
    folder, good = os.path.join(given.keep, f"seed-{seed}"), True
    shutil.rmtree(folder, ignore_errors=True)
    graph.write(folder)
    for plan in plans:
        if graph.normalizes_batch and "microbatches" in plan:
            continue  # Each micro-batch has statistics of its own.
        if "precision" in plan and not halves:
            continue
        own = halves if "precision" in plan else rounded
        reach = HALVES_REACH if "precision" in plan else GRADIENT_REACH if "gradients" in plan else REACH
        try:
            found = list(differences(graph, *train(given, plan, rate, graph, folder), exact, own, reach))
            counts["plans agree" if not found else "plans differ"] += 1
        except Refused as refusal:
            found = []
            counts["plans refused"] += 1
            if given.refusals:
                print(f"seed {seed}, plan {plan}: refused: {refusal}", flush=True)
        except Failed as failure:
            found = [str(failure)]
            counts["plans fail"] += 1
        for line in found:
            print(f"seed {seed}, plan {plan}: {line}", flush=True)
        good &= not found
    if good:
        shutil.rmtree(folder)
    else:
        print(f"seed {seed}: kept in {folder}", flush=True)
    return good


def main():
    parser = parser_of(__doc__, "random-graphs")
    parser.add_argument("--plans", nargs="+", default=["5"], metavar="PLAN",
                        help="meshes with options of dtcc, \"all\", or how many to draw for each seed (default: 5)")
    parser.add_argument("--size", type=int, default=10, help="operations of a graph (default: 10)")
    parser.add_argument("--often", nargs="+", default=[], metavar="NAME", help="operations that are every second one drawn")
    parser.add_argument("--emulator", metavar="FOLDER", help="train on the emulated GPUs of a build: build/tests/emulator")
    given = parser.parse_args()
    given.emulator = given.emulator and os.path.abspath(given.emulator)
    torch.set_num_threads(1)
    return compare_seeds(parser, given, compare, "plans agree")


if __name__ == "__main__":
    sys.exit(main())
