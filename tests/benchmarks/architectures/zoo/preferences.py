# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses that tune language models: rewards, preferences, policies and distillation."""
import copy

import torch
import torch.nn.functional as F
import transformers
from torch import nn

from .registry import LENGTH, WORDS, add, classes, fields, numbers


def tiny(head="ForCausalLM", **sizes):
    config = transformers.LlamaConfig(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
                                      num_attention_heads=4, max_position_embeddings=64, use_cache=False, **sizes)
    return getattr(transformers, "Llama" + head)(config)


def frozen(model):
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter += torch.randn_like(parameter) * 0.02
    return other.requires_grad_(False)


def said(model, ids):
    """The logarithm of the probability of each token but the first."""
    logits = model(input_ids=ids).logits[:, :-1]
    return torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).squeeze(-1)


class Reward(nn.Module):
    """Bradley-Terry: the last token's score of the chosen answer above that of the rejected."""

    def __init__(self):
        super().__init__()
        self.model, self.score = tiny("Model"), nn.Linear(32, 1, bias=False)

    def forward(self, chosen, rejected):
        good, bad = (self.score(self.model(input_ids=ids).last_hidden_state[:, -1]) for ids in (chosen, rejected))
        return -F.logsigmoid(good - bad).mean()


class Preference(nn.Module):
    """DPO, IPO, SimPO or ORPO: the chosen answer more probable than the rejected, beside a frozen model."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.policy = kind, tiny()
        self.reference = frozen(self.policy) if kind in ("dpo", "ipo", "kto") else None

    def forward(self, chosen, rejected):
        good, bad = said(self.policy, chosen), said(self.policy, rejected)
        if self.kind == "simpo":
            return -F.logsigmoid(2.0 * (good.mean(-1) - bad.mean(-1)) - 0.5).mean()
        if self.kind == "orpo":
            yes, no = good.mean(-1), bad.mean(-1)
            odds = (yes - no) - (torch.log1p(-yes.exp()) - torch.log1p(-no.exp()))
            return -yes.mean() - 0.1 * F.logsigmoid(odds).mean()
        good = good.sum(-1) - said(self.reference, chosen).sum(-1)
        bad = bad.sum(-1) - said(self.reference, rejected).sum(-1)
        if self.kind == "kto":
            return (1 - (0.1 * good).sigmoid()).mean() + (1 - (-0.1 * bad).sigmoid()).mean()
        if self.kind == "ipo":
            return (good - bad - 1 / (2 * 0.1)).square().mean() / 100
        return -F.logsigmoid(0.1 * (good - bad)).mean()


class Policy(nn.Module):
    """PPO with a value head: clipped ratios against what the tokens were drawn with, and an entropy bonus."""

    def __init__(self):
        super().__init__()
        self.model, self.head, self.value = tiny("Model"), nn.Linear(32, WORDS), nn.Linear(32, 1)

    def forward(self, input_ids, old, advantage, returns):
        hidden = self.model(input_ids=input_ids).last_hidden_state[:, :-1]
        every = self.head(hidden).log_softmax(-1)
        ratio = (torch.gather(every, 2, input_ids[:, 1:, None]).squeeze(-1) - (old * 0.1 - 4)).exp()
        surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        value = F.smooth_l1_loss(self.value(hidden).squeeze(-1), returns)
        return -surrogate.mean() + 0.5 * value + 0.01 * (every.exp() * every).sum(-1).mean()


class Group(nn.Module):
    """GRPO: rewards normalised within the group of answers, and a penalty beside a frozen model."""

    def __init__(self):
        super().__init__()
        self.policy = tiny()
        self.reference = frozen(self.policy)

    def forward(self, input_ids, reward):
        advantage = ((reward - reward.mean()) / (reward.std() + 1e-4))[:, None]
        now, before = said(self.policy, input_ids), said(self.reference, input_ids)
        apart = (before - now).exp() - (before - now) - 1
        return 1 + (apart * 0.04 - (now - now.detach()).exp() * advantage).mean()


class Distilled(nn.Module):
    """A student beside a frozen teacher's softened words, and the labels."""

    def __init__(self):
        super().__init__()
        self.student, self.teacher = tiny(), tiny(num_key_value_heads=2).requires_grad_(False)

    def forward(self, input_ids, labels):
        out = self.student(input_ids=input_ids, labels=labels)
        soft = F.kl_div((out.logits / 2).log_softmax(-1), (self.teacher(input_ids=input_ids).logits / 2).log_softmax(-1),
                        reduction="batchmean", log_target=True)
        return out.loss + soft * 4 / LENGTH


class Classifier(nn.Module):
    """A frozen half of the model under a trained head, with focal loss."""

    def __init__(self):
        super().__init__()
        self.model, self.head = tiny("Model"), nn.Linear(32, 5)
        self.model.embed_tokens.requires_grad_(False)

    def forward(self, input_ids, labels):
        logs = self.head(self.model(input_ids=input_ids).last_hidden_state.mean(1)).log_softmax(-1)
        own = torch.gather(logs, 1, labels[:, None]).squeeze(1)
        return -((1 - own.exp()).square() * own).mean()


TWO = dict(chosen=classes(WORDS, LENGTH), rejected=classes(WORDS, LENGTH))
add(__name__, fields(**TWO), "reward_model", Reward)
for kind in ("dpo", "ipo", "kto", "simpo", "orpo"):
    add(__name__, fields(**TWO), kind, lambda kind=kind: Preference(kind))
REST = LENGTH - 1
add(__name__, fields(input_ids=classes(WORDS, LENGTH), old=numbers(REST), advantage=numbers(REST), returns=numbers(REST)), "ppo", Policy)
add(__name__, fields(input_ids=classes(WORDS, LENGTH), reward=numbers()), "grpo", Group)
add(__name__, "causal", "distillation", Distilled)
add(__name__, fields(input_ids=classes(WORDS, LENGTH), labels=classes(5)), "focal_classifier", Classifier)
