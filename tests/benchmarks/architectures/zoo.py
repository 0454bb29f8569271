# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of many architectures, without dropout: MODELS, name -> (function that makes it, what it takes).

What it takes: "causal" (ids that are their own labels), "seq2seq" (ids and other labels), "tokens" (ids; logits that are
compared with labels), "image", "pair" (ids and an image; the loss compares each of a batch with all), "speech" (features
of sound, and labels).
"""
import torch
import torch.nn.functional as F
import torchvision
import transformers
from torch import nn

WORDS = 61
MODELS = {}


def add(kind, name, make):
    MODELS[name] = make, kind


# transformers ---------------------------------------------------------------------------------------------------------

SIZES = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64, use_cache=False, bos_token_id=0, eos_token_id=0, pad_token_id=None)
DROPOUTS = ("attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout", "dropout_rate",
            "attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout", "activation_dropout",
            "resid_dropout", "embd_dropout", "classifier_dropout_prob", "layerdrop")


def language(family, head="ForCausalLM", config="Config", kind="causal", base=SIZES, **sizes):
    """A model of transformers; head and config are the ends of its classes' names."""
    def make():
        settings = getattr(transformers, family + config)(**{**base, **sizes})
        for field in DROPOUTS:
            if isinstance(getattr(settings, field, None), (int, float)):
                setattr(settings, field, 0.0)
        return getattr(transformers, family + head)(settings)
    return kind, make


GROUPED = dict(num_key_value_heads=2)
HEADS = dict(num_key_value_heads=2, head_dim=8)
WINDOW = dict(sliding_window=8)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2)
OWN = dict(vocab_size=WORDS, use_cache=False)
TWO_STACKS = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                  encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64)

