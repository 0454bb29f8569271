# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A Slurm of its own on hosts of hosts.py: munge, a controller on host 1, and a slurmd on each host. Nothing of it lies
# outside /run, which is the namespaces' own.
import os, pathlib, shutil, subprocess, sys, time

from jobs import on

TOOLS = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "scontrol", "scancel")
room = pathlib.Path("/run/slurm")


def missing():
    """What this system lacks for it."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    return [tool for tool in TOOLS if not shutil.which(tool)] + ([] if os.geteuid() == 0 else ["root"])


def start(count):
    """Daemons of `count` hosts, once every one of them takes jobs."""
    for name in ["state", "cgroup", *[f"host{host}" for host in range(1, count + 1)]]:
        (room / name).mkdir(parents=True)
    (room / "key").write_bytes(os.urandom(1024))
    (room / "key").chmod(0o600)
    conf = room / "slurm.conf"
    # Without cred_expire a requeued job waits for two minutes.
    conf.write_text(f"""ClusterName=hosts
SlurmctldHost=host1(10.99.0.1)
AuthInfo=socket={room}/munge,cred_expire=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={room}/state
SlurmdSpoolDir={room}/%n
SlurmctldPidFile={room}/slurmctld.pid
SlurmdPidFile={room}/%n.pid
SlurmdParameters=config_overrides
SelectType=select/linear
KillWait=5
SchedulerParameters=sched_interval=1
NodeName=host[1-{count}] NodeAddr=10.99.0.[1-{count}] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
""")
    (room / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={room}/cgroup\n")
    os.environ["SLURM_CONF"] = str(conf)
    with open(room / "log", "w") as log:
        subprocess.run(["munged", "--force", f"--socket={room}/munge", f"--key-file={room}/key",
                        f"--pid-file={room}/munged.pid", f"--log-file={room}/munged.log", f"--seed-file={room}/seed"],
                       check=True, stderr=log)
        daemons = [subprocess.Popen(on(1, "slurmctld", "-D", "-c"), stdout=log, stderr=log)]
        for host in range(1, count + 1):
            daemons.append(subprocess.Popen(on(host, "slurmd", "-D", "-N", f"host{host}"), stdout=log, stderr=log))
    for _ in range(120):
        state = subprocess.run(on(1, "sinfo", "-h", "-o", "%T %D"), capture_output=True, text=True).stdout.strip()
        if state == f"idle {count}":
            return daemons
        time.sleep(0.25)
    sys.exit(f"Slurm does not start: {state}\n" + (room / "log").read_text())
