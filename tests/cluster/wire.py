# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# wire.py BUILD [RATE]: how much of the wire the collectives of four ranks on two hosts use, whose links carry RATE bits a
# second (1e9). What an all-reduce of B bytes must bring over a wire that takes both ways at once is B bytes. By hand:
#
#   ninja -C build collective-benchmark
#   python3 tests/cluster/hosts.py 2 python3 tests/cluster/wire.py build
import json, os, subprocess, sys

from jobs import EACH, RANKS, build, hosts, on

rate = float(sys.argv[2]) if len(sys.argv) > 2 else 1e9
for host in ("1", "2"):
    hosts("rate", host, f"{int(rate)}bit")
children = []
for rank in range(RANKS):
    variables = {"RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_RANK": rank % EACH, "LOCAL_WORLD_SIZE": EACH,
                 "MASTER_ADDR": "10.99.0.1", "MASTER_PORT": 29500, "TORCHELASTIC_RUN_ID": "wire"}
    children.append(subprocess.Popen([str(word) for word in on(1 + rank // EACH, build / "bin/collective-benchmark", RANKS, 1 << 20,
                                                              "all_reduce")],
                                     stdout=subprocess.PIPE if rank == 0 else None, text=True,
                                     env={**os.environ, **{name: str(value) for name, value in variables.items()}}))
for line in children[0].stdout:
    row = json.loads(line)
    seconds = row["microseconds"] * 1e-6
    print(f"all_reduce of {row['bytes'] >> 20:3} MiB: {seconds * 1e3:8.1f} ms, {8 * row['bytes'] / rate / seconds:.1%} of "
          f"{rate / 1e9:g} Gb/s; load {os.getloadavg()[0]:.1f}", flush=True)
sys.exit(max(child.wait() for child in children))
