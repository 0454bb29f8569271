# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What plans promise of memory: the promise against the program's own, and the search's estimate against the promise.

`dtcc-plan search` compiles the plan that it proposes as far as its memory; the promise is what that program holds. One row
a model and plan: the promise, by how much the estimate that ranked the plans is off, of state and of all else; with
--programs the plan is compiled to the end, and the promise must be what the program says with --info and what its tables
hold, byte for byte. At the end the median and the worst of the estimates.

    python3 tests/benchmarks/memory_promise.py                       # estimates; two minutes
    python3 tests/benchmarks/memory_promise.py --programs --fixtures # small models, with programs
    python3 tests/benchmarks/memory_promise.py --only llama3-8b zero=3
    python3 tests/benchmarks/memory_promise.py --only gpt2-124m gpu --plan "--mesh=dp=4 --zero=1" --within 3
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import measure

# Model, what binds it, options, and the meshes it is asked with.
LARGE = {
    "gpt2-124m": ("batch=16,seq=512", ("cpu", ""), ("cpu", "--precision=bf16"), ("gpu", "")),
    "llama3-8b": ("batch=32,seq=4096", ("gpu", ""),),
    "bert-large": ("batch=32,seq=512", ("gpu", ""),),
    "vit-large": ("batch=32", ("gpu", "--precision=f32"),),
    "mixtral-8x7b": ("batch=16,seq=2048", ("gpu", ""),),
}
PLANS = [f"--mesh=dp=4 --zero={zero}" for zero in range(4)] + [
    "--mesh=dp=4 --zero=0 --microbatches=4",
    "--mesh=dp=4 --zero=1 --microbatches=2 --recompute=selective",
    "--mesh=dp=4 --zero=2 --microbatches=2 --recompute=full",
    "--mesh=dp=4 --zero=3 --microbatches=2 --recompute=full",
    "--mesh=dp=2x2 --zero=3",
    "--mesh=tp=4",
    "--mesh=tp=4 --recompute=full",
    "--mesh=dp=2,tp=2 --zero=1 --sequence-parallel=on",
    "--mesh=dp=2,tp=2 --zero=3 --microbatches=2",
    "--mesh=cp=4",
    "--mesh=cp=2,dp=2 --zero=2 --cp-attention=ring",
    "--mesh=pp=4 --schedule=1f1b --microbatches=8",
    "--mesh=pp=2,dp=2 --schedule=gpipe --microbatches=4 --zero=1",
    "--mesh=pp=2,dp=2 --schedule=zero-bubble --microbatches=4 --zero=2",
    "--mesh=pp=2,tp=2 --schedule=interleaved:2 --microbatches=4 --recompute=full",
    "--mesh=pp=2,dp=2 --schedule=1f1b --microbatches=4 --zero=3",
    "--mesh=ep=4",
    "--mesh=ep=2,dp=2 --zero=1 --recompute=full",
    "--mesh=ep=2,tp=2 --zero=3 --moe-dispatch=alltoall",
]
FIXTURES = {"mlp": "batch=16", "gpt2": "batch=16,seq=33", "llama": "batch=16,seq=32", "bert": "batch=16,seq=32",
            "vit": "batch=16", "resnet": "batch=16", "mixtral": "batch=16,seq=32"}


def fixtures_of(turns):
    """Each plan with each small model, or with one of them that has what it splits."""
    own = os.path.join(measure.ROOT, "tests", "frontends", "onnx", "Inputs")
    files = {name: os.path.join(measure.SHARED, "models", name, "loss.onnx") for name in FIXTURES}
    files.update({name: os.path.join(own, name, "loss.onnx") for name in ("mlp", "gpt2")})
    models = [name for name in FIXTURES if os.path.exists(files[name])]
    number = 0
    for i, plan in enumerate(PLANS):
        able = [name for name in models if ("ep=" not in plan or name == "mixtral") and (
            ("cp=" not in plan and "sequence" not in plan) or name in ("llama", "bert", "mixtral")) and (
            "interleaved" not in plan or name != "mlp")]
        for name in [able[number % len(able)]] if turns and able else able:
            precision = ("f32", "bf16")[i % 2]
            yield f"{name} {plan} {precision}", files[name], [
                f"--bind={FIXTURES[name]}", *plan.split(), f"--precision={precision}", "--cluster=cpu:4"]
        number += 1


