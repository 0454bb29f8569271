# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The launchers that start a program's ranks on two hosts of hosts.py: plain options, torchrun, mpirun.
import os, pathlib, sys, tempfile

from jobs import EACH, HOSTS, RANKS, Job, build, here, on, torchrun

plugin = build / "lib/libdtcc_mpi.so"


def by_hand(job, port, arguments, others={}, each=EACH):
    """`others` holds the arguments of ranks that have their own, `each` is the number of ranks of a host."""
    ranks = each * HOSTS
    token = job.folder / "token"
    token.write_text(f"a secret of {job.folder}\n")
    for rank in range(ranks):
        job.start(on(1 + rank // each, *others.get(rank, arguments), f"--rendezvous=10.99.0.1:{port}", f"--rank={rank}",
                     f"--ranks={ranks}", f"--token-file={token}"))


def by_torchrun(job, port, arguments):
    for host in (0, 1):
        job.start(on(1 + host, torchrun, "--no-python", "--nnodes=2", f"--node-rank={host}", f"--nproc-per-node={EACH}",
                     "--master-addr=10.99.0.1", f"--master-port={port}", *arguments))


def by_mpirun(job, port, arguments):
    agent = job.folder / "agent"
    agent.write_text(f'#!/bin/sh\nhost=$1; shift\nexec {sys.executable} {here}/hosts.py on "$host" sh -c "$*"\n')
    agent.chmod(0o755)
    options = {"plm_rsh_agent": agent, "btl_tcp_if_include": "10.99.0.0/24", "oob_tcp_if_include": "10.99.0.0/24",
               "mpi_yield_when_idle": 1, "btl": "self,vader,tcp", "pml": "ob1"}
    job.start(on(1, "mpirun", "--host", f"10.99.0.1:{EACH},10.99.0.2:{EACH}", "--bind-to", "none", "-n", RANKS,
                 *[word for name, value in options.items() for word in ("--mca", name, value)],
                 "-x", "DTCC_TEST_JOB", "-x", "DTCC_MPI_PLUGIN", *arguments),
              OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", DTCC_MPI_PLUGIN=str(plugin))


def launchers():
    yield "plain options", by_hand
    if torchrun.exists():
        yield "torchrun", by_torchrun
    if plugin.exists() and any((pathlib.Path(each) / "mpirun").exists() for each in os.environ["PATH"].split(":")):
        yield "mpirun", by_mpirun


def start(launcher, root, program, *options):
    job = Job(pathlib.Path(tempfile.mkdtemp(dir=root)))
    job.program = str(program)
    os.environ["DTCC_TEST_JOB"] = str(job.folder)
    start.port += 16
    launcher(job, start.port, [program, *options])
    return job


start.port = 29600
