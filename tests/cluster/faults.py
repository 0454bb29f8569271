# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# faults.py BUILD [ROUNDS [SEED [KIND..]]]: whatever happens to a run on two hosts is survived or named (docs/faults.md).
# Each round draws a kind of fault and its time and victim. The run must go on with equal bits, or every rank that is left
# must end in time, with a message that names what happened. Then the run is started again, and must end with the losses of
# a run without a fault, bit for bit. hosts.py starts this as root of its namespaces.
import collections, os, pathlib, random, re, shutil, signal, subprocess, sys, tempfile, time

from jobs import EACH, RANKS, build, check, ended, hosts, losses, model, patience, source
from launchers import by_hand, by_mpirun, launchers, start

SECONDS = 4 * patience  # --hang-timeout
STEPS, EVERY = 80, 5
SLACK = 30 * patience  # beyond the timeout, on a machine whose cores others use
ANY_RANK = r"rank \d"


class Run:
    """A run with its own disk and data, and what a fault has done to it."""

    def __init__(self, root, program, draw):
        self.root, self.program, self.draw = pathlib.Path(tempfile.mkdtemp(dir=root)), program, draw
        self.disk, self.data = self.root / "disk", self.root / "data"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", self.disk], check=True)
        shutil.copytree(source / "tests/e2e/Inputs/gpt2/data", self.data)
        self.metrics = self.root / "metrics"
        self.undo, self.excused, self.others, self.environment = [], set(), {}, {}
        self.launcher = by_hand
        self.nobody = False  # is left to say anything

    def words(self, program=None, data=None):
        return [program or self.program, f"--data={data or self.data}", f"--steps={STEPS}", f"--metrics={self.metrics}",
                f"--checkpoint={self.disk}/checkpoints", f"--checkpoint-every={EVERY}", "--keep=2", "--resume", "--threads=1",
                f"--hang-timeout={SECONDS}"]

    def begin(self):
        launch = self.launcher
        if self.others:
            launch = lambda job, port, arguments: by_hand(job, port, arguments, self.others)
        os.environ.update(self.environment)
        self.job = start(launch, self.root, *self.words())
        for name in self.environment:
            del os.environ[name]

    def step(self):
        try:
            return max(losses(self.metrics), default=0)
        except (FileNotFoundError, ValueError):
            return 0

    def wait_for_step(self, step):
        end = time.monotonic() + 60 * patience
        while self.step() < step and self.job.running() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(self.draw.random() * 0.05)
        self.processes = self.job.ranks()

    def victims(self):
        """A rank or, as often, all ranks."""
        return [self.draw.randrange(RANKS)] if self.draw.random() < 0.5 else list(range(RANKS))

    def send(self, ranks, number):
        for rank in ranks:
            try:
                os.kill(self.processes[rank], number)
            except (KeyError, ProcessLookupError):
                pass

    def end(self):
        self.job.kill()
        for each in self.undo:
            each()
        subprocess.run(["umount", "-l", self.disk], check=True)
        shutil.rmtree(self.root)


# Each kind strikes, and returns what an ended run must say.


def rank_killed(run):
    victim = run.draw.randrange(RANKS)
    run.send([victim], signal.SIGKILL)
    return f"rank {victim}"


def host_killed(run):
    host = run.draw.randrange(2)
    run.send(range(host * EACH, (host + 1) * EACH), signal.SIGKILL)
    return f"rank [{host * EACH}-{(host + 1) * EACH - 1}]"


def link_cut(run):
    hosts("cut", "2")
    run.undo.append(lambda: hosts("mend", "2"))
    return r"does not answer|rank \d .*host host\d"


def link_cut_for_a_moment(run):
    hosts("cut", "2")
    time.sleep(1)
    hosts("mend", "2")
    return r"does not answer|rank \d .*host host\d"


def link_cut_one_way(run):
    """Cuts a host's link one way: its messages are lost, those to it arrive."""
    host = 1 + run.draw.randrange(2)
    neighbour = ["ip", "netns", "exec", f"host{host}", "ip", "neigh"]
    at = [f"10.99.0.{3 - host}", "dev", "eth0"]
    subprocess.run([*neighbour, "replace", at[0], "lladdr", "02:00:00:00:00:99", *at[1:], "nud", "permanent"], check=True)
    run.undo.append(lambda: subprocess.run([*neighbour, "del", *at], check=True))
    return r"does not answer|rank \d .*host host\d"


def link_slow(run):
    """1 % of 1 Gb/s, for some steps."""
    host = str(1 + run.draw.randrange(2))
    hosts("rate", host, "10mbit")
    time.sleep(2)
    hosts("rate", host, "off")
    return None


