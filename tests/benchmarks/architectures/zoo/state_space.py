# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models with state-space, convolution or linear-attention layers, alone or beside attention."""
from .languages import EXPERTS, GROUPED, HEADS, OWN, add_languages, language

add_languages(__name__, {
    "mamba2": language("Mamba2", base=OWN, hidden_size=32, num_hidden_layers=2, state_size=4, num_heads=4, head_dim=16,
                       n_groups=1, chunk_size=8),
    "lfm2": language("Lfm2", **GROUPED, layer_types=["conv", "full_attention"]),
    "granitemoehybrid": language("GraniteMoeHybrid", **GROUPED, num_local_experts=4, num_experts_per_tok=2,
                                 shared_intermediate_size=32, layer_types=["mamba", "attention"], mamba_n_heads=4,
                                 mamba_d_head=16, mamba_d_state=4, mamba_chunk_size=8),
    "zamba2": language("Zamba2", **GROUPED, n_mamba_heads=4, mamba_d_state=4, chunk_size=8,
                       layers_block_type=["mamba", "hybrid"]),
    "jamba": language("Jamba", **GROUPED, num_experts=2, num_experts_per_tok=1, attn_layer_period=2, attn_layer_offset=1,
                      expert_layer_period=2, expert_layer_offset=1, mamba_d_state=4, mamba_d_conv=4, mamba_expand=2,
                      use_mamba_kernels=False),
    "bamba": language("Bamba", **GROUPED, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=4, mamba_chunk_size=8,
                      attn_layer_indices=[1]),
    "falcon_h1": language("FalconH1", **HEADS, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=4, mamba_d_ssm=64,
                          mamba_chunk_size=8),
    "recurrent_gemma": language("RecurrentGemma", **HEADS, lru_width=32, attention_window_size=8),
    "qwen3_next": language("Qwen3Next", **HEADS, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8,
                           linear_value_head_dim=8, **EXPERTS, moe_intermediate_size=16, shared_expert_intermediate_size=16,
                           layer_types=["linear_attention", "full_attention"]),
    "mamba": language("Mamba", base=OWN, hidden_size=32, num_hidden_layers=2, state_size=4),
    "falcon_mamba": language("FalconMamba", base=OWN, hidden_size=32, num_hidden_layers=2, state_size=4),
    "rwkv": language("Rwkv", base=OWN, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, context_length=64),
    "olmo_hybrid": language("OlmoHybrid", **GROUPED, linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8,
                            linear_value_head_dim=8, layer_types=["linear_attention", "full_attention"]),
    "nemotron_h": language("NemotronH", **HEADS, layers_block_type=["mamba", "attention"], mamba_num_heads=4, mamba_head_dim=16,
                           ssm_state_size=4, n_groups=1, chunk_size=8),
})