def cases(fixtures, turns, plans):
    """(name, file, options)."""
    if fixtures:
        yield from fixtures_of(turns)
        return
    for name, (bind, *settings) in LARGE.items():
        file = os.path.join(measure.SHARED, "models", "structure", f"{name}.onnx")
        for where, more in settings:
            cluster = ["--cluster=cpu:4", "--init=random"] if where == "cpu" else ["--cluster=1x4xh100"]
            for plan in plans or PLANS:
                yield " ".join([name, where, more, plan]).replace("  ", " "), file, [
                    f"--bind={bind}", *more.split(), *plan.split(), *cluster]


def parts(memory):
    state = memory["parameters"] + memory["gradients"] + memory["optimizer"]
    return state, memory["activations"] + memory["working"]


def promised(file, options, plan):
    """The first plan of a search, or the message of a refusal."""
    done = subprocess.run([measure.tool("dtcc-plan"), "search", file, *options, "--json", "-o", plan],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    report = json.loads(done.stdout)
    return report["plans"][0], report.get("passed_over", [])


def of_program(file, options, plan, program):
    """Bytes of the program's tables, and those that it says of itself, as text."""
    keep = [o for o in options if o.startswith(("--bind", "--precision", "--init"))]
    measure.compile_model(file, program, [*keep, f"--plan={plan}", "--init=random"])
    _, _, tables = measure.run([measure.tool("dtcc-plan"), "show", program, "--json"])
    stages = json.loads(tables)["program"]["stages"]
    _, _, info = measure.run([program, "--info"])
    said = re.findall(r"^memory +([0-9.]+) (\w+)", info, re.M)
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    return max(s["bytes"] for s in stages), max(float(n) * units[u] for n, u in said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names have all of these words")
    parser.add_argument("--fixtures", action="store_true", help="the small models, on cores of this machine")
    parser.add_argument("--turns", action="store_true", help="of the small models one for each plan")
    parser.add_argument("--plan", action="append", help="of the large models: options of a plan instead of those here")
    parser.add_argument("--within", type=float, help="the most percent that an estimate may be off")
    parser.add_argument("--programs", action="store_true", help="compile to the end and compare with the program")
    arguments = parser.parse_args()
    errors, states, others, wrong, passed, refused = [], [], [], 0, 0, 0
    for name, file, options in cases(arguments.fixtures, arguments.turns, arguments.plan):
        if not all(word in name for word in arguments.only) or not os.path.exists(file):
            continue
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, "plan.json")
            best, others_said = promised(file, options, plan)
            if best is None:
                print(f"{name}: refused: {others_said}", flush=True)
                refused += 1
                continue
            passed += len(others_said)
            real, estimate = parts(best["bytes"]), parts(best["estimated_bytes"])
            error = sum(estimate) / sum(real) - 1
            errors.append((abs(error), error, name))
            states.append(abs(estimate[0] / real[0] - 1))
            others.append(abs(estimate[1] / real[1] - 1))
            line = (f"{name}: {sum(real) / 2**20:.2f} MiB, estimate {100 * error:+.1f} % "
                    f"(state {real[0] / 2**20:.1f}, {100 * (estimate[0] / real[0] - 1):+.1f} %; "
                    f"rest {real[1] / 2**20:.1f}, {100 * (estimate[1] / real[1] - 1):+.1f} %)")
            if arguments.programs:
                held, said = of_program(file, options, plan, os.path.join(folder, "program"))
                exact = held == sum(real) and abs(said / held - 1) < 0.006
                wrong += not exact
                line += f"; program {held}: {'equal' if exact else 'NOT ' + str(sum(real))}"
            for each in others_said:
                line += f"\n    passed over {each['options']}: {each['why']}"
            print(line, flush=True)
    if not errors:
        raise SystemExit("no case")
    errors.sort()
    print(f"{len(errors)} plans: estimate off by {100 * statistics.median(e[0] for e in errors):.1f} % (median), "
          f"{100 * errors[-1][0]:.1f} % at worst ({errors[-1][2]}, {100 * errors[-1][1]:+.1f} %); "
          f"state {100 * statistics.median(states):.1f} % and {100 * max(states):.1f} %, "
          f"all else {100 * statistics.median(others):.1f} % and {100 * max(others):.1f} %; "
          f"{passed} plans passed over")
    if arguments.within is not None and 100 * errors[-1][0] > arguments.within:
        raise SystemExit(f"an estimate is off by more than {arguments.within} %: {errors[-1][2]}")
    if refused and (arguments.turns or arguments.plan):
        raise SystemExit(f"{refused} plans refused")
    if wrong:
        raise SystemExit(f"{wrong} programs hold something else than was promised")


if __name__ == "__main__":
    sys.exit(main())
