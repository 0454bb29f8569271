# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that read one sequence and write another."""
from .languages import OWN, add_languages, language
from .registry import SENTENCES, fields, shortened

TWO_STACKS = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                  encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64)
# LongT5 makes no mask of its own while it is traced, and ProphetNet's shift of the labels reads their values.
MASKED = fields(input_ids=SENTENCES, attention_mask=shortened(1, 0), labels=SENTENCES)
SHIFTED = fields(input_ids=SENTENCES, decoder_input_ids=SENTENCES, labels=SENTENCES)

add_languages(__name__, {
    "pegasus": language("Pegasus", "ForConditionalGeneration", kind="seq2seq", base=OWN, **TWO_STACKS, pad_token_id=0,
                        decoder_start_token_id=0),
    "marian": language("Marian", "MTModel", kind="seq2seq", base=OWN, **TWO_STACKS, pad_token_id=0,
                       decoder_start_token_id=0),
    "blenderbot": language("Blenderbot", "ForConditionalGeneration", kind="seq2seq", base=OWN, **TWO_STACKS, pad_token_id=0),
    "umt5": language("UMT5", "ForConditionalGeneration", kind="seq2seq", base=OWN, d_model=32, d_kv=8, d_ff=64,
                     num_layers=2, num_heads=4, pad_token_id=0, decoder_start_token_id=0),
    "t5": language("T5", "ForConditionalGeneration", kind="seq2seq", base=OWN, d_model=32, d_kv=8, d_ff=64,
                   num_layers=2, num_heads=4, pad_token_id=0, decoder_start_token_id=0),
    "bart": language("Bart", "ForConditionalGeneration", kind="seq2seq", base=OWN, **TWO_STACKS, pad_token_id=1,
                     bos_token_id=0, eos_token_id=2, decoder_start_token_id=2),
    "mbart": language("MBart", "ForConditionalGeneration", kind="seq2seq", base=OWN, **TWO_STACKS, pad_token_id=1),
    "m2m_100": language("M2M100", "ForConditionalGeneration", kind="seq2seq", base=OWN, **TWO_STACKS, pad_token_id=1,
                        decoder_start_token_id=2, encoder_layerdrop=0.0, decoder_layerdrop=0.0),
    "switch_transformers": language("SwitchTransformers", "ForConditionalGeneration", kind=MASKED, base=OWN, d_model=32, d_kv=8,
                                    d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4, num_experts=4, expert_capacity=64,
                                    num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, pad_token_id=0,
                                    decoder_start_token_id=0, router_jitter_noise=0.0),
    "longt5": language("LongT5", "ForConditionalGeneration", kind=MASKED, base=OWN, d_model=32, d_kv=8, d_ff=64, num_layers=2,
                       num_heads=4, pad_token_id=0, decoder_start_token_id=0, local_radius=3),
    "led": language("LED", "ForConditionalGeneration", kind="seq2seq", base=OWN, d_model=32, encoder_layers=1, decoder_layers=1,
                    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
                    attention_window=8, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64, pad_token_id=1,
                    onnx_export=True),
    "prophetnet": language("ProphetNet", "ForConditionalGeneration", kind=SHIFTED, base=OWN, hidden_size=32,
                           encoder_ffn_dim=64, decoder_ffn_dim=64, num_encoder_layers=1, num_decoder_layers=1,
                           num_encoder_attention_heads=4, num_decoder_attention_heads=4, max_position_embeddings=64, ngram=2,
                           disable_ngram_loss=True),
}, untraceable={
    "switch_transformers": "forward loops over the experts that the data pick, and over the tokens of each (nonzero, where): how "
                           "many there are is known at run time alone",
    "led": "forward asks the attention mask whether a token attends to all others (any().item()) and branches on the answer",
})
