# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2 124M on 2 ranks: the plan that dtcc finds by itself against every plan that --mesh and --zero can state.

All programs run in turns; medians of the steps of all rounds are compared. Prints one JSON line a plan, with its median and
its time over the fastest, the plan that the search found behind them, and at the end where it stands among them. Plans that
dtcc refuses are told on stderr and left out.

    python3 tests/benchmarks/planner.py --rounds 3
    python3 tests/benchmarks/planner.py --model tests/frontends/onnx/Inputs/gpt2/loss.onnx --vocabulary 257 \\
        --batch 8 --seq 32 --rounds 1       # a dry run, in seconds
"""
import argparse
import array
import os
import random
import statistics
import tempfile

import measure

MODEL = os.path.join(measure.SHARED, "models", "structure", "gpt2-124m.onnx")
SEARCHED = "searched"


def plans(ranks):
    """Whole meshes of `ranks`, and the ZeRO stages where ranks share state."""
    for dp in range(1, ranks + 1):
        for tp in range(1, ranks + 1):
            for cp in range(1, ranks + 1):
                for pp in range(1, ranks + 1):
                    if dp * tp * cp * pp == ranks:
                        for zero in range(4 if dp * cp > 1 else 1):
                            yield f"--mesh=dp={dp},tp={tp},cp={cp},pp={pp} --zero={zero}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--steps", type=int, default=2, help="timed steps of a run, after one more")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    load = measure.busy()
    with tempfile.TemporaryDirectory() as folder:
        tokens, programs = os.path.join(folder, "tokens.bin"), {}
        for number, plan in enumerate([SEARCHED, *plans(arguments.ranks)]):
            program = os.path.join(folder, f"program{number}")
            given = [] if plan == SEARCHED else plan.split()
            try:
                measure.compile_model(arguments.model, program,
                                      ["--init=random", f"--bind=batch={arguments.batch},seq={arguments.seq}",
                                       f"--cluster=cpu:{arguments.ranks}", "--optimizer=adamw:lr=3e-4,weight_decay=0.01",
                                       *given])
            except measure.Failed as refusal:
                if plan == SEARCHED:
                    raise
                measure.note(f"{plan}: left out: {refusal}")
                continue
            programs[plan] = program
        generator = random.Random(1)
        total = arguments.steps + 1
        with open(tokens, "wb") as stream:
            array.array("H", (generator.randrange(arguments.vocabulary)
                              for _ in range((total * arguments.seq + 1) * arguments.batch))).tofile(stream)
        times, meshes = {}, {}
        for _ in range(arguments.rounds):
            for plan, program in programs.items():
                metrics, _ = measure.train(program, [f"--tokens={tokens}:u16", f"--steps={total}"], 0)
                meshes[plan] = {axis: size for axis, size in metrics["start"].get("mesh", {}).items() if size > 1}
                times.setdefault(plan, []).extend(row["step_seconds"] for row in metrics["steps"][1:])
                measure.note(f"{plan}: {measure.median_step(metrics, 1):.3f} s")
    medians = {plan: statistics.median(seconds) for plan, seconds in times.items()}
    stated = sorted(seconds for plan, seconds in medians.items() if plan != SEARCHED)
    if not stated:
        raise SystemExit("planner.py: dtcc refused every plan that was stated")
    for plan, seconds in sorted(medians.items(), key=lambda each: (each[0] == SEARCHED, each[1])):
        measure.emit(benchmark="planner", plan=plan, mesh=meshes[plan], ranks=arguments.ranks, batch=arguments.batch,
                     seq=arguments.seq, cores=len(os.sched_getaffinity(0)), load_before=load,
                     step_seconds=round(seconds, 4), times_fastest=round(seconds / stated[0], 3))
    found = medians[SEARCHED]
    print(f"the plan of the search stands {1 + sum(seconds < found for seconds in stated)} beside {len(stated)} stated "
          f"plans: {found:.4f} s a step, {found / stated[0]:.3f} x the fastest ({stated[0]:.4f} s)")


if __name__ == "__main__":
    main()