def rank_stopped(run):
    victim = run.draw.randrange(RANKS)
    run.send([victim], signal.SIGSTOP)
    run.excused.add(victim)
    return f"rank {victim} .*(does not answer|did not come)"


def rank_stopped_for_a_moment(run):
    victim = run.draw.randrange(RANKS)
    run.send([victim], signal.SIGSTOP)
    time.sleep(SECONDS / 4)
    run.send([victim], signal.SIGCONT)
    return None


def launcher_killed(run):
    run.job.children[0].kill()
    run.nobody = True  # whose words the launcher would have passed on
    return ANY_RANK


def out_of_memory(run):
    """A limit, as of ulimit, just above what the rank has."""
    victim = run.draw.randrange(RANKS)
    status = pathlib.Path(f"/proc/{run.processes[victim]}/status").read_text()
    size = 1024 * int(re.search(r"VmSize:\s*(\d+)", status)[1])
    subprocess.run(["prlimit", f"--pid={run.processes[victim]}", f"--as={size + run.draw.randrange(1 << 20)}"], check=True)
    return f"rank[- ]0*{victim}.*memory"


def disk_full(run):
    filler = run.disk / "filler"

    def fill():
        with open(filler, "wb", buffering=0) as file:
            while file.write(bytes(1 << 16)):
                pass
    try:
        fill()
    except OSError:
        pass
    run.undo.append(lambda: filler.unlink())
    return r"cannot write .*: No space left on device"


def folder_read_only(run):
    """For some ranks: where a file is open for writing, the system refuses to make its disk read-only, so an empty disk
    that is comes in its place."""
    for rank in run.victims():
        subprocess.run(["nsenter", f"--mount=/proc/{run.processes[rank]}/ns/mnt", "mount", "-t", "tmpfs", "-o", "ro", "none",
                        run.disk], check=True)
    return r"cannot (write|make|read|create) .*disk|checkpoint"


def data_truncated(run):
    """Cut at any byte, while it is mapped."""
    path = run.draw.choice(sorted(run.data.iterdir()))
    whole = path.read_bytes()
    os.truncate(path, run.draw.randrange(len(whole)))
    run.undo.append(lambda: path.write_bytes(whole))
    return rf"{path.name}.*became shorter"


def checkpoint_half_written(run):
    """All ranks are killed in a checkpoint, and the newest one that is whole loses the end of a file."""
    before = set((run.disk / "checkpoints").glob("*"))
    end = time.monotonic() + 20
    while set((run.disk / "checkpoints").glob("*")) == before and run.job.running() and time.monotonic() < end:
        time.sleep(0.001)
    run.send(range(RANKS), signal.SIGKILL)
    run.nobody = True

    def cut():
        steps = sorted((run.disk / "checkpoints").glob("step-*/"), key=lambda each: int(re.sub(r"\D", "", each.name)))
        files = sorted(steps[-1].glob("*.safetensors")) if len(steps) > 1 else []
        if files:
            os.truncate(run.draw.choice(files), 100)
    run.undo.append(cut)
    return ANY_RANK


def different_data(run):
    other = run.root / "other"
    shutil.copytree(run.data, other)
    path = next(iter(sorted(other.glob("*label*"))))
    content = bytearray(path.read_bytes())
    content[-8] ^= 1
    path.write_bytes(content)
    victim = run.draw.randrange(1, RANKS)
    run.others[victim] = [*run.words(data=other)]
    run.undo.append(run.others.clear)
    return f"rank {victim}"


def different_program(run):
    victim = run.draw.randrange(1, RANKS)
    run.others[victim] = [*run.words(program=f"{run.program}-other")]
    run.undo.append(run.others.clear)
    return f"rank {victim}"


def clock_jumps(run):
    """Moves the clock by a day, forwards or back."""
    (run.root / "jump").write_text(str(run.draw.choice((-86400, 86400))))
    return None


def by_signal(number):
    def strike(run):
        victims = run.victims()
        run.send(victims, number)
        run.nobody = number == signal.SIGQUIT and len(victims) == RANKS
        return ANY_RANK if number == signal.SIGQUIT else ""  # a save that was asked for ends without a word
    return strike


FROM_THE_START = (different_data, different_program)
KINDS = {each.__name__.replace("_", "-"): each for each in (
    rank_killed, host_killed, link_cut, link_cut_for_a_moment, link_cut_one_way, link_slow, rank_stopped,
    rank_stopped_for_a_moment, launcher_killed, out_of_memory, disk_full, folder_read_only, data_truncated,
    checkpoint_half_written, different_data, different_program, clock_jumps)}
