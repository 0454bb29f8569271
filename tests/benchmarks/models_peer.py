# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One network of models_networks.py under PyTorch, which makes a training step for each line that it reads.

Started by models.py. Prints "ready", then for each step a JSON line: its loss, seconds, and seconds of a processor.

    python models_peer.py NETWORK BATCH SEQ THREADS [--compile]
"""
import json
import sys
import time

import torch

import models_networks
from models_networks import torch_train


def main():
    name, batch, seq, threads = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    task = models_networks.build(name, seq)
    optimizer = torch_train.make_optimizer(task, "fused")
    if "--compile" in sys.argv:
        task = torch.compile(task)
    print("ready", flush=True)
    for step, _ in enumerate(sys.stdin):
        inputs, targets = models_networks.batch(name, batch, seq, step)
        began, processor = time.perf_counter(), time.process_time()
        loss = task(inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(json.dumps({"loss": loss.item(), "seconds": time.perf_counter() - began,
                          "processor": time.process_time() - processor}), flush=True)


if __name__ == "__main__":
    main()
