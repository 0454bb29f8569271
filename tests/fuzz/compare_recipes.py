# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains small models by random recipes, and compares every step with PyTorch in double precision.

    compare_recipes.py --seeds 0:20                     # all models
    compare_recipes.py --seeds 17:18 --models mlp gpt   # of these models

A recipe (random_recipes.py) is compiled under two plans. The first program trains all steps, and keeps a checkpoint of each. The
second one resumes behind a step that is drawn. Compared are the loss, the norm of the gradients and the rate of each step,
the losses of evaluations, and parameters, running statistics and averages behind the last step. Where PyTorch draws other random
numbers, or rounds otherwise, the program of one rank is compared with instead. A recipe that dtcc refuses with a message is
counted, and is no failure.

Prints the seed, the recipe and both values for each difference, and keeps the folder of the seed. The exit status is 1 if
anything differs, crashes or takes too long.
"""
import math
import os
import shutil
import sys

import numpy
import torch
from safetensors.torch import load_file

import random_recipes
from random_recipes import MODELS, Trained
from run_programs import Failed, Refused, call, compare_seeds, keep_until, parser_of, report, rows_of

# Greatest differences by precision: of losses and norms relative to their values, and of parameters relative to how far the
# farthest of a tensor went, by the mean over its cells.
REACH = {"f32": (2e-5, 2e-3), "bf16": (3e-2, 0.4), "fp16": (5e-3, 0.1)}
# Muon computes in bf16, Lion takes signs of numbers that may be roundings, and codes of 8 bits are chosen by roundings.
ROUGH = {"muon": (5e-3, 0.1), "lion": (1e-3, 0.3), "adamw8bit": (2e-2, 0.2)}


def export(recipe, folder, own):
    """The file of a model: in `folder`, which all recipes share, or in their own if it holds their groups."""
    name, options = recipe.model, {}
    path = os.path.join(own if recipe.exports else folder, f"{name}.onnx")
    if not os.path.exists(path):
        module = random_recipes.module_of(name)
        if recipe.exports:
            options["optimizer"] = random_recipes.grouped(recipe, module)
        sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/export"))
        import dtcc_export
        data = MODELS[name].data(numpy.random.default_rng(0), 4)
        dtcc_export.export(module, {key: torch.from_numpy(cells) for key, cells in data.items()}, path, **options)
    return path


def result_of(folder, recipe, metrics):
    """What a run has left, as a reference has it."""
    rows = rows_of(os.path.join(folder, metrics))
    steps = [row for row in rows if "loss" in row]
    result = Trained([row["loss"] for row in steps], [row.get("grad_norm") for row in steps],
                     load_file(os.path.join(folder, "saved.safetensors")), {},
                     {row["step"]: row["eval_loss"] for row in rows if "eval_loss" in row}, {})
    if recipe.ema:
        result.averages = load_file(os.path.join(folder, "average.safetensors"))
    return result, [row["lr"] for row in steps], [row["step"] for row in steps]


def arrays(values):
    return {name: value.double().numpy()
            for name, value in values.items()}


def tensors_differ(what, got, want, start, single, reach):
    """A line for each tensor that differs, and for each that is missing."""
    got, want, start = arrays(got), arrays(want), arrays(start)
    single = arrays(single) if single else want
    for name, cells in want.items():
        if name not in got:
            if name not in ("head.weight",) and "num_batches" not in name:
                yield f"{what} {name} is not saved"
            continue
        far = numpy.abs(cells - start[name]).max() if name in start else numpy.abs(cells).max()
        error = numpy.abs(got[name] - cells).mean()
        own = numpy.abs(single[name] - cells).mean()
        if not error <= reach * far + 4 * own + 2e-7 * numpy.abs(cells).max():
            at = numpy.unravel_index(numpy.nan_to_num(numpy.abs(got[name] - cells), nan=numpy.inf).argmax(), cells.shape)
            at = tuple(map(int, at))
            yield f"{what} {name} at {list(at)}: {got[name][at]:.7g}, expected {cells[at]:.7g} " \
                  f"(start {start[name][at] if name in start else 0:.7g}, mean error {error / (far or 1):.2g} of the way)"


def differences(recipe, found, want, single, reach):
    """A line for each difference of a run from a reference. `single`: the reference with the roundings of a run."""
    result, rates, steps = found
    if steps != list(range(1, recipe.steps + 1)):
        yield f"steps {steps} instead of 1 to {recipe.steps}"
        return
    for step, rate in enumerate(rates, 1):
        if not math.isclose(rate, recipe.rate_at(step), rel_tol=1e-6, abs_tol=1e-12):
            yield f"rate of step {step}: {rate:.7g}, expected {recipe.rate_at(step):.7g}"
    for what, got, wanted, own in (("loss", result.losses, want.losses, single.losses),
                                   ("gradient norm", result.norms, want.norms, single.norms)):
        factor = 1 if what == "loss" else 10
        for step, (a, b, c) in enumerate(zip(got, wanted, own), 1):
            if a is not None and not abs(a - b) <= max(factor * reach[0], 4 * abs(c - b) / abs(b)) * abs(b):
                yield f"{what} of step {step}: {a:.7g}, expected {b:.7g}"
    for step, loss in want.evaluations.items():
        got = result.evaluations.get(step, math.nan)
        if not abs(got - loss) <= max(2 * reach[0], 4 * abs(single.evaluations[step] - loss) / loss) * loss:
            yield f"evaluation behind step {step}: {got:.7g}, expected {loss:.7g}"
    yield from tensors_differ("parameter", result.parameters, want.parameters, want.start, single.parameters, reach[1])
    if recipe.ema:
        yield from tensors_differ("average of", result.averages, want.averages, want.start, single.averages, reach[1])


def run(dtcc, model, recipe, plan, folder, notes, name, resumes=False, checkpoints=False):
    program = "./program-" + name
    call([dtcc, model, *recipe.compile_words(plan), "-o", program], folder, notes)
    words = [program, *recipe.run_words(), f"--metrics={name}.jsonl", "--save=saved.safetensors"]
    if checkpoints:
        words += ["--checkpoint=checkpoints", "--checkpoint-every=1"]
    call(words + ["--resume"] * resumes, folder, notes)
    return result_of(folder, recipe, name + ".jsonl")


def compare(seed, given, counts):
    """Trains the recipe of a seed. Returns whether all agree."""
    recipe = random_recipes.draw(seed, given.models)
    numbers = numpy.random.default_rng(seed)
    data, held = (MODELS[recipe.model].data(numbers, count) for count in (recipe.samples, 2 * recipe.batch))
    folder = os.path.join(os.path.abspath(given.keep), f"seed-{seed}")
    shutil.rmtree(folder, ignore_errors=True)
    for name, cells in (("data", data), ("eval", held)):
        os.makedirs(os.path.join(folder, name))
        for key, array in cells.items():
            numpy.save(os.path.join(folder, name, key + ".npy"), array)
    model, found, notes = export(recipe, os.path.abspath(given.keep), folder), [], []
    reach = tuple(max(a, b) for a, b in zip(REACH[recipe.precision], ROUGH.get(recipe.kind, (0, 0))))
    if recipe.model == "experts" and reach != REACH["f32"]:
        reach = tuple(4 * each for each in reach)  # A rounding may send a token to another expert.
    try:
        want = random_recipes.train(recipe, data, held)
        single = want and random_recipes.train(recipe, data, held, torch.float32)
        if want is None:
            want = single = run(given.dtcc, model, recipe, "dp=1", folder, notes, "plain")[0]
        parts = [("first", recipe.plans[0], False), ("second", recipe.plans[1], True)]
        for name, plan, resumes in parts:
            if resumes:
                keep_until(os.path.join(folder, "checkpoints"), recipe.resumed)
                shutil.copy(os.path.join(folder, "first.jsonl"), os.path.join(folder, "second.jsonl"))
            result = run(given.dtcc, model, recipe, plan, folder, notes, name, resumes, checkpoints=True)
            lines = [f"{name} program ({plan}): {line}" for line in differences(recipe, result, want, single, reach)]
            counts["runs agree" if not lines else "runs differ"] += 1
            found += lines
    except Refused as refusal:
        counts["recipes refused"] += 1
        if given.refusals:
            print(f"seed {seed}: {recipe}: refused: {refusal}", flush=True)
    except Failed as failure:
        found.append(str(failure))
        counts["runs fail"] += 1
    return report(seed, recipe, found, folder, notes if given.notes else [])


def main():
    parser = parser_of(__doc__, "random-recipes")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS), help="(default: all)")
    parser.add_argument("--notes", action="store_true", help="print notes and warnings")
    given = parser.parse_args()
    torch.set_num_threads(1)
    return compare_seeds(parser, given, compare, "runs agree")


if __name__ == "__main__":
    sys.exit(main())
