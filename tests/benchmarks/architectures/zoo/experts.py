# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models whose layers route tokens to experts."""
from .languages import EXPERTS, GROUPED, HEADS, WINDOW, add_languages, language

add_languages(__name__, {
    "qwen3_moe": language("Qwen3Moe", **HEADS, **EXPERTS, moe_intermediate_size=32, norm_topk_prob=True),
    "olmoe": language("Olmoe", **GROUPED, **EXPERTS),
    "qwen2_moe": language("Qwen2Moe", **GROUPED, **EXPERTS, moe_intermediate_size=32, shared_expert_intermediate_size=32),
    "granitemoe": language("GraniteMoe", **GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "gpt_oss": language("GptOss", **HEADS, **WINDOW, num_local_experts=4, num_experts_per_tok=2),
    "deepseek_v3": language("DeepseekV3", n_routed_experts=8, num_experts_per_tok=2, n_group=4, topk_group=2,
                            n_shared_experts=1, moe_intermediate_size=16, first_k_dense_replace=1, q_lora_rank=16,
                            kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
                            num_key_value_heads=4),
    "minimax": language("MiniMax", **GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "ernie4_5_moe": language("Ernie4_5_Moe", **GROUPED, moe_num_experts=4, moe_k=2, moe_intermediate_size=32,
                             moe_layer_start_index=1),
    "glm4_moe": language("Glm4Moe", **HEADS, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                         n_group=1, topk_group=1, first_k_dense_replace=1, n_shared_experts=1),
    "dots1": language("Dots1", **HEADS, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=16,
                      n_group=1, topk_group=1, first_k_dense_replace=1),
    "flex_olmo": language("FlexOlmo", **GROUPED, **EXPERTS),
    "hunyuan_moe": language("HunYuanMoEV1", **HEADS, num_experts=4, moe_topk=2),
    "phimoe": language("Phimoe", **GROUPED, num_local_experts=4, num_experts_per_tok=2, router_jitter_noise=0.0),
    "deepseek_v2": language("DeepseekV2", n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, n_shared_experts=1,
                            moe_intermediate_size=16, first_k_dense_replace=1, q_lora_rank=16, kv_lora_rank=16,
                            qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, num_key_value_heads=4),
    "llama4": language("Llama4", config="TextConfig", **HEADS, num_local_experts=4, num_experts_per_tok=1, intermediate_size_mlp=64,
                       attention_chunk_size=8),
    "minimax_m2": language("MiniMaxM2", **HEADS, num_local_experts=4, num_experts_per_tok=2),
    "glm4_moe_lite": language("Glm4MoeLite", n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, n_group=1,
                              topk_group=1, n_shared_experts=1, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8,
                              qk_nope_head_dim=8, v_head_dim=8, num_key_value_heads=4),
    "jetmoe": language("JetMoe", kv_channels=8, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2),
    "longcat_flash": language("LongcatFlash", num_layers=1, ffn_hidden_size=64, expert_ffn_hidden_size=16, n_routed_experts=4, moe_topk=2,
                              zero_expert_num=2, head_dim=8, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
                              v_head_dim=8, num_key_value_heads=4),
}, untraceable={
    "longcat_flash": "forward loops over the experts that the data pick, and over the tokens of each (nonzero, where): how many "
                     "there are is known at run time alone",
})
