# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models that fill in masked tokens."""
import numpy

from .languages import WORDS, add_languages, language
from .registry import SENTENCES, fields, shortened

# Nystromformer's landmarks fit no mask of pairs, which transformers makes of a mask of tokens while it is traced.
OF_KEYS = fields(input_ids=SENTENCES, attention_mask=shortened(numpy.float32(0), numpy.float32(-1e4), 1, 1), labels=SENTENCES)

add_languages(__name__, {
    "roberta": language("Roberta", "ForMaskedLM", pad_token_id=1, type_vocab_size=1),
    "distilbert": language("DistilBert", "ForMaskedLM", dim=32, hidden_dim=64, n_layers=2, n_heads=4, pad_token_id=1),
    "electra": language("Electra", "ForMaskedLM", embedding_size=32, pad_token_id=1),
    "modernbert": language("ModernBert", "ForMaskedLM", pad_token_id=1, cls_token_id=2, sep_token_id=3,
                           local_attention=8),
    "albert": language("Albert", "ForMaskedLM", embedding_size=16, pad_token_id=1),
    "deberta": language("DebertaV2", "ForMaskedLM", relative_attention=True, pos_att_type=["p2c", "c2p"], pad_token_id=1),
    "esm": language("Esm", "ForMaskedLM", pad_token_id=1, mask_token_id=3, position_embedding_type="rotary"),
    "roformer": language("RoFormer", "ForMaskedLM", pad_token_id=1, embedding_size=32),
    "megatron_bert": language("MegatronBert", "ForMaskedLM", pad_token_id=1),
    "squeezebert": language("SqueezeBert", "ForMaskedLM", pad_token_id=1, embedding_size=32),
    "rembert": language("RemBert", "ForMaskedLM", input_embedding_size=16, output_embedding_size=32, pad_token_id=1),
    "mpnet": language("MPNet", "ForMaskedLM", pad_token_id=1),
    "mobilebert": language("MobileBert", "ForMaskedLM", pad_token_id=1, embedding_size=16, intra_bottleneck_size=16,
                           true_hidden_size=16, num_feedforward_networks=2),
    "convbert": language("ConvBert", "ForMaskedLM", pad_token_id=1, embedding_size=32, head_ratio=2, conv_kernel_size=3),
    "fnet": language("FNet", "ForMaskedLM", pad_token_id=1),
    "nystromformer": language("Nystromformer", "ForMaskedLM", kind=OF_KEYS, pad_token_id=1, num_landmarks=4, segment_means_seq_len=16),
    "funnel": language("Funnel", "ForMaskedLM", base=dict(vocab_size=WORDS), d_model=32, n_head=4, d_head=8, d_inner=64,
                       block_sizes=[1, 1]),
    "xlnet": language("XLNet", "LMHeadModel", base=dict(vocab_size=WORDS), d_model=32, n_layer=2, n_head=4, d_inner=64),
})
