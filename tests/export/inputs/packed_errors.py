# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses of packed sequences that the export warns of or refuses, each with what it says: packed_errors.py FOLDER"""
import os
import sys
import warnings

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import dtcc_export


class Model(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.use, self.layers = use, nn.GRU(3, 3, batch_first=True)

    def forward(self, x, lengths):
        packed, _ = self.layers(pack_padded_sequence(x, lengths, True, enforce_sorted=False))
        return self.use(packed).square().mean()


USES = {
    "cut": lambda packed: pad_packed_sequence(packed, batch_first=True)[0],
    "data": lambda packed: packed.data,
    "short": lambda packed: pad_packed_sequence(packed, batch_first=True, total_length=4)[0],
    "whole": lambda packed: pad_packed_sequence(packed, batch_first=True, total_length=5)[0],
}

for name, use in USES.items():
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", dtcc_export.ExportWarning)
        try:
            dtcc_export.export(Model(use), {"x": torch.rand(2, 5, 3), "lengths": torch.tensor([5, 3])},
                               os.path.join(sys.argv[1], name + ".onnx"))
            said = "exported"
        except dtcc_export.ExportError as error:
            said = f"refused: {error}"
    own = [str(each.message) for each in warned if issubclass(each.category, dtcc_export.ExportWarning)]
    print(f"{name}: {said}", *own, sep="; ")
