# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data of expert-overflow.mlir of which every expert gets as many rows: even_rows.py WEIGHTS FOLDER

Token t prefers the experts t and t + 1, counted round, by the router of WEIGHTS.
"""
import json
import pathlib
import struct
import sys

import numpy as np

data = pathlib.Path(sys.argv[1]).read_bytes()
size, = struct.unpack("<Q", data[:8])
row = json.loads(data[8:8 + size])["router.weight"]
router = np.frombuffer(data[8 + size:][slice(*row["data_offsets"])], "<f4").reshape(row["shape"]).astype(np.float64)
wanted = np.zeros((24, 4, 4))
for token in range(4):
    wanted[:, token, token] = 4
    wanted[:, token, (token + 1) % 4] = 3
folder = pathlib.Path(sys.argv[2])
folder.mkdir()
np.save(folder / "x.npy", (wanted @ np.linalg.inv(router @ router.T) @ router).astype(np.float32))
np.save(folder / "labels.npy", np.arange(96).reshape(24, 4) % 5)
