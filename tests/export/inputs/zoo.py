# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models that the export script is tried on, each as python -m dtcc_export takes it."""
import torch
import torch.nn.functional as F


def tokens(rows=2, length=16, vocabulary=61):
    return torch.randint(2, vocabulary, (rows, length), generator=torch.Generator().manual_seed(1))


class Mlp(torch.nn.Module):
    """Equal biases, a zero bias, a parameter that the loss does not see, a frozen one, and two dropouts of one value."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(7, 12)
        self.second = torch.nn.Linear(12, 12)
        self.third = torch.nn.Linear(12, 5)
        self.unseen = torch.nn.Parameter(torch.ones(3))
        self.scale = torch.nn.Parameter(torch.ones(12))
        self.shift = torch.nn.Parameter(torch.zeros(12), requires_grad=False)
        for layer in (self.first, self.second, self.third):
            torch.nn.init.zeros_(layer.bias)

    def forward(self, x):
        h = torch.relu(self.first(x)) * self.scale + self.shift
        h = F.dropout(h, 0.1, self.training) + self.second(F.dropout(h, 0.1, self.training))
        return self.third(h)


def mlp():
    torch.manual_seed(0)
    labels = torch.tensor([1, 2, 0, 4])
    return Mlp(), {"x": torch.randn(4, 7), "labels": labels}, {"loss": "cross_entropy:label_smoothing=0.1"}


def mlp_custom():
    module, inputs, _ = mlp()
    optimizer = torch.optim.AdamW([
        {"params": [p for p in module.parameters() if p.ndim > 1], "weight_decay": 0.1},
        {"params": [p for p in module.parameters() if p.ndim == 1 and p.requires_grad], "weight_decay": 0.0}])
    return module, inputs, {"loss": lambda out, labels: F.nll_loss(F.log_softmax(out, -1), labels), "optimizer": optimizer}


class SmallConstants(torch.nn.Module):
    """A sum with 1e-8 that keeps a logarithm finite, and a factor near one."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(7, 5)

    def forward(self, x):
        return ((torch.relu(self.layer(x)) + 1e-8).log() * 1.000005).mean()


def small_constants():
    torch.manual_seed(0)
    return SmallConstants(), {"x": torch.randn(4, 7)}


class AttentionBias(torch.nn.Module):
    """PyTorch's fused attention with a learned bias: its mask needs a gradient."""

    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(1, 2, 6, 6))

    def forward(self, x):
        parts = x.view(-1, 6, 2, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(parts, parts, parts, self.bias).transpose(1, 2).reshape(-1, 6, 8).square().mean()


def attention_bias():
    torch.manual_seed(0)
    return AttentionBias(), {"x": torch.randn(4, 6, 8)}


class ConvNet(torch.nn.Module):
    """Two batch norms that start equal: as exported for inference they would vanish into the convolutions."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, bias=False)
        self.norm = torch.nn.BatchNorm2d(4)
        self.again = torch.nn.Conv2d(4, 4, 3, bias=False)
        self.last = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.head(torch.relu(self.last(self.again(x))).mean((2, 3)))


def convnet():
    torch.manual_seed(0)
    return ConvNet(), {"x": torch.randn(4, 3, 8, 8), "labels": torch.tensor([1, 4, 0, 2])}, {"loss": "cross_entropy"}


def gpt2():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.GPT2Config(vocab_size=61, n_positions=32, n_embd=24, n_layer=2, n_head=4, use_cache=False,
                           bos_token_id=0, eos_token_id=0)
    return hf.GPT2LMHeadModel(config), {"input_ids": tokens(), "labels": tokens()}


def llama():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.LlamaConfig(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32, use_cache=False,
                            bos_token_id=0, eos_token_id=0, pad_token_id=None)
    ids = tokens()
    return hf.LlamaForCausalLM(config), {"input_ids": ids, "labels": ids}  # one tensor, two inputs


def mixtral():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.MixtralConfig(vocab_size=61, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
                              num_attention_heads=4, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2,
                              max_position_embeddings=32, use_cache=False, output_router_logits=True,
                              router_aux_loss_coef=0.5, experts_implementation="batched_mm")
    ids = tokens(rows=4)
    return hf.MixtralForCausalLM(config), {"input_ids": ids, "labels": ids}


def qwen3_moe():
    """Experts as transformers runs them if nobody says how."""
    import transformers as hf
    torch.manual_seed(0)
    config = hf.Qwen3MoeConfig(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                               num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_experts=4,
                               num_experts_per_tok=2, moe_intermediate_size=20, norm_topk_prob=True,
                               max_position_embeddings=32, use_cache=False)
    ids = tokens(rows=4)
    return hf.Qwen3MoeForCausalLM(config), {"input_ids": ids, "labels": ids}


class WithLoss(torch.nn.Module):
    """A model of transformers inside a module of the user's, which computes the loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, labels):
        return F.cross_entropy(self.model(input_ids).logits.flatten(0, 1), labels.flatten())


def qwen3_moe_with_loss():
    model, inputs = qwen3_moe()
    return WithLoss(model), inputs


def deepseek_v3():
    """A dense layer, and one of experts in groups beside one that all tokens reach; compressed queries, keys and values."""
    import transformers as hf
    torch.manual_seed(0)
    config = hf.DeepseekV3Config(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                 num_attention_heads=4, num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16,
                                 qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1,
                                 n_routed_experts=8, num_experts_per_tok=2, n_group=4, topk_group=2, n_shared_experts=1,
                                 moe_intermediate_size=20, max_position_embeddings=32, use_cache=False)
    ids = tokens(rows=4)
    return hf.DeepseekV3ForCausalLM(config), {"input_ids": ids, "labels": ids}


def one_length():
    """Attention by einsum, with as many positions as the example has, and no way to cut them."""
    class Model(torch.nn.Module):
        def __init__(self, length):
            super().__init__()
            self.words, self.places = torch.nn.Embedding(61, 24), torch.nn.Parameter(torch.randn(length, 24))
            self.mix = torch.nn.Parameter(torch.randn(3, 24, 4, 6))
            self.head = torch.nn.Linear(24, 61)

        def forward(self, ids, labels):
            x = self.words(ids) + self.places
            q, k, v = torch.einsum("btc,pchd->pbthd", x, self.mix)
            scores = torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1)
            y = torch.einsum("bhqk,bkhd->bqhd", scores, v).flatten(2)
            return torch.nn.functional.cross_entropy(self.head(y).flatten(0, 1), labels.flatten())

    torch.manual_seed(0)
    ids = tokens(rows=4)
    return Model(ids.shape[1]), {"ids": ids, "labels": ids}


