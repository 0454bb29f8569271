# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# restarts.py BUILD LAUNCHER [KILLS [SEED [STEPS]]]: a run on two hosts or more that starts again by itself (docs/faults.md).
# Ranks, or all ranks of a host, are killed at random times; at the end the losses are those of a run that nobody killed, bit
# for bit, and no step stands twice in the metrics. LAUNCHER is torchrun (its agents), slurm (--requeue), loops (of a shell,
# one for each rank), or disks: such loops on hosts that share no folder of checkpoints. STEPS are trained for each kill. hosts.py starts this as root of its namespaces.
import json, os, pathlib, random, re, signal, subprocess, sys, tempfile, time

import slurm
from jobs import HOSTS, Job, build, check, ended, losses, model, on, torchrun, wrong

EVERY = 5  # steps between checkpoints
EACH = 2 if HOSTS == 2 else 1  # ranks of a host
RANKS = EACH * HOSTS
BATCH = 12  # divides by 3 and 4
launcher = sys.argv[2]
kills = int(sys.argv[3]) if len(sys.argv) > 3 else 3
draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else None)
# On a fast machine a run goes on for some steps until it is seen that it is to be killed; a busy one needs fewer.
steps = (int(sys.argv[5]) if len(sys.argv) > 5 else 25) * (kills + 1)


def by_torchrun(job, arguments):
    for host in range(1, HOSTS + 1):
        job.start(on(host, torchrun, "--no-python", f"--nnodes={HOSTS}", f"--nproc-per-node={EACH}", f"--max-restarts={4 * kills}",
                     "--rdzv-backend=c10d", "--rdzv-endpoint=host1:29500", f"--rdzv-id={job.folder.name}", *arguments))


def by_loops(job, arguments):
    token = job.folder / "token"
    token.write_text(f"a secret of {job.folder}\n")
    for rank in range(RANKS):
        host = 1 + rank // EACH
        place = job.folder / (f"disk-{host}" if launcher == "disks" else ".")
        place.mkdir(exist_ok=True)
        job.start(on(host, "sh", "-c", 'cd "$0"; until "$@"; do sleep 0.2; done', place, *arguments,
                     "--rendezvous=host1:29600", f"--rank={rank}", f"--ranks={RANKS}", f"--token-file={token}"))


def by_slurm(job, arguments):
    batch = job.folder / "batch"
    batch.write_text(f"""#!/bin/bash
#SBATCH --nodes={HOSTS} --ntasks-per-node={EACH} --requeue --open-mode=append --signal=USR1@120 --output={job.folder}/said-by-slurm
srun --kill-on-bad-exit {" ".join(map(str, arguments))}
status=$?
case $status in
3|4|5|1[3-5][0-9]) scontrol requeue "$SLURM_JOB_ID" ;;
esac
exit $status
""")
    # sbatch --wait looks after 2, 10 and 42 seconds.
    wait = """
id=$(sbatch --parsable "$1") && while sleep 0.5; do
  case "$(scontrol show job "$id" | grep -o 'JobState=[A-Z_]*')" in
  JobState=COMPLETED) exit 0 ;;
  JobState=FAILED|JobState=CANCELLED|JobState=TIMEOUT|JobState=NODE_FAIL) exit 1 ;;
  esac
done"""
    job.start(on(1, "sh", "-c", wait, "wait", batch))


def said(job):
    return "".join(path.read_text() for path in sorted(job.folder.glob("said-*")))


def last_step(metrics):
    try:
        rows = re.findall(r'^{"step":(\d+).*}$', metrics.read_text(), re.MULTILINE)
    except FileNotFoundError:
        return 0
    return int(rows[-1]) if rows else 0


