# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# run.py BUILD: two hosts of two ranks each (hosts.py). Programs that processes of one machine and of both hosts run must
# train the same, bit for bit, whoever starts them; and what happens to hosts and ranks must end the others with one
# message that is right. hosts.py starts this as root of its namespaces.
import json, os, pathlib, re, signal, subprocess, sys, tempfile, time

from jobs import EACH, RANKS, Job, build, check, data, ended, has_begun, hosts, losses, model, on, wrong
from launchers import by_hand, launchers, start

SECONDS = 3  # the hang timeout of runs that are to hang


def same_losses(root, programs):
    """Programs train as on one host, whoever starts them."""
    for name, program in programs.items():
        subprocess.run([program, data, "--steps=3", f"--metrics={root / name}.alone"], check=True, stdout=subprocess.DEVNULL)
    for launcher, launch in launchers():
        def metrics(name):
            return root / f"{name}.{launcher.replace(' ', '-')}"
        # PyTorch takes long to start: its ranks run all programs one after the other.
        for names in [list(programs)] if launcher == "torchrun" else [[name] for name in programs]:
            lines = [f'{programs[name]} {data} --steps=3 --threads=1 --metrics={metrics(name)} --hang-timeout=40 "$@"'
                     for name in names]
            job = start(launch, root, "sh", "-c", " && ".join(lines), "all")
            statuses = job.wait(200)
            job.kill()
            for name in names:
                expected = losses(root / f"{name}.alone")
                good = set(statuses) == {0} and losses(metrics(name)) == expected and len(expected) == 3
                check(good, f"{name} on two hosts by {launcher} trains as on one", statuses, job.said())


def mend_link(host):
    """Takes the link of a host up again, and waits until host 1 reaches it: neighbours are found anew."""
    hosts("mend", str(host))
    probe = f"""
import socket, sys
try:
    socket.create_connection(("10.99.0.{host}", 9), 1)
except ConnectionRefusedError:
    pass
except OSError:
    sys.exit(1)
"""
    for _ in range(60):
        if subprocess.run(list(map(str, on(1, sys.executable, "-c", probe)))).returncode == 0:
            return
        time.sleep(0.25)
    raise RuntimeError(f"host {host} is not reached again")


def endless(launch, root, program):
    """A job that trains for ever, and has begun to. Open MPI's daemons may fail to meet on a busy machine, which is no fault
    of the program: such a launch is tried again."""
    for _ in range(3):
        job = begun(launch, root, program)
        if job.ranks() or "ORTE was unable" not in job.said():
            break
        job.kill()
    return job


def begun(launch, root, program):
    metrics = pathlib.Path(tempfile.mkdtemp(dir=root)) / "metrics"
    job = start(launch, root, program, "--threads=1", data, "--steps=1000000000", f"--metrics={metrics}", f"--hang-timeout={SECONDS}")
    for _ in range(600):
        if has_begun(metrics) or not job.running():
            break
        time.sleep(0.1)
    return job


