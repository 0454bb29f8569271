# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2 124M on several ranks against one rank with the same cores and the same global batch.

What a plan's communication, smaller products and repeated work cost. All programs run in turns; medians of the steps of
all rounds are compared. Prints one JSON line a plan, with its time as a multiple of one rank's.

    python3 tests/benchmarks/scaling.py --rounds 3
    python3 tests/benchmarks/scaling.py --plan dp=2 --plan "tp=2 --overlap"
"""
import argparse
import array
import os
import random
import statistics
import tempfile

import measure

MODEL = os.path.join(measure.SHARED, "models", "structure", "gpt2-124m.onnx")
VOCABULARY = 50257
PLANS = ["dp=2", "dp=2 --zero=1", "dp=2 --zero=3", "tp=2"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", action="append", help="a mesh, with options of dtcc and (--overlap) of the program")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3, help="timed steps of a run, after one more")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpi", action="store_true", help="ranks are processes")
    arguments = parser.parse_args()
    load = measure.busy()
    plans = ["dp=1"] + (arguments.plan or PLANS)
    with tempfile.TemporaryDirectory() as folder:
        tokens, programs = os.path.join(folder, "tokens.bin"), {}
        for number, plan in enumerate(plans):
            mesh, *options = plan.split()
            run_options = [option for option in options if option == "--overlap"]
            ranks = 1
            for axis in mesh.split(","):
                ranks *= int(axis.split("=")[1])
            program = os.path.join(folder, f"program{number}")
            measure.compile_model(MODEL, program, ["--init=random", f"--bind=batch={arguments.batch},seq={arguments.seq}",
                                                   f"--mesh={mesh}", "--optimizer=adamw:lr=3e-4,weight_decay=0.01",
                                                   *[option for option in options if option not in run_options]])
            programs[plan] = (program, ranks, run_options)
        generator = random.Random(1)
        total = arguments.steps + 1
        with open(tokens, "wb") as stream:
            array.array("H", (generator.randrange(VOCABULARY)
                              for _ in range((total * arguments.seq + 1) * arguments.batch))).tofile(stream)
        times, losses = {}, {}
        for _ in range(arguments.rounds):
            for plan, (program, ranks, options) in programs.items():
                metrics, _ = measure.train(program, [f"--tokens={tokens}:u16", f"--steps={total}", *options],
                                           ranks if arguments.mpi and ranks > 1 else 0)
                times.setdefault(plan, []).extend(row["step_seconds"] for row in metrics["steps"][1:])
                losses[plan] = metrics["steps"][-1]["loss"]
                measure.note(f"{plan}: {measure.median_step(metrics, 1):.3f} s")
    one = statistics.median(times["dp=1"])
    for plan, seconds in times.items():
        measure.emit(benchmark="scaling", plan=plan, mpi=arguments.mpi, batch=arguments.batch, seq=arguments.seq,
                     cores=len(os.sched_getaffinity(0)), load_before=load, step_seconds=round(statistics.median(seconds), 4),
                     times_one_rank=round(statistics.median(seconds) / one, 3), last_loss=losses[plan])


if __name__ == "__main__":
    main()
