# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# soak.py BUILD [STEPS [SECONDS]]: months of a run in little time. A tiny model trains on two hosts of one rank with a
# checkpoint every 500 steps, and memory, descriptors, threads and checkpoints of the ranks must not grow. After SECONDS,
# if they are given, the run is asked to end. By hand:
#
#   python3 tests/cluster/hosts.py 2 python3 tests/cluster/soak.py build 200000
import os, pathlib, signal, subprocess, sys, tempfile, time

from jobs import Job, build, check, ended, losses, on, source

EVERY = 500  # steps between checkpoints
RANKS = 2
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
limit = float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
model = source / "tests/frontends/onnx/Inputs/mlp/loss.onnx"
data = f"--data={source / 'tests/e2e/Inputs/mlp/data'}"


def numbers(process):
    """Returns resident memory in KiB, descriptors and threads of a process."""
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines())
    return {"memory": int(status["VmRSS"].split()[0]), "descriptors": len(os.listdir(f"/proc/{process}/fd")),
            "threads": int(status["Threads"])}


def disk(folder):
    """KiB of all files of a folder, and how many; files may go while they are counted."""
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            pass
    return {"disk": sum(sizes) // 1024, "files": len(sizes)}


def watch(job, folder):
    """Samples of each kind, at the same times, until the run ends: the largest number of any rank."""
    samples, end = [], time.monotonic() + limit
    while job.running():
        if time.monotonic() > end:
            end += 60
            for process in job.ranks().values():
                os.kill(process, signal.SIGTERM)
        try:
            ranks = [numbers(process) for process in job.ranks().values()]
        except (OSError, KeyError):
            ranks = []
        if len(ranks) == RANKS:
            samples.append({name: max(rank[name] for rank in ranks) for name in ranks[0]} | disk(folder))
        time.sleep(1)
    return samples


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        program = root / "program"
        subprocess.run([build / "bin/dtcc", model, "--bind=batch=8", f"--mesh=dp={RANKS}", "--zero=1", "-o", program], check=True)
        job = Job(root)
        job.program = str(program)
        os.environ["DTCC_TEST_JOB"] = str(root)
        (root / "token").write_text(f"a secret of {root}\n")
        begin = time.monotonic()
        for rank in range(RANKS):
            job.start(on(1 + rank, program, data, f"--steps={steps}", "--threads=1", f"--checkpoint={root}/checkpoints",
                         f"--checkpoint-every={EVERY}", "--keep=3", f"--metrics={root}/metrics", "--rendezvous=10.99.0.1:29500",
                         f"--rank={rank}", f"--ranks={RANKS}", f"--token-file={root}/token", "--hang-timeout=60"))
        samples = watch(job, root / "checkpoints")
        statuses = job.wait(60)
        done = len(losses(root / "metrics"))
        asked = limit < float("inf") and statuses == [3] * RANKS
        check(asked or (statuses == [0] * RANKS and done == steps), f"{done} steps end well", statuses, job.said())
        # The first fifth is the start: three checkpoints, and buffers that grow to their size.
        early, late = samples[len(samples) // 5:len(samples) * 3 // 5], samples[len(samples) * 4 // 5:]
        check(len(early) >= 2 and late, "the run is long enough to be watched", len(samples))
        for name in samples[0] if early and late else []:
            before, after = max(each[name] for each in early), max(each[name] for each in late)
            check(after <= before * 1.02 + (64 if name == "memory" else 0), f"{name} stays flat: {before}, then {after}")
        print(f"{done} steps in {time.monotonic() - begin:.0f} s, {len(samples)} samples", flush=True)
    ended()


main()
