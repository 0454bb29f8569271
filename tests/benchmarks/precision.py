# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The byte-level GPT-2 of examples/ trained in f32, bf16, bf16 with gradients in bf16 and fp16 on this repository's own
text: do the losses agree?

Prints one JSON line: the mean loss of the last steps of each, their ratios to f32's, and the greatest ratio of a step
(smoothed over --window steps). Fails if a ratio at the end is farther from 1 than --reach.

    python3 tests/benchmarks/precision.py                              # 200 steps on 1 rank
    python3 tests/benchmarks/precision.py --mesh dp=2,tp=2 --zero 1
"""
import argparse
import array
import os
import statistics
import subprocess
import tempfile

import measure

MODEL = os.path.join(measure.ROOT, "examples", "bytegpt", "model.onnx")


def corpus(path):
    """Every byte of the repository's documents and sources is a token."""
    files = subprocess.run(["git", "-C", measure.ROOT, "ls-files", "*.md", "*.cpp", "*.h", "*.td", "*.py"],
                           capture_output=True, text=True, check=True).stdout.split()
    with open(path, "wb") as out:
        for file in sorted(files):
            with open(os.path.join(measure.ROOT, file), "rb") as source:
                array.array("H", list(source.read())).tofile(out)


def smoothed(losses, window):
    return [statistics.fmean(losses[max(0, i - window + 1):i + 1]) for i in range(len(losses))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=64)
    parser.add_argument("--mesh", default="dp=1")
    parser.add_argument("--zero", type=int)
    parser.add_argument("--microbatches", type=int)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--reach", type=float, default=0.01)
    arguments = parser.parse_args()

    losses, scales = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "corpus.bin")
        corpus(tokens)
        for precision in ("f32", "bf16", "bf16 gradients", "fp16"):
            program = os.path.join(folder, precision.replace(" ", "-"))
            options = [f"--precision={precision.split()[0]}", f"--mesh={arguments.mesh}",
                       f"--bind=batch={arguments.batch},seq={arguments.seq}",
                       "--optimizer=adamw:lr=3e-4,beta1=0.9,beta2=0.95,eps=1e-8,weight_decay=0.1"]
            if "gradients" in precision:
                options.append("--gradients=bf16")
            if arguments.microbatches:
                options.append(f"--microbatches={arguments.microbatches}")
            if arguments.zero is not None:
                options.append(f"--zero={arguments.zero}")
            measure.compile_model(MODEL, program, options)
            metrics, _ = measure.train(program, [f"--tokens={tokens}:u16", f"--steps={arguments.steps}"])
            losses[precision] = smoothed([row["loss"] for row in metrics["steps"]], arguments.window)
            last = metrics["steps"][-1]
            scales[precision] = [last.get("loss_scale"), last.get("skipped")]
            measure.note(f"{precision}: {losses[precision][-1]:.5f}")
    ratios = {name: values[-1] / losses["f32"][-1] for name, values in losses.items()}
    worst = {name: max(abs(a / b - 1) for a, b in zip(values, losses["f32"])) for name, values in losses.items()}
    measure.emit(benchmark="precision", mesh=arguments.mesh, zero=arguments.zero, steps=arguments.steps,
                 final_loss={k: round(v[-1], 6) for k, v in losses.items()},
                 ratio_to_f32={k: round(v, 6) for k, v in ratios.items()},
                 greatest_difference={k: float(f"{v:.2e}") for k, v in worst.items()},
                 loss_scale_and_skipped=scales["fp16"])
    return int(any(abs(ratio - 1) > arguments.reach for ratio in ratios.values()))


if __name__ == "__main__":
    raise SystemExit(main())
