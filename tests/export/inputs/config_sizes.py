# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of models that dtcc-plan reads from a config.json, beside those that transformers builds from it.

    python config_sizes.py FOLDER FAMILY..      # each family in its own default sizes, without memory for its parameters
"""
import json
import subprocess
import sys

import torch
import transformers

# Sizes that the defaults of a family leave open.
GIVEN = {"deepseek_v2": {"num_experts_per_tok": 6}, "starcoder2": {"bos_token_id": 0, "eos_token_id": 0},
         "dots1": {"num_experts_per_tok": 6, "n_routed_experts": 128, "n_shared_experts": 2, "first_k_dense_replace": 1}}

for family in sys.argv[2:]:
    config = transformers.AutoConfig.for_model(family, **GIVEN.get(family, {}))
    path = f"{sys.argv[1]}/{family}.json"
    sizes = json.loads(config.to_json_string(use_diff=False))
    # Files on the Hub say this only where it is not what the family has.
    sizes.pop("tie_word_embeddings")
    with open(path, "w") as file:
        json.dump(sizes, file)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    built = sum(parameter.numel() for parameter in model.parameters())
    run = subprocess.run(["dtcc-plan", "cost", "--software=nemo", f"--transformer={path},sequence=1024", "--cluster=h100", "--batch=1", "--json"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    read = json.loads(run.stdout)["parameters"]
    print(f"{family}: {built} parameters, read as {read:.0f}, {read / built - 1:+.2%}")
    # Biases and learned positions are not among the sizes.
    assert abs(read / built - 1) < 0.015, family