for name, (kind, make) in {
    "qwen2": language("Qwen2", **GROUPED),
    "qwen3": language("Qwen3", **HEADS),
    "mistral": language("Mistral", **GROUPED, **WINDOW),
    "gemma": language("Gemma", num_key_value_heads=1, head_dim=8),
    "gemma2": language("Gemma2", **HEADS, **WINDOW),
    "gemma3": language("Gemma3", config="TextConfig", **HEADS, **WINDOW),
    "phi": language("Phi"),
    "phi3": language("Phi3", **GROUPED),
    "gpt_neox": language("GPTNeoX"),
    "gptj": language("GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=8, n_positions=64),
    "gpt_neo": language("GPTNeo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=8),
    "opt": language("OPT", ffn_dim=64, word_embed_proj_dim=32, pad_token_id=1),
    "bloom": language("Bloom", n_layer=2, n_head=4),
    "falcon": language("Falcon", alibi=False, multi_query=True, new_decoder_architecture=False),
    "stablelm": language("StableLm", num_key_value_heads=4),
    "olmo2": language("Olmo2", **GROUPED),
    "granite": language("Granite", **GROUPED),
    "starcoder2": language("Starcoder2", **GROUPED),
    "cohere": language("Cohere", **GROUPED),
    "smollm3": language("SmolLM3", **GROUPED),
    "qwen3_moe": language("Qwen3Moe", **HEADS, **EXPERTS, moe_intermediate_size=32, norm_topk_prob=True),
    "olmoe": language("Olmoe", **GROUPED, **EXPERTS),
    "qwen2_moe": language("Qwen2Moe", **GROUPED, **EXPERTS, moe_intermediate_size=32, shared_expert_intermediate_size=32),
    "granitemoe": language("GraniteMoe", **GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "gpt_oss": language("GptOss", **HEADS, **WINDOW, num_local_experts=4, num_experts_per_tok=2),
    "deepseek_v3": language("DeepseekV3", n_routed_experts=8, num_experts_per_tok=2, n_group=4, topk_group=2,
                            n_shared_experts=1, moe_intermediate_size=16, first_k_dense_replace=1, q_lora_rank=16,
                            kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
                            num_key_value_heads=4),
    "mamba2": language("Mamba2", base=OWN, hidden_size=32, num_hidden_layers=2, state_size=4, num_heads=4, head_dim=16,
                       n_groups=1, chunk_size=8),
    "minimax": language("MiniMax", **GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "glm": language("Glm", **HEADS),
    "glm4": language("Glm4", **HEADS),
    "cohere2": language("Cohere2", **GROUPED, **WINDOW),
    "nemotron": language("Nemotron", **GROUPED),
    "helium": language("Helium", **HEADS),
    "olmo": language("Olmo", **GROUPED),
    "mpt": language("Mpt", base=OWN, d_model=32, n_heads=4, n_layers=2, max_seq_len=64),
    "gpt_bigcode": language("GPTBigCode", base=OWN, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "roberta": language("Roberta", "ForMaskedLM", pad_token_id=1, type_vocab_size=1),
    "distilbert": language("DistilBert", "ForMaskedLM", dim=32, hidden_dim=64, n_layers=2, n_heads=4, pad_token_id=1),
    "electra": language("Electra", "ForMaskedLM", embedding_size=32, pad_token_id=1),
    "modernbert": language("ModernBert", "ForMaskedLM", pad_token_id=1, cls_token_id=2, sep_token_id=3,
                           local_attention=8),
    "albert": language("Albert", "ForMaskedLM", embedding_size=16, pad_token_id=1),
    "deberta": language("DebertaV2", "ForMaskedLM", relative_attention=True, pos_att_type=["p2c", "c2p"], pad_token_id=1),
    "esm": language("Esm", "ForMaskedLM", pad_token_id=1, mask_token_id=3, position_embedding_type="rotary"),
    "ernie4_5": language("Ernie4_5", **GROUPED),
    "ernie4_5_moe": language("Ernie4_5_Moe", **GROUPED, moe_num_experts=4, moe_k=2, moe_intermediate_size=32,
                             moe_layer_start_index=1),
    "exaone4": language("Exaone4", **GROUPED, **WINDOW),
    "hunyuan": language("HunYuanDenseV1", **HEADS),
    "arcee": language("Arcee", **GROUPED),
    "apertus": language("Apertus", **GROUPED),
    "nanochat": language("NanoChat", **GROUPED),
    "persimmon": language("Persimmon"),
    "codegen": language("CodeGen", base=OWN, n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=64, n_ctx=64),
    "glm4_moe": language("Glm4Moe", **HEADS, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                         n_group=1, topk_group=1, first_k_dense_replace=1, n_shared_experts=1),
    "lfm2": language("Lfm2", **GROUPED, layer_types=["conv", "full_attention"]),
    "dots1": language("Dots1", **HEADS, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=16,
                      n_group=1, topk_group=1, first_k_dense_replace=1),
    "flex_olmo": language("FlexOlmo", **GROUPED, **EXPERTS),
    "hunyuan_moe": language("HunYuanMoEV1", **HEADS, num_experts=4, moe_topk=2),
    "olmo3": language("Olmo3", **GROUPED, **WINDOW),
    "vaultgemma": language("VaultGemma", **HEADS, **WINDOW),
    "ministral": language("Ministral", **HEADS, **WINDOW),
    "bitnet": language("BitNet", **GROUPED),
    "doge": language("Doge", **GROUPED),
    "roformer": language("RoFormer", "ForMaskedLM", pad_token_id=1, embedding_size=32),
    "megatron_bert": language("MegatronBert", "ForMaskedLM", pad_token_id=1),
    "squeezebert": language("SqueezeBert", "ForMaskedLM", pad_token_id=1, embedding_size=32),
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
}.items():
    add(kind, name, make)



class Sight(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(pixel_values=x).logits


def sight(family, **sizes):
    """A classifier of images of transformers, ten classes."""
    def make():
        config = getattr(transformers, family + "Config")(**{**dict(
            hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8,
            num_labels=10, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), **sizes})
        for field in ("drop_path_rate", "dropout", "classifier_dropout_prob"):
            if hasattr(config, field):
                setattr(config, field, 0.0)
        return Sight(getattr(transformers, family + "ForImageClassification")(config))
    return make


STAGES = dict(num_encoder_blocks=2, depths=[1, 1], hidden_sizes=[8, 16], strides=[4, 2], num_attention_heads=[1, 2])
for family, sizes in {
    "DeiT": {}, "Dinov2": {}, "Dinov2WithRegisters": {}, "Beit": {}, "IJepa": {}, "ViTMSN": {},
    "ConvNextV2": dict(num_stages=2, hidden_sizes=[8, 16], depths=[1, 1]),
    "PoolFormer": dict(hidden_sizes=[8, 16], depths=[1, 1], num_encoder_blocks=2, strides=[4, 2], patch_sizes=[7, 3],
                       padding=[2, 1], mlp_ratio=2.0),
    "Segformer": dict(**STAGES, sr_ratios=[2, 1], patch_sizes=[7, 3], mlp_ratios=[2, 2], decoder_hidden_size=16),
    "Pvt": dict(**STAGES, sequence_reduction_ratios=[2, 1], patch_sizes=[4, 2], mlp_ratios=[2, 2]),
    "PvtV2": dict(**STAGES, sr_ratios=[2, 1], patch_sizes=[7, 3], mlp_ratios=[2, 2]),
    "FocalNet": dict(embed_dim=16, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3]),
    "MobileViT": dict(hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32]),
}.items():
    add("image", family.lower(), sight(family, **sizes))

# torchvision: ten classes, images of 32 x 32 --------------------------------------------------------------------------

vision = torchvision.models
add("image", "convnext", lambda: vision.ConvNeXt(
    [vision.convnext.CNBlockConfig(16, 32, 2), vision.convnext.CNBlockConfig(32, None, 2)], stochastic_depth_prob=0.0,
    num_classes=10))
add("image", "mobilenet_v2", lambda: vision.MobileNetV2(
    num_classes=10, dropout=0.0, inverted_residual_setting=[[1, 8, 1, 1], [6, 16, 2, 2]]))
add("image", "efficientnet", lambda: vision.EfficientNet(
    [vision.efficientnet.MBConvConfig(1, 3, 1, 16, 8, 1, 1.0, 1.0),
     vision.efficientnet.MBConvConfig(4, 3, 2, 8, 16, 2, 1.0, 1.0)], dropout=0.0, stochastic_depth_prob=0.0, num_classes=10))
add("image", "vgg", lambda: vision.VGG(
    vision.vgg.make_layers([8, "M", 512, "M"], batch_norm=True), num_classes=10, dropout=0.0))
add("image", "densenet", lambda: vision.DenseNet(
    growth_rate=8, block_config=(2, 2), num_init_features=16, num_classes=10))
add("image", "swin", lambda: vision.SwinTransformer(
    [2, 2], 24, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10))
add("image", "shufflenet", lambda: vision.ShuffleNetV2([1, 1, 1], [24, 16, 32, 64, 64], num_classes=10))
add("image", "regnet", lambda: vision.RegNet(vision.regnet.BlockParams.from_init_params(
    depth=4, w_0=8, w_a=8.0, w_m=2.0, group_width=8, se_ratio=0.25), num_classes=10))


# By hand --------------------------------------------------------------------------------------------------------------


class Unet(nn.Module):
    """Group norms, and a way down and up again."""

    def __init__(self, up):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.down, self.up, self.last = nn.Conv2d(8, 16, 3, 2, 1), up, nn.Conv2d(16, 10, 1)

    def forward(self, x):
        fine = F.silu(self.norm(self.first(x)))
        return self.last(torch.cat([fine, self.up(F.silu(self.down(fine)))], 1)).mean((2, 3))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 24, 8, 8), nn.LayerNorm(24)
        self.places, self.channels, self.head = nn.Linear(16, 16), nn.Linear(24, 24), nn.Linear(24, 10)

    def forward(self, x):
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = y + F.gelu(self.places(self.norm(y).transpose(1, 2))).transpose(1, 2)
        return self.head((y + F.gelu(self.channels(y))).mean(1))


class NanoGpt(nn.Module):
    """Attention written out, with a stored mask."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 32), nn.Embedding(64, 32)
        self.mix, self.out, self.norm = nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32)
        self.mlp = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32))
        self.head = nn.Linear(32, WORDS, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def forward(self, input_ids):
        batch, length = input_ids.shape
        x = self.words(input_ids) + self.places(torch.arange(length))
        q, k, v = (t.view(batch, length, 4, 8).transpose(1, 2) for t in self.mix(self.norm(x)).split(32, 2))
        scores = (q @ k.transpose(-2, -1)) * 8 ** -0.5
        shares = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf")).softmax(-1)
        x = x + self.out((shares @ v).transpose(1, 2).reshape(batch, length, 32))
        return self.head(x + self.mlp(x))


class Encoder(nn.Module):
    """torch.nn.TransformerEncoder."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.words, self.head = nn.Embedding(WORDS, 32), nn.Linear(32, WORDS)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, input_ids):
        return self.head(self.layers(self.words(input_ids)))


class Recurrent(nn.Module):
    def __init__(self, kind, **settings):
        super().__init__()
        self.words, self.layers = nn.Embedding(WORDS, 32), kind(32, 16, 2, batch_first=True, bidirectional=True, **settings)
        self.head = nn.Linear(32, WORDS)

    def forward(self, input_ids):
        return self.head(self.layers(self.words(input_ids))[0])


class Loss(nn.Module):
    """A model of transformers that says its loss, by the names of its inputs."""

    def __init__(self, model, **settings):
        super().__init__()
        self.model, self.settings = model, settings


class Pair(Loss):
    def forward(self, input_ids, x):
        return self.model(input_ids=input_ids, pixel_values=x, **self.settings).loss


class Speech(Loss):
    def forward(self, sound, labels):
        return self.model(input_features=sound, labels=labels, **self.settings).loss


def two_towers(family):
    """CLIP and its like: a text and an image, brought together."""
    words = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                 max_position_embeddings=16, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    sights = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)
    config = getattr(transformers, family + "Config")
    return Pair(getattr(transformers, family + "Model")(config(text_config=words, vision_config=sights)), return_loss=True)


def whisper():
    return Speech(transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=WORDS, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=16, max_target_positions=16,
        dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None, use_cache=False)))


add("pair", "clip", lambda: two_towers("CLIP"))
add("pair", "siglip", lambda: two_towers("Siglip"))
add("speech", "whisper", whisper)
add("image", "unet", lambda: Unet(nn.ConvTranspose2d(16, 8, 2, 2)))
add("image", "unet_overlap", lambda: Unet(nn.ConvTranspose2d(16, 8, 4, 2, 1)))
add("image", "unet_nearest", lambda: Unet(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(16, 8, 3, padding=1))))
add("image", "unet_bilinear", lambda: Unet(nn.Sequential(
    nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(16, 8, 3, padding=1))))
add("image", "mixer", Mixer)
add("tokens", "rnn", lambda: Recurrent(nn.RNN, nonlinearity="relu"))
add("tokens", "gru", lambda: Recurrent(nn.GRU))
add("tokens", "lstm", lambda: Recurrent(nn.LSTM))
add("tokens", "nanogpt", NanoGpt)
add("tokens", "torch_encoder", Encoder)
