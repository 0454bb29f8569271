# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wide_experts.py FILE: exports a Mixtral within 7 GiB of address space. Its rows' copies of the experts' weights are 6.4 GB,
and their gradients as much."""
import resource
import sys

import torch
from transformers import MixtralConfig, MixtralForCausalLM

import dtcc_export
from dtcc_export import compare

for side, (rows, columns) in enumerate((((3, 5), (5, 2)), ((2, 3), (3, 5)))):
    shape, other = (rows, columns) if side == 0 else (columns, rows)
    matrices, x = torch.randn(4, *shape, dtype=torch.float64), torch.randn(7, *other, dtype=torch.float64)
    picked = torch.tensor([3, 0, 1, 1, 3, 0, 3])
    gathered = matrices[picked]
    wanted = torch.bmm(gathered, x) if side == 0 else torch.bmm(x, gathered)
    torch.testing.assert_close(compare.picked_product(matrices, picked, x, side), wanted)

resource.setrlimit(resource.RLIMIT_AS, (7 << 30, 7 << 30))
model = MixtralForCausalLM(MixtralConfig(
    num_hidden_layers=1, hidden_size=256, intermediate_size=512, num_attention_heads=4, num_key_value_heads=2,
    num_local_experts=4, num_experts_per_tok=2, vocab_size=64, max_position_embeddings=512, use_cache=False))
ids = torch.randint(0, 64, (4, 512))
dtcc_export.export(model, {"input_ids": ids, "labels": ids}, sys.argv[1])
