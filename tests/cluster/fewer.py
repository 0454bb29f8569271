# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# fewer.py BUILD: a run on two hosts loses one for good and goes on with the ranks of the other, by torchrun's agents
# (docs/faults.md). There is a program for each number of ranks; checkpoints load across their plans. hosts.py starts this
# as root of its namespaces.
import json, math, os, pathlib, re, signal, subprocess, sys, tempfile, time

from jobs import EACH, Job, build, check, data, ended, model, on, torchrun


def agent(job, host, root, metrics):
    job.start(on(host, torchrun, "--no-python", "--nnodes=1:2", f"--nproc-per-node={EACH}", "--max-restarts=10",
                 "--rdzv-backend=c10d", "--rdzv-endpoint=host1:29500", "--rdzv-id=fewer", "--rdzv-conf=last_call_timeout=5",
                 "sh", "-c", f'exec {root}/model-$WORLD_SIZE "$@"', "model", data, "--steps=100000000", "--threads=1",
                 f"--checkpoint={root}/checkpoints", "--checkpoint-every=10", "--keep=2", f"--metrics={metrics}", "--resume",
                 "--hang-timeout=30"))


def rows_of(metrics):
    """Rows that are whole, while the file is written."""
    if not metrics.exists():
        return []
    return [json.loads(line) for line in metrics.read_text().splitlines() if line.endswith("}")]


def wait_for(job, metrics, ranks):
    """Waits until `ranks` ranks have run 30 steps in a row; the last step. None: it takes too long."""
    end = time.monotonic() + 150
    while time.monotonic() < end:
        rows = rows_of(metrics)
        starts = [i for i, row in enumerate(rows) if row.get("event") == "start"]
        if starts and rows[starts[-1]]["ranks"] == ranks and len(rows) > starts[-1] + 30:
            return rows[-1].get("step")
        time.sleep(0.1)
    check(False, f"{ranks} ranks train", job.said())
    ended()


def kill_host(host):
    """All that runs on a host: its agent and its ranks, as when it loses its power."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            names = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            here = subprocess.run(["nsenter", f"--uts=/proc/{process.name}/ns/uts", "hostname"], capture_output=True, text=True)
            if b"DTCC_TEST_JOB=" in names and here.stdout.strip() == f"host{host}":
                os.kill(int(process.name), signal.SIGKILL)
        except (OSError, ProcessLookupError):
            pass


def main():
    if not torchrun.exists():
        print("skipped: this system lacks PyTorch in build/export (docs/export.md)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for ranks in (EACH, 2 * EACH):
            subprocess.run([build / "bin/dtcc", model, "--bind=batch=8,seq=33", f"--mesh=dp={ranks}", "--zero=1", "-o",
                            root / f"model-{ranks}"], check=True)
        job = Job(root)
        os.environ["DTCC_TEST_JOB"] = str(root)
        metrics = root / "metrics"
        agent(job, 1, root, metrics)
        agent(job, 2, root, metrics)
        lost = wait_for(job, metrics, 2 * EACH)
        kill_host(2)
        wait_for(job, metrics, EACH)
        kill_host(1)
        job.wait(10)
        rows = [row for row in rows_of(metrics) if "loss" in row]
        last = min(rows[-1]["step"], lost + 200)
        check([row["step"] for row in rows] == list(range(1, len(rows) + 1)), "no step stands twice or is missing",
              [row["step"] for row in rows])
        subprocess.run([root / "model-4", data, f"--steps={last}", f"--metrics={root}/alone"], check=True,
                       stdout=subprocess.DEVNULL)
        want = [row["loss"] for row in rows_of(root / "alone") if "loss" in row]
        far = [(row["step"], row["loss"], loss) for row, loss in zip(rows, want)
               if not math.isclose(row["loss"], loss, rel_tol=1e-3)]
        check(len(want) == last and not far, "fewer ranks train as all did", far[:5])
        resumed = re.findall(r"resumed from step \d+", job.said())
        check(len(resumed) == 1, "they go on from a checkpoint", job.said())
    ended()


main()