def conformance():
    """Every collective, element type and size over both hosts: the bits of one host. Returns what is to be called to wait
    for the end."""
    suite = build / "tests/unit/collective-suite"
    children = []
    for rank in range(RANKS):
        variables = {"RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_RANK": rank % EACH, "LOCAL_WORLD_SIZE": EACH,
                     "MASTER_ADDR": "10.99.0.1", "MASTER_PORT": 29500, "TORCHELASTIC_RUN_ID": "conformance"}
        children.append(subprocess.Popen([str(word) for word in on(1 + rank // EACH, suite)],
                                         env={**os.environ, **{name: str(value) for name, value in variables.items()}}))

    def judge():
        statuses = [child.wait(200) for child in children]
        check(not any(statuses), "collectives over two hosts have the bits of one", statuses)
    return judge


def cut_link(root, name, program, launches):
    """Jobs of all launchers at once: `launches` holds their names and functions."""
    jobs = {launcher: endless(launch, root, program) for launcher, launch in launches.items()}
    hosts("cut", "2")
    left = {launcher: job.gone() for launcher, job in jobs.items()}
    mend_link(2)
    silent = r"no progress for \d+ s: rank \d waits in .* at step \d+.* rank [23] \(host host2, pid \d+\) does not answer$"
    for launcher, job in jobs.items():
        job.kill()
        here_says = [line for line in job.errors() if re.search(silent, line)]
        # mpirun itself waits for the host that is gone.
        check(not left[launcher] and here_says, f"{name} by {launcher}: a cut link ends all ranks, which say where",
              left[launcher], job.said())


def stopped_rank(root, name, program, launcher, launch, victim):
    """Stops a rank; returns what is to be called to wait for the others and judge what they say. They hang meanwhile, and
    leave the cores to another job."""
    job = endless(launch, root, program)
    number = job.ranks().get(victim)
    if number is not None:
        os.kill(number, signal.SIGSTOP)

    def judge():
        if number is None:
            return check(False, f"{name} by {launcher}: rank {victim} is there", job.said())
        left = job.gone(but={victim})
        job.kill()
        culprit = rf"rank {victim} \(host host{1 + victim // EACH}, pid {number}\) (does not answer|did not come)$"
        errors = job.errors()
        # The end of an MPI may overtake the word that another host has said why.
        one = len(errors) == 1 or (launcher == "mpirun" and errors)
        good = not left and one and all(re.search(culprit, each) and re.search(r", at step \d+", each) for each in errors)
        # A line for each rank of all hosts: what it waits for or, if it was stopped, where it was last.
        table = [line for line in job.said().splitlines() if re.match(r"  rank \d \(host ", line)][:RANKS]
        for rank, line in enumerate(table):
            good &= line.startswith(f"  rank {rank} (host host{1 + rank // EACH}, pid ")
            if rank == victim:
                good &= re.search(r": does not answer; was last at step \d+(, phase '\w+', command \d+ \(\w+\))?$", line) is not None
            else:
                good &= re.search(r": waits in .* for rank \d.*, at step \d+", line) is not None
        good &= len(table) == RANKS
        check(good, f"{name} by {launcher}: stopped rank {victim} is named, and the others end", left, job.said())
    return judge


def slow_rank(root, program, launch):
    """A rank that is stopped for most of the time, in pulses shorter than a step, is named with its host."""
    victim = 3
    metrics = root / "slow.metrics"
    tokens = root / "tokens"
    tokens.write_bytes(bytes(i * i % 31 for i in range(50000)))
    job = start(launch, root, program, "--threads=1", f"--tokens={tokens}:u8", "--steps=100000", f"--metrics={metrics}", "--hang-timeout=40")
    end = time.monotonic() + 120
    number = None
    while time.monotonic() < end and job.running() and "is slow" not in job.said():
        number = number or (metrics.exists() and job.ranks().get(victim))
        if number:
            for pulse, seconds in ((signal.SIGSTOP, 0.009), (signal.SIGCONT, 0.003)):
                os.kill(number, pulse)
                time.sleep(seconds)
    time.sleep(0.5)
    said = job.said()
    job.kill()
    rows = [json.loads(line) for line in metrics.read_text().splitlines() if line.endswith("}")]
    told = [row for row in rows if row.get("event") == "straggler"]
    check(f"warning: rank {victim} (host host2) is slow: for 20 steps it took" in said and
          told and (told[0]["rank"], told[0]["host"]) == (victim, "host2"),
          "a slow rank is named with its host", said, *rows[-30:])
    check(all(len(row["rank_seconds"]) == RANKS and max(row["rank_seconds"]) < 1.1 * row["step_seconds"] + 0.1
              for row in rows if "loss" in row), "the metrics hold the own time of each rank", *rows[-30:])


def forgiving(test, launches):
    """Runs `test` with launchers, and once more with mpirun if it is missed there: that launcher ends ranks on its own, and
    may do so before they have said why."""
    before = len(wrong)
    test(launches)
    again = {name: launch for name, launch in launches.items() if name == "mpirun" and any(name in each for each in wrong[before:])}
    if again:
        wrong[before:] = [each for each in wrong[before:] if "mpirun" not in each]
        print("once more, since mpirun ends ranks on its own:", flush=True)
        test(again)


def strangers(root, program):
    """Processes that do not know the token, or know nothing, stay outside and do no harm."""
    port = start.port + 16
    stranger = subprocess.Popen(on(2, sys.executable, "-c", f"""
import os, socket, time
kept = []
end = time.monotonic() + 4
while time.monotonic() < end:
    try:
        each = socket.create_connection(("10.99.0.1", {port}), 1)
        each.sendall(os.urandom(len(kept) % 200))
        kept.append(each)
    except OSError:
        pass
    time.sleep(0.002)
"""))
    bad = root / "another-token"
    bad.write_text("a secret of another run\n")
    wrong_token = subprocess.Popen([str(word) for word in on(
        2, program, data, "--steps=3", f"--rendezvous=10.99.0.1:{port}", "--rank=1", f"--ranks={RANKS}",
        f"--token-file={bad}", "--hang-timeout=4")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    job = start(by_hand, root, program, "--threads=1", data, "--steps=3", "--hang-timeout=40")
    statuses = job.wait()
    said = wrong_token.communicate(timeout=60)[1]
    stranger.wait(30)
    job.kill()
    check(statuses == [0] * RANKS, "strangers at the door do no harm", statuses, job.said())
    check(wrong_token.returncode == 5 and "rank 1 waited 4 s for rank 0 at 10.99.0.1" in said,
          "a process with another token is not let in", wrong_token.returncode, said)


def own_name(root, program):
    """Debian's /etc/hosts gives a host's own name the address 127.0.1.1, at which no other host finds rank 0."""
    named = root / "hosts"
    named.write_text("127.0.0.1 localhost\n127.0.1.1 host1\n10.99.0.2 host2\n")
    job = Job(pathlib.Path(tempfile.mkdtemp(dir=root)))
    os.environ["DTCC_TEST_JOB"] = str(job.folder)
    token = job.folder / "token"
    token.write_text(f"a secret of {job.folder}\n")
    for rank in range(RANKS):
        line = f'mount --bind {named} /etc/hosts && exec "$@"' if rank < EACH else 'exec "$@"'
        job.start(on(1 + rank // EACH, "sh", "-c", line, "named", program, "--threads=1", data, "--steps=3", "--hang-timeout=15",
                     "--rendezvous=host1:29580", f"--rank={rank}", f"--ranks={RANKS}", f"--token-file={token}"))
    statuses = job.wait()
    job.kill()
    check(statuses == [0] * RANKS, "hosts meet at a name that is a loopback address on its own host", statuses, job.said())


def nothing_listens(root, program):
    job = endless(by_hand, root, program)
    listening = "".join(subprocess.run([str(word) for word in on(host, "ss", "-Htln")], capture_output=True,
                                       text=True).stdout for host in (1, 2))
    job.kill()
    check(not listening, "nothing listens once the ranks have met", listening)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        programs = {}
        for name, options in {"dp=4": ["--mesh=dp=4", "--zero=1"],
                              "dp=2,pp=2": ["--mesh=dp=2,pp=2", "--microbatches=4"],
                              "pp=2,dp=2": ["--mesh=pp=2,dp=2", "--microbatches=4", "--zero=1"]}.items():
            programs[name] = root / f"program-{name.replace('=', '').replace(',', '-')}"
            subprocess.run([build / "bin/dtcc", model, "--bind=batch=8,seq=33", *options, "-o", programs[name]], check=True)
        same_losses(root, programs)
        own_name(root, programs["dp=4"])
        nothing_listens(root, programs["dp=4"])
        judge = conformance()
        strangers(root, programs["dp=4"])  # mostly waits
        judge()
        large = root / "large"
        subprocess.run([build / "bin/dtcc", model, "--bind=batch=256,seq=33", "--mesh=dp=4", "-o", large], check=True)
        slow_rank(root, large, by_hand)
        name = "pp=2,dp=2"

        def stopped_ranks(launches):
            for judge in [stopped_rank(root, name, programs[name], launcher, launch, victim)
                          for launcher, launch in launches.items() for victim in (1, 2)]:
                judge()
        launches = dict(launchers())
        launches.pop("torchrun", None)  # whose agents end all ranks when one does
        forgiving(lambda launches: cut_link(root, name, programs[name], launches), launches)
        forgiving(stopped_ranks, launches)
    ended()


main()
