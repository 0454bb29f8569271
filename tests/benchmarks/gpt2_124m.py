# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2 124M, batch 4, sequence 256: dtcc against PyTorch in the same precision, in turns, in one run.

Each round runs dtcc's program and every peer once; medians over rounds are compared. Prints one JSON line: step times,
the ratio to the better peer, peak memory of a rank, seconds to compile.

    python3 tests/benchmarks/gpt2_124m.py --peer-python build/peers/bin/python               # 1 rank, all cores
    python3 tests/benchmarks/gpt2_124m.py --peer-python build/peers/bin/python --ranks 2     # dp=2 against DDP
    python3 tests/benchmarks/gpt2_124m.py --peer-python .. --ranks 2 --mesh tp=2              # against PyTorch's DTensor
    python3 tests/benchmarks/gpt2_124m.py                                                    # dtcc alone
    python3 tests/benchmarks/gpt2_124m.py --precision bf16 --also f32 --peer-python ...      # bf16, and dtcc's f32 beside it
"""
import argparse
import array
import json
import os
import random
import statistics
import tempfile

import measure

MODEL = os.path.join(measure.SHARED, "models", "structure", "gpt2-124m.onnx")
PEER = os.path.join(measure.SHARED, "peers", "torch_train.py")
VOCABULARY = 50257
# torch is measured with the allocator that suits it best as well: huge pages, and no memory given back.
TUNED = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:"
                           "glibc.malloc.top_pad=268435456"}


def peer_mode(arguments):
    """The peer's counterpart of the mesh."""
    if arguments.ranks == 1:
        return "single"
    return "tp" if arguments.mesh == f"tp={arguments.ranks}" else "ddp"


def peer(arguments, compiled, tuned):
    command = [arguments.peer_python, PEER, "--model", "gpt2-124m", "--mode", peer_mode(arguments),
               "--ranks", str(arguments.ranks), "--batch", str(arguments.batch), "--seq", str(arguments.seq),
               "--steps", str(arguments.steps), "--warmup", str(arguments.warmup), "--dtype", arguments.precision]
    environment = {"GLOO_SOCKET_IFNAME": "lo", **(TUNED if tuned else {})}
    output = measure.run(command + (["--compile"] if compiled else []), 1200, environment)[2]
    return json.loads([line for line in output.splitlines() if line.startswith("{")][-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", help="a Python with the peers' requirements; without it dtcc runs alone")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--mesh", help="instead of dp=RANKS")
    parser.add_argument("--zero", type=int)
    parser.add_argument("--precision", default="f32", choices=("f32", "bf16"),
                        help="of dtcc and of the peers, which take it by autocast")
    parser.add_argument("--also", choices=("f32", "bf16"), help="dtcc in another precision, in turns too")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6, help="timed steps of a run")
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--mpi", action="store_true", help="ranks are processes")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    arguments = parser.parse_args()
    load = measure.busy()

    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens.bin")
        options = ["--init=random", f"--bind=batch={arguments.batch},seq={arguments.seq}",
                   f"--cluster=cpu:{arguments.ranks}", f"--mesh={arguments.mesh or f'dp={arguments.ranks}'}",
                   "--optimizer=adamw:lr=3e-4,weight_decay=0.01"]
        if arguments.zero is not None:
            options.append(f"--zero={arguments.zero}")
        programs = {"dtcc": os.path.join(folder, "gpt2")}
        compile_seconds, compile_peak = measure.compile_model(MODEL, programs["dtcc"],
                                                              options + [f"--precision={arguments.precision}"])
        if arguments.also:
            programs[f"dtcc-{arguments.also}"] = os.path.join(folder, arguments.also)
            measure.compile_model(MODEL, programs[f"dtcc-{arguments.also}"], options + [f"--precision={arguments.also}"])
        measure.note(f"compiled in {compile_seconds:.1f} s")
        total = arguments.steps + arguments.warmup
        generator = random.Random(1)
        with open(tokens, "wb") as stream:
            array.array("H", (generator.randrange(VOCABULARY) for _ in range(total * arguments.batch * arguments.seq +
                                                                            arguments.batch))).tofile(stream)

        times, peaks, planned, losses = {}, {}, None, None
        runs = list(programs)
        if arguments.peer_python:
            runs += ["eager", "eager-tuned"] + ([] if arguments.no_compile else ["compile", "compile-tuned"])
        for _ in range(arguments.rounds):
            for name in runs:
                if name in programs:
                    metrics, peak = measure.train(programs[name], [f"--tokens={tokens}:u16", f"--steps={total}"],
                                                  arguments.ranks if arguments.mpi else 0)
                    seconds = measure.median_step(metrics, arguments.warmup)
                    if name == "dtcc":
                        planned = max(metrics["end"].get("peak_bytes", {}).values(), default=None)
                        losses = [row["loss"] for row in metrics["steps"]]
                    # Threads share one process: its peak is all ranks'.
                    peak = peak if arguments.mpi else peak / arguments.ranks
                else:
                    row = peer(arguments, "compile" in name, "tuned" in name)
                    seconds, peak = row["step_s_median"], row["peak_rss_mib"]
                times.setdefault(name, []).append(seconds)
                peaks[name] = max(peaks.get(name, 0), peak)
                measure.note(f"{name}: {seconds:.3f} s a step, {peak:.0f} MiB a rank")

    medians = {name: statistics.median(values) for name, values in times.items()}
    peers = {name: value for name, value in medians.items() if name not in programs}
    best = min(peers, key=peers.get, default=None)
    measure.emit(benchmark="gpt2-124m", ranks=arguments.ranks, mesh=arguments.mesh or f"dp={arguments.ranks}",
                 zero=arguments.zero, precision=arguments.precision, mpi=arguments.mpi, batch=arguments.batch, seq=arguments.seq,
                 cores=len(os.sched_getaffinity(0)), load_before=load, compile_seconds=round(compile_seconds, 2),
                 compile_peak_mib=round(compile_peak), step_seconds={k: round(v, 4) for k, v in medians.items()},
                 best_peer=best, faster_than_best_peer=round(peers[best] / medians["dtcc"], 3) if best else None,
                 peak_mib_a_rank={k: round(v) for k, v in peaks.items()}, planned_peak_bytes=planned,
                 first_loss=losses[0], last_loss=losses[-1])


if __name__ == "__main__":
    main()
