# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One network of ../shared/peers under PyTorch, which makes a training step for each line that it reads.

Started by models.py. Prints "ready", then for each step a JSON line: its loss, seconds, and seconds of a processor.

    python models_peer.py NETWORK BATCH SEQ THREADS [--compile]
"""
import json
import os
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "shared", "peers"))
import torch_train  # noqa: E402


def main():
    name, batch, seq, threads = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    torch.manual_seed(torch_train.SEED)
    task = torch_train.Task(torch_train.build_network(name, seq)).train()
    optimizer = torch_train.make_optimizer(task, "fused")
    if "--compile" in sys.argv:
        task = torch.compile(task)
    print("ready", flush=True)
    for step, _ in enumerate(sys.stdin):
        inputs, targets = torch_train.make_batch(name, batch, seq, step)
        began, processor = time.perf_counter(), time.process_time()
        loss = task(inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(json.dumps({"loss": loss.item(), "seconds": time.perf_counter() - began,
                          "processor": time.process_time() - processor}), flush=True)


if __name__ == "__main__":
    main()