def one_batch():
    """Pairs that are told from all others of the batch, whose size Python asks: CLIP's loss as transformers writes it."""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.looks = torch.nn.Embedding(61, 24), torch.nn.Linear(12, 24)

        def forward(self, ids, x):
            scores = torch.nn.functional.normalize(self.words(ids).mean(1), dim=-1) @ self.looks(x).T
            own = torch.arange(len(scores))
            return (torch.nn.functional.cross_entropy(scores, own) + torch.nn.functional.cross_entropy(scores.T, own)) / 2

    torch.manual_seed(0)
    return Model(), {"ids": tokens(rows=4), "x": torch.randn(4, 12)}


def t5():
    """Encoder and decoder, relative positions, and fused attention that PyTorch cannot decompose."""
    import transformers as hf
    torch.manual_seed(0)
    config = hf.T5Config(vocab_size=61, d_model=24, d_kv=6, d_ff=40, num_layers=2, num_heads=4, dropout_rate=0.0,
                         use_cache=False, pad_token_id=0, decoder_start_token_id=0)
    return hf.T5ForConditionalGeneration(config), {"input_ids": tokens(), "labels": tokens()}


def bert():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.BertConfig(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
                           intermediate_size=40, max_position_embeddings=32, pad_token_id=0)
    inputs = {"input_ids": tokens(), "attention_mask": torch.ones(2, 16, dtype=torch.int64), "labels": tokens()}
    inputs["attention_mask"][1, 12:] = 0
    return hf.BertForMaskedLM(config), inputs, {"no_decay": ["*bias", "*LayerNorm*"]}


def vit():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
                          image_size=30, patch_size=6, num_channels=3, num_labels=5, hidden_dropout_prob=0.1)
    images = torch.randn(3, 3, 30, 30)
    return hf.ViTForImageClassification(config), {"pixel_values": images, "labels": torch.tensor([1, 4, 0])}


def videomae():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.VideoMAEConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, image_size=24,
                               patch_size=8, num_frames=4, decoder_hidden_size=16, decoder_num_hidden_layers=1,
                               decoder_num_attention_heads=2, decoder_intermediate_size=32, norm_pix_loss=False)
    # 14 of 18 tubes are hidden, others in each sample.
    hidden = torch.rand(3, 18).argsort(1) < 14
    return hf.VideoMAEForPreTraining(config), {"pixel_values": torch.randn(3, 4, 3, 24, 24), "bool_masked_pos": hidden}


def resnet18():
    import torchvision
    torch.manual_seed(0)
    module = torchvision.models.resnet18(num_classes=5)
    return module, {"x": torch.randn(2, 3, 64, 64), "labels": torch.tensor([1, 4])}, {"loss": "cross_entropy"}


def resnet50():
    import torchvision
    torch.manual_seed(0)
    module = torchvision.models.resnet50(num_classes=7)
    labels = torch.tensor([1, 4, 0, 6, 2, 2, 5, 3])
    return module, {"x": torch.randn(8, 3, 64, 64), "labels": labels}, {"loss": "cross_entropy"}
