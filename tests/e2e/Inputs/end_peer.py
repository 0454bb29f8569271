# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# end_peer.py SIGNAL0 SIGNAL1 PROGRAM [arguments]: two processes with torchrun's variables that train for ever. When they
# have trained a step, each gets its signals ("kill", "stop,term", or "-" for none), rank 1 first. Prints how each ended
# and what it said; one that was stopped is killed in the end.
import os, signal, subprocess, sys, tempfile, time

wanted, command = [each.split(",") for each in sys.argv[1:3]], sys.argv[3:]
with tempfile.TemporaryDirectory() as folder:
    metrics = os.path.join(folder, "metrics")
    ranks = []
    for rank in range(2):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2",
                           MASTER_PORT="29518", TORCHELASTIC_RUN_ID=folder)
        ranks.append(subprocess.Popen(command + ["--steps=1000000000", "--metrics=" + metrics], env=environment,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    try:
        while not (os.path.exists(metrics) and '"loss"' in open(metrics).read()):
            if any(rank.poll() is not None for rank in ranks):
                break
            time.sleep(0.05)
        names = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}
        for rank in (1, 0):
            for name in wanted[rank]:
                if name in names:
                    ranks[rank].send_signal(names[name])
        for rank in (0, 1):
            if "stop" in wanted[rank]:
                continue
            said = ranks[rank].communicate(timeout=100)[1].replace("pid %d" % ranks[1 - rank].pid, "pid PEER")
            print("rank %d: status %d" % (rank, ranks[rank].returncode))
            print("".join(line + "\n" for line in said.splitlines() if "error" in line), end="")
    finally:
        for rank in ranks:
            rank.kill()
