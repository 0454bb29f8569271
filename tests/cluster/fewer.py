# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# fewer.py BUILD: a run on two hosts loses one and goes on with the ranks of the other; then the host comes back, and the run
# goes on with all, by torchrun's agents (docs/faults.md). The program has a plan for each number of ranks; checkpoints load
# across them. hosts.py starts this as root of its namespaces.
import json, math, os, pathlib, re, signal, subprocess, sys, tempfile, time

from jobs import EACH, RANKS, Job, build, check, data, ended, model, on, torchrun

# Plans round sums in other orders, and learning amplifies that. At this rate runs of 2 and of 4 ranks without a fault stay
# within 2e-7 of each other for 2,000 steps; at the default rate they are 4e-2 apart by then.
RATE = "--lr=1e-5"
# The agents' own patience: a host that is gone is missed after three heartbeats, and the last ones to come are waited for.
PATIENCE = "last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=3"


def agent(job, host, root, metrics):
    # Where agents share one store, those that stay tell a newcomer of a later round no MASTER_ADDR (PyTorch 2.15).
    job.start(on(host, torchrun, "--no-python", "--nnodes=1:2", f"--nproc-per-node={EACH}", "--max-restarts=10",
                 "--rdzv-backend=c10d", "--rdzv-endpoint=host1:29500", "--rdzv-id=fewer", f"--rdzv-conf={PATIENCE}",
                 root / "model", data, "--steps=100000000", RATE, "--threads=1", f"--checkpoint={root}/checkpoints",
                 "--checkpoint-every=10", "--keep=2", f"--metrics={metrics}", "--resume", "--hang-timeout=30"),
              TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")


def rows_of(metrics):
    """Rows that are whole, while the file is written."""
    if not metrics.exists():
        return []
    return [json.loads(line) for line in metrics.read_text().splitlines() if line.endswith("}")]


def wait_for(job, metrics, ranks):
    """Waits until `ranks` ranks have run 15 steps in a row; the last step."""
    end = time.monotonic() + 150
    while time.monotonic() < end:
        rows = rows_of(metrics)
        starts = [i for i, row in enumerate(rows) if row.get("event") == "start"]
        if starts and rows[starts[-1]]["ranks"] == ranks and len(rows) > starts[-1] + 15:
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
        subprocess.run([build / "bin/dtcc", model, "--bind=batch=8,seq=33", f"--worlds={EACH},{RANKS}", "--zero=1", "-o",
                        root / "model"], check=True)
        job = Job(root)
        os.environ["DTCC_TEST_JOB"] = str(root)
        metrics = root / "metrics"
        agent(job, 1, root, metrics)
        agent(job, 2, root, metrics)
        wait_for(job, metrics, RANKS)
        kill_host(2)
        wait_for(job, metrics, EACH)
        agent(job, 2, root, metrics)
        last = wait_for(job, metrics, RANKS)
        kill_host(2)
        kill_host(1)
        job.wait(10)
        rows = [row for row in rows_of(metrics) if "loss" in row]
        check([row["step"] for row in rows] == list(range(1, len(rows) + 1)), "no step stands twice or is missing",
              [row["step"] for row in rows])
        subprocess.run([root / "model", data, f"--ranks={RANKS}", f"--steps={last}", RATE, f"--metrics={root}/alone"],
                       check=True, stdout=subprocess.DEVNULL)
        want = [row["loss"] for row in rows_of(root / "alone") if "loss" in row]
        far = [(row["step"], row["loss"], loss) for row, loss in zip(rows, want)
               if not math.isclose(row["loss"], loss, rel_tol=2e-6)]
        check(len(want) == last and not far, "the losses are those of all ranks from start to end", far[:5])
        resumed = re.findall(r"resumed from step \d+", job.said())
        check(len(resumed) == 2, "they go on from checkpoints, with fewer ranks and with more", job.said())
    ended()


main()