def strike(job):
    """Kills a rank, or all of a host, and says which; or nothing, if they have just ended. Slurm's job may be asked to save
    and end instead, as it is before its time is over."""
    ranks = job.ranks()
    if launcher == "slurm" and draw.random() < 0.4:
        subprocess.run(on(1, "scancel", "--signal=USR1", "1"), check=True)
        return "USR1"
    victim = draw.randrange(RANKS)
    victims = [victim]
    if draw.random() < 0.25:
        victims = [rank for rank in range(RANKS) if rank // EACH == victim // EACH]
    killed = []
    for rank in victims:
        try:
            os.kill(ranks[rank], signal.SIGKILL)
            killed.append(rank)
        except (KeyError, ProcessLookupError):
            pass
    return f"killed {killed}" if killed else ""


def kill_at_random(job, metrics):
    """Returns how many steps were run again, by kill."""
    lost = []
    while len(lost) < kills and job.running():
        base = last_step(metrics)
        end = time.monotonic() + 120
        aim = base + draw.randrange(max(1, (steps - base) // (kills - len(lost) + 1)))
        # To look for all ranks takes long: first the step.
        while time.monotonic() < end and job.running() and (last_step(metrics) < aim or len(job.ranks()) < RANKS):
            time.sleep(0.02)
        time.sleep(draw.random() * 0.05)
        before = last_step(metrics)
        begins = said(job).count("memory: ")
        what = strike(job)
        if not what:
            continue
        struck = time.monotonic()
        while time.monotonic() < end and job.running() and said(job).count("memory: ") == begins:
            time.sleep(0.05)
        # Rank 0 may stand on any host, whose words are in different files.
        resumed = [int(step) for step in re.findall(r"resumed from step (\d+)", said(job))]
        lost.append(max(0, before - max(resumed, default=0)))
        print(f"      {len(lost)}: at step {before} {what}, {lost[-1]} steps again, {time.monotonic() - struck:.1f} s to start",
              flush=True)
    return lost


def main():
    missing = [] if launcher != "slurm" else slurm.missing()
    if launcher == "torchrun" and not torchrun.exists():
        missing = ["PyTorch in build/export (docs/export.md)"]
    if missing:
        print("skipped: this system lacks", ", ".join(missing))
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        program = root / "program"
        subprocess.run([build / "bin/dtcc", model, f"--bind=batch={BATCH},seq=8", f"--mesh=dp={RANKS}", "--zero=1", "-o", program],
                       check=True)
        tokens = root / "tokens"
        tokens.write_bytes(bytes(i * i % 31 for i in range(20000)))
        arguments = [program, f"--tokens={tokens}:u8", f"--steps={steps}", "--threads=1"]
        alone = subprocess.Popen([*arguments, f"--metrics={root}/alone"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        daemons = slurm.start(HOSTS) if launcher == "slurm" else []
        job = Job(pathlib.Path(tempfile.mkdtemp(dir=root)))
        job.program = str(program)
        os.environ["DTCC_TEST_JOB"] = str(job.folder)
        metrics = root / "metrics"
        start = {"torchrun": by_torchrun, "slurm": by_slurm, "loops": by_loops, "disks": by_loops}[launcher]
        begin = time.monotonic()
        folder = ["--checkpoint=checkpoints", "--checkpoint-local"] if launcher == "disks" else [f"--checkpoint={root}/checkpoints"]
        start(job, [*arguments, f"--metrics={metrics}", *folder, f"--checkpoint-every={EVERY}",
                    "--keep=2", "--resume", "--hang-timeout=30"])
        lost = kill_at_random(job, metrics)
        statuses = job.wait(3600)
        seconds = time.monotonic() - begin
        job.kill()
        for daemon in daemons:
            daemon.terminate()
        check(len(lost) == kills, f"the run is killed {kills} times", len(lost))
        check(set(statuses) == {0}, f"{launcher} starts a run again, and it ends well", statuses, said(job))
        if wrong:
            ended()
        rows = [json.loads(line).get("step") for line in metrics.read_text().splitlines()]
        done = [step for step in rows if step]
        check(alone.wait(600) == 0, "the run that nobody kills ends well")
        check(losses(metrics) == losses(root / "alone"), f"after {kills} kills the losses are those of no kill", said(job))
        check(done == list(range(1, steps + 1)), "no step stands twice in the metrics, and none is missing", done)
        # One checkpoint may have been under way when the run was killed.
        check(max(lost, default=0) <= 2 * EVERY, "a kill costs the steps since a checkpoint", lost)
        print(f"{kills} kills by {launcher}: {sum(lost)} of {steps} steps again, {seconds:.1f} s", flush=True)
    ended()


main()
