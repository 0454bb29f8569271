# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# end_mpi_peer.py SIGNAL LAUNCHER PROGRAM [arguments]: processes of MPI that train for ever. When they have trained a step,
# rank 1 gets the signal ("kill", "term", or "-" for none: it fails by itself). Prints how the launcher ended, what errors
# were said, and how many of the ranks' processes are still there ten seconds later.
import os, pathlib, signal, subprocess, sys, tempfile, time

wanted, command = sys.argv[1], sys.argv[2:]


def ranks_of(job):
    """Process numbers by rank, of those that have the variable JOB and are no zombies."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        rank = [each.partition("=")[2] for each in variables if each.startswith("OMPI_COMM_WORLD_RANK=")]
        if rank and "DTCC_TEST_JOB=" + job in variables and state != "Z":
            found[int(rank[0])] = int(process.name)
    return found


with tempfile.TemporaryDirectory() as folder:
    metrics = os.path.join(folder, "metrics")
    launcher = subprocess.Popen(command + ["--steps=1000000000", "--metrics=" + metrics], text=True,
                                env=dict(os.environ, DTCC_TEST_JOB=folder), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
    while launcher.poll() is None and not (os.path.exists(metrics) and '"loss"' in open(metrics).read()):
        time.sleep(0.05)
    if wanted != "-":
        os.kill(ranks_of(folder)[1], {"kill": signal.SIGKILL, "term": signal.SIGTERM}[wanted])
    said = launcher.communicate()[1]
    print("launcher: status %d" % launcher.returncode)
    print("".join(line + "\n" for line in said.splitlines() if line.startswith("error")), end="")
    for _ in range(100):
        if not (left := ranks_of(folder)):
            break
        time.sleep(0.1)
    print("processes left: %d" % len(left))
    for process in left.values():
        os.kill(process, signal.SIGKILL)