KINDS |= {name: by_signal(getattr(signal, name)) for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGQUIT", "SIGPIPE")}

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real)
    real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, at);
  FILE *jump = clock == CLOCK_REALTIME ? fopen(getenv("CLOCK_JUMP"), "r") : 0;
  long seconds = 0;
  if (jump) {
    if (fscanf(jump, "%ld", &seconds) == 1)
      at->tv_sec += seconds;
    fclose(jump);
  }
  return result;
}
"""


def play(root, program, want, kind, draw):
    """One round: what became of the run, the seconds until it was over, and what is wrong, or nothing."""
    run = Run(root, program, draw)
    try:
        strike = KINDS[kind]
        if kind == "launcher-killed":
            run.launcher = by_mpirun
        if kind == "clock-jumps":
            run.environment = {"LD_PRELOAD": str(root / "clock.so"), "CLOCK_JUMP": str(run.root / "jump")}
        expected = strike(run) if strike in FROM_THE_START else None
        run.begin()
        if strike in FROM_THE_START:
            run.job.wait(SECONDS + SLACK)  # Ranks that have not been started yet are not yet to be seen.
        else:
            run.wait_for_step(1 + draw.randrange(40))
            if len(run.processes) < RANKS:
                return "not begun", 0, run.job.said()
            expected = strike(run)
        return judge(run, expected, want)
    finally:
        run.end()


def judge(run, expected, want):
    begin = moved = time.monotonic()
    aside = {run.processes[rank] for rank in run.excused}
    step = run.step()
    while time.monotonic() < moved + SECONDS + SLACK and set(run.job.ranks().values()) - aside:
        if run.step() != step:
            step, moved = run.step(), time.monotonic()
        time.sleep(0.05)
    seconds = time.monotonic() - begin
    left = [rank for rank, process in run.job.ranks().items() if process not in aside]
    statuses = run.job.wait(0.5 if aside else 10)
    if left:
        return "goes on", seconds, f"ranks {left} are left after {seconds:.0f} s\n{run.job.said()}"
    if set(statuses) == {0}:
        return "survived", seconds, "" if losses(run.metrics) == want else "other losses"
    if not run.nobody and (expected is None or not re.search(expected, run.job.said())):
        return "not named", seconds, f"statuses {statuses}, and nothing says '{expected}':\n{run.job.said()}"
    run.job.kill()
    for each in run.undo:
        each()
    run.undo.clear()
    run.environment, run.launcher = {}, by_hand
    said = run.job.said()
    run.begin()
    statuses = run.job.wait(120 * patience)
    if set(statuses) != {0}:
        return "no restart", seconds, f"statuses {statuses}\n{said}\nstarted again:\n{run.job.said()}"
    return "named" if not run.nobody else "ended", seconds, "" if losses(run.metrics) == want else f"other losses\n{said}"


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    kinds = sys.argv[4:] or list(KINDS)
    if by_mpirun not in dict(launchers()).values() and "launcher-killed" in kinds:
        kinds.remove("launcher-killed")
    print(f"seed {seed}", flush=True)
    draw = random.Random(seed)
    outcomes, slowest = collections.defaultdict(collections.Counter), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        program = root / "program"
        compile = [build / "bin/dtcc", model, "--bind=batch=8,seq=33", "--mesh=pp=2,dp=2", "--microbatches=4", "--zero=1"]
        for options in (["-o", program], ["--clip=0.5", "-o", root / "program-other"]):
            subprocess.run([*compile, *options], check=True, stderr=subprocess.DEVNULL)
        (root / "clock.c").write_text(CLOCK)
        subprocess.run(["c++", "-x", "c", "-shared", "-fPIC", "-o", root / "clock.so", root / "clock.c", "-ldl"], check=True)
        subprocess.run([program, f"--data={source / 'tests/e2e/Inputs/gpt2/data'}", f"--steps={STEPS}",
                        f"--metrics={root}/alone"], check=True, stdout=subprocess.DEVNULL)
        want = losses(root / "alone")
        order = []
        for number in range(1, rounds + 1):
            order = order or draw.sample(kinds, len(kinds))  # every kind comes before one comes again
            kind = order.pop()
            what, seconds, bad = play(root, program, want, kind, draw)
            outcomes[kind][what if not bad else f"BAD: {what}"] += 1
            slowest[kind] = max(slowest[kind], seconds)
            print(f"{number:4}: {kind}: {what} after {seconds:.1f} s", flush=True)
            if bad:
                check(False, f"round {number} of seed {seed}: {kind} is survived or named", bad)
    for kind in sorted(outcomes):
        counts = ", ".join(f"{count} {what}" for what, count in outcomes[kind].items())
        print(f"{kind:26} {counts}; at most {slowest[kind]:.1f} s")
    print(f"{sum(sum(each.values()) for each in outcomes.values())} faults of {len(outcomes)} kinds, seed {seed}")
    ended()


main()
