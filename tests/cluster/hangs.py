# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# hangs.py BUILD [COUNT [SEED]]: ranks of two hosts that hang. Plan, rank and time are drawn, and so the phase and the command
# that a rank is stopped at. One message must name that rank with host and process, and the step and command at which another
# waits for it. hosts.py starts this as root of its namespaces.
import collections, os, pathlib, random, re, signal, subprocess, sys, tempfile, time

from jobs import EACH, RANKS, build, check, data, ended, has_begun, model, patience
from launchers import by_hand, start

SECONDS = 2 * patience  # --hang-timeout
PLANS = {"dp=4": ["--mesh=dp=4", "--zero=1"], "dp=2,tp=2": ["--mesh=dp=2,tp=2"],
         "pp=2,dp=2": ["--mesh=pp=2,dp=2", "--microbatches=4", "--zero=1"],
         "pp=4": ["--mesh=pp=4", "--microbatches=4", "--schedule=1f1b"]}


def hang(root, plan, draw):
    """Returns the victim, where the others say that it was last, where they wait, and what is wrong, or nothing."""
    # On busy cores the ranks may need longer than the timeout to meet, which is no hang of a run.
    for _ in range(5):
        folder = pathlib.Path(tempfile.mkdtemp(dir=root))
        job = start(by_hand, folder, root / plan, "--threads=1", data, "--steps=1000000000", f"--metrics={folder}/metrics",
                    f"--hang-timeout={SECONDS}")
        end = time.monotonic() + 60 * patience
        while time.monotonic() < end and job.running() and not has_begun(folder / "metrics"):
            time.sleep(0.05)
        if has_begun(folder / "metrics") or not re.search(rf"^error: rank \d waited {SECONDS} s ", job.said(), re.M):
            break
        job.kill()
    time.sleep(draw.random())
    victim = draw.randrange(RANKS)
    number = job.ranks().get(victim)
    if number is None:
        job.kill()
        return victim, "", "", f"rank {victim} is not there\n{job.said()}"
    os.kill(number, signal.SIGSTOP)
    begin = time.monotonic()
    left = job.gone(but={victim})
    seconds = time.monotonic() - begin
    job.kill()
    said, errors = job.said(), job.errors()
    culprit = rf"rank {victim} \(host host{1 + victim // EACH}, pid {number}\) (does not answer|did not come)$"
    # Behind the commands of a step the ranks tell each other their times, in a group of all ranks.
    waits = [re.search(r"rank \d waits in (?:.*, at step \d+.*, phase '(\w+)', command (\d+) \((\w+)|"
                       r"(\w+) of group '(all ranks)' .*, at step \d+)", each) for each in errors]
    # A rank that is stopped between the beginning of a step and its first command has no command to name: it reads its batch.
    last = re.search(rf"^  rank {victim} .*: does not answer; was last at step \d+(?:$|, phase '(\w+)', command (\d+) )",
                     said, re.M)
    good = len(errors) == 1 and waits[0] and re.search(culprit, errors[0]) and last and not left
    where = " ".join(filter(None, waits[0].groups())) if waits and waits[0] else ""
    place = (" ".join(filter(None, last.groups())) or "its batch") if last else ""
    return victim, place, where, "" if good else f"{left} left, {seconds:.0f} s\n{said}"


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    draw = random.Random(seed)
    lasts, waits = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for plan, options in PLANS.items():
            subprocess.run([build / "bin/dtcc", model, "--bind=batch=8,seq=33", *options, "-o", root / plan], check=True,
                           stderr=subprocess.DEVNULL)
        for number in range(1, count + 1):
            plan = draw.choice(list(PLANS))
            victim, last, where, bad = hang(root, plan, draw)
            lasts[plan, victim, last] += 1
            waits[plan, where] += 1
            check(not bad, f"{number} of seed {seed}: {plan}, rank {victim} behind {last or '?'}: another waits in {where or '?'}",
                  bad)
    print(f"{count} hangs with seed {seed}: {len(lasts)} places of victims, {len(waits)} commands that waited", flush=True)
    ended()


main()
