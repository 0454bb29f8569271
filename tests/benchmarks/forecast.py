# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step takes: by the search, by the program's own commands on null devices, and by the clock.

The search prices the ops of a model before there is a program; `--info` runs the finished command table by the seconds of
its commands. One row a model and plan: both, their ratio, and with --run, for ranks of this machine, the median step that
was measured, after a first one. At the end the median and the worst of the ratios.

    python3 tests/benchmarks/forecast.py                        # forecasts; some minutes
    python3 tests/benchmarks/forecast.py --scale                # of large models on 8 to 2,048 GPUs
    python3 tests/benchmarks/forecast.py --only llama3-8b zero=3
    python3 tests/benchmarks/forecast.py --only gpt2-124m cpu --run
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import measure
import memory_promise

# Large models on clusters that hold them: the cluster, what binds the model, and its plans.
DENSE = ["--mesh=dp=8,tp=8 --zero=1 --sequence-parallel=on", "--mesh=dp=2,tp=4,pp=8 --schedule=1f1b --microbatches=16 --zero=1",
         "--mesh=dp=64 --zero=3", "--mesh=dp=16,tp=4 --zero=3 --sequence-parallel=on --recompute=full",
         "--mesh=dp=4,tp=4,pp=4 --schedule=interleaved:2 --microbatches=8 --zero=1 --sequence-parallel=on",
         "--mesh=dp=16,cp=4 --zero=3 --cp-attention=ring", "--mesh=dp=8,tp=2,pp=4 --schedule=zero-bubble --microbatches=4 --zero=1"]
HUGE = ["--mesh=dp=32,tp=8,pp=8 --schedule=interleaved:2 --microbatches=16 --zero=1 --sequence-parallel=on",
        "--mesh=dp=16,tp=8,pp=16 --schedule=1f1b --microbatches=32 --zero=1 --sequence-parallel=on",
        "--mesh=dp=256,tp=8 --zero=3 --sequence-parallel=on --recompute=full --microbatches=2",
        "--mesh=dp=32,tp=4,cp=2,pp=8 --schedule=zero-bubble --microbatches=16 --zero=1 --sequence-parallel=on"]
SCALE = {
    "gpt2-1.5b": ("8x8xh100", "batch=512,seq=1024", DENSE),
    "llama3-70b": ("8x8xh100", "batch=64,seq=8192", DENSE),
    "mixtral-8x7b": ("8x8xh100", "batch=128,seq=4096", DENSE[:3] + [
        "--mesh=dp=8,ep=8 --zero=1 --microbatches=2", "--mesh=dp=4,ep=4,pp=4 --schedule=1f1b --microbatches=8 --zero=1"]),
    "gpt3-175b": ("256x8xh100", "batch=2048,seq=2048", HUGE),
    "llama3-405b": ("256x8xh100", "batch=2048,seq=8192", HUGE),
    "gpt-1t": ("256x8xh100", "batch=2048,seq=2048", HUGE),
    "resnet50": ("1x8xh100", "batch=512", ["--mesh=dp=8 --zero=0", "--mesh=dp=8 --zero=1", "--mesh=dp=8 --zero=3"]),
}


def scale_cases():
    for name, (cluster, bind, plans) in SCALE.items():
        file = os.path.join(measure.SHARED, "models", "structure", f"{name}.onnx")
        for plan in plans:
            yield f"{name} {cluster} {plan}", file, [f"--bind={bind}", *plan.split(), f"--cluster={cluster}"]


def searched(file, options, plan):
    """Estimated seconds of the plan that is proposed, and their parts; or the message of a refusal."""
    done = subprocess.run([measure.tool("dtcc-plan"), "search", file, *options, "--json", "-o", plan],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    best = json.loads(done.stdout)["plans"][0]
    return best["estimated_seconds"], best.get("estimated_parts", best["parts"])


def forecast(program):
    """Seconds of a step by the program's tables; --info must say the same."""
    _, _, text = measure.run([measure.tool("dtcc-plan"), "cost", program, "--json"])
    seconds = json.loads(text)["step_seconds"]
    _, _, info = measure.run([program, "--info"])
    value, unit = next(line.split()[1:3] for line in info.splitlines() if line.startswith("forecast"))
    said = float(value) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
    if abs(said / seconds["total"] - 1) > 0.006:
        raise SystemExit(f"--info forecasts {said} s, dtcc-plan cost {seconds['total']} s of one program")
    return seconds


def measured(program, steps):
    """Median seconds of the steps behind the first."""
    tokens = program + ".tokens.bin"
    with open(tokens, "wb") as stream:
        stream.write(bytes(2 * 200000))
    metrics, _ = measure.train(program, [f"--tokens={tokens}:u16", f"--steps={steps + 1}"])
    return statistics.median(row["step_seconds"] for row in metrics["steps"][1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names have all of these words")
    parser.add_argument("--scale", action="store_true", help="large models on clusters that hold them")
    parser.add_argument("--plan", action="append", help="options of a plan instead of those of memory_promise.py")
    parser.add_argument("--cluster", help="GPUs instead of those of memory_promise.py")
    parser.add_argument("--bind", help="sizes instead of those of memory_promise.py")
    parser.add_argument("--run", action="store_true", help="run the programs of this machine's cores")
    parser.add_argument("--steps", type=int, default=3, help="measured steps of a run")
    parser.add_argument("--within", type=float, help="the most percent that the two forecasts may differ")
    arguments = parser.parse_args()
    ratios = []
    for name, file, options in scale_cases() if arguments.scale else memory_promise.cases(False, False, arguments.plan):
        if not all(word in name for word in arguments.only) or not os.path.exists(file):
            continue
        for what, value in (("--cluster=", arguments.cluster), ("--bind=", arguments.bind)):
            options = [what + value if value and o.startswith(what) else o for o in options]
        with tempfile.TemporaryDirectory() as folder:
            plan, program = os.path.join(folder, "plan.json"), os.path.join(folder, "program")
            before, parts = searched(file, options, plan)
            if before is None:
                print(f"{name}: refused: {parts}", flush=True)
                continue
            keep = [o for o in options if o.startswith(("--bind", "--precision", "--init", "--cluster"))]
            measure.compile_model(file, program, [*keep, f"--plan={plan}", "--init=random"])
            seconds = forecast(program)
            ratios.append((seconds["total"] / before, name))
            line = f"{name}: search {1e3 * before:.2f} ms, program {1e3 * seconds['total']:.2f} ms, ratio {ratios[-1][0]:.2f} ("
            line += ", ".join(f"{part} {1e3 * parts[part]:.1f} {1e3 * seconds[part]:.1f}" for part in parts
                              if parts[part] or seconds[part]) + ")"
            if arguments.run and "gpu" not in name:
                real = measured(program, arguments.steps)
                line += f"; measured {1e3 * real:.2f} ms, {real / seconds['total']:.2f} of the program's"
            print(line, flush=True)
    if not ratios:
        raise SystemExit("no case")
    off = sorted((abs(ratio - 1), ratio, name) for ratio, name in ratios)
    print(f"{len(off)} plans: the program's forecast is {statistics.median(ratio for ratio, _ in ratios):.2f} of the search's "
          f"(median), {off[-1][1]:.2f} at worst ({off[-1][2]}); half are within {100 * statistics.median(o[0] for o in off):.0f} %")
    if arguments.within is not None and 100 * off[-1][0] > arguments.within:
        raise SystemExit(f"forecasts differ by more than {arguments.within} %: {off[-1][2]}")


if __name__ == "__main__":
    sys.exit(main())
