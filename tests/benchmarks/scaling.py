# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2 124M on several ranks against one rank with the same cores and the same global batch, in turns of one step.

What a plan's communication, smaller products and repeated work cost. A line a plan: the median over pairs of steps (pairs.py)
of one rank's seconds over the plan's, above 1 where the plan is faster, with its quartiles, by the clock and by processor
time. The losses of both must be equal.

    python3 tests/benchmarks/scaling.py --seq 128
    python3 tests/benchmarks/scaling.py --plan dp=2 --plan "tp=2 --overlap" --mpi
"""
import argparse
import array
import os
import random
import statistics
import sys
import tempfile

import measure
import pairs

MODEL = os.path.join(measure.SHARED, "models", "structure", "gpt2-124m.onnx")
VOCABULARY = 50257
WARMUP = 1
REACH = 1e-5  # between the last losses
PLANS = ["dp=2", "dp=2 --zero=1", "dp=2 --zero=3", "tp=2"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", action="append", help="a mesh, with options of dtcc and (--overlap) of the program")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--mpi", action="store_true", help="ranks are processes")
    arguments = parser.parse_args()
    load = measure.busy()
    plans = ["dp=1"] + (arguments.plan or PLANS)
    good = True
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
        total = arguments.pairs + WARMUP + 2
        with open(tokens, "wb") as stream:
            array.array("H", (generator.randrange(VOCABULARY)
                              for _ in range((total * arguments.seq + 1) * arguments.batch))).tofile(stream)

        def start(plan):
            program, ranks, options = programs[plan]
            return pairs.Program(program, [f"--tokens={tokens}:u16", f"--steps={total}", *options],
                                 len(os.sched_getaffinity(0)), tempfile.mkdtemp(dir=folder),
                                 ranks if arguments.mpi and ranks > 1 else 0)

        for plan in plans[1:]:
            started = []
            try:
                for which in ("dp=1", plan):
                    started.append(start(which))
                one, several = started
                rows = [(one.step(), several.step()) for _ in range(arguments.pairs + WARMUP)][WARMUP:]
            finally:
                for program in started:
                    program.end()
            difference = abs(one.losses[-1] - several.losses[-1]) / abs(one.losses[-1])
            good &= difference <= REACH
            measure.emit(benchmark="scaling", plan=plan, mpi=arguments.mpi, batch=arguments.batch, seq=arguments.seq,
                         cores=len(os.sched_getaffinity(0)), load_before=load, pairs=len(rows),
                         one_rank_seconds=round(statistics.median(o[0] for o, _ in rows), 3),
                         plan_seconds=round(statistics.median(s[0] for _, s in rows), 3),
                         ratio=pairs.quartiles([o[0] / s[0] for o, s in rows]),
                         processor_ratio=pairs.quartiles([o[1] / s[1] for o, s in rows]),
                         last_loss_difference=float(f"{difference:.2g}"), good=difference <= REACH)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
