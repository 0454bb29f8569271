# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sound: words said, masked frames, sources apart, and spectra from text."""
import torch
import torch.nn.functional as F
import transformers
from torch import nn

from .languages import DROPOUTS
from .registry import WORDS, add, classes, fields, numbers


class Conformer(nn.Module):
    """Half a network, attention, a gated depthwise convolution and the other half, over subsampled frames."""

    def __init__(self):
        super().__init__()
        self.less, self.first = nn.Conv2d(1, 8, 3, 2, 1), nn.Linear(64, 32)
        self.halves = nn.ModuleList(nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 32)) for _ in range(2))
        self.norm, self.attend = nn.LayerNorm(32), nn.MultiheadAttention(32, 4, batch_first=True)
        self.conv_norm, self.wide, self.narrow = nn.LayerNorm(32), nn.Conv1d(32, 64, 1), nn.Conv1d(32, 32, 1)
        self.depth, self.batch, self.last = nn.Conv1d(32, 32, 7, padding=3, groups=32), nn.BatchNorm1d(32), nn.Linear(32, WORDS)

    def forward(self, sound, labels):
        x = self.first(F.relu(self.less(sound[:, None])).transpose(1, 2).flatten(2))
        x = x + 0.5 * self.halves[0](x)
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        y = F.glu(self.wide(self.conv_norm(x).transpose(1, 2)), 1)
        x = x + self.narrow(F.silu(self.batch(self.depth(y)))).transpose(1, 2)
        return F.cross_entropy(self.last(x + 0.5 * self.halves[1](x)).flatten(0, 1), labels.flatten())


class Separator(nn.Module):
    """Conv-TasNet: learned frames, masks by dilated depthwise layers, and the scale-invariant ratio of the better pairing."""

    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Conv1d(1, 16, 8, 4, bias=False), nn.ConvTranspose1d(16, 1, 8, 4, bias=False)
        self.layers = nn.ModuleList(nn.Sequential(
            nn.Conv1d(16, 16, 1), nn.PReLU(), nn.GroupNorm(1, 16), nn.Conv1d(16, 16, 3, padding=2 ** i, dilation=2 ** i, groups=16),
            nn.PReLU(), nn.Conv1d(16, 16, 1)) for i in range(2))
        self.mask = nn.Conv1d(16, 32, 1)

    @staticmethod
    def ratio(said, real):
        said, real = said - said.mean(-1, keepdim=True), real - real.mean(-1, keepdim=True)
        near = (said * real).sum(-1, keepdim=True) / (real.square().sum(-1, keepdim=True) + 1e-8) * real
        return 10 * torch.log10(near.square().sum(-1) / ((said - near).square().sum(-1) + 1e-8) + 1e-8)

    def forward(self, sources):
        frames = self.into(sources.sum(1, keepdim=True))
        x = frames
        for step in self.layers:
            x = x + step(x)
        masks = self.mask(x).sigmoid().view(-1, 2, 16, x.shape[-1])
        said = self.out((frames[:, None] * masks).flatten(0, 1)).view(-1, 2, sources.shape[-1])
        straight, crossed = self.ratio(said, sources).mean(-1), self.ratio(said, sources.flip(1)).mean(-1)
        return -torch.maximum(straight, crossed).mean()


class RawWaves(nn.Module):
    """M5: words from samples, by strided convolutions."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 8, 20, 4), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 16, 3),
                                 nn.BatchNorm1d(16), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 5))

    def forward(self, wave, labels):
        return F.cross_entropy(self.net(wave), labels)


class Tacotron(nn.Module):
    """Frames of a spectrum from text, one by one, each from the one before and attention over the text."""

    def __init__(self):
        super().__init__()
        self.words, self.read = nn.Embedding(WORDS, 16), nn.LSTM(16, 8, batch_first=True, bidirectional=True)
        self.before, self.cell, self.where = nn.Linear(4, 8), nn.LSTMCell(24, 16), nn.Linear(16, 16)
        self.far, self.frame, self.stop = nn.Conv1d(1, 16, 3, padding=1), nn.Linear(32, 4), nn.Linear(32, 1)
        self.score = nn.Linear(16, 1, bias=False)
        self.after = nn.Sequential(nn.Conv1d(4, 8, 5, padding=2), nn.Tanh(), nn.Conv1d(8, 4, 5, padding=2))

    def forward(self, input_ids, frames):
        memory = self.read(self.words(input_ids))[0]
        h = c = read = memory[:, 0] * 0
        shares = total = memory[..., 0] * 0
        said, stops = [], []
        for i in range(frames.shape[1]):
            last = frames[:, i - 1] if i else torch.zeros_like(frames[:, 0])
            h, c = self.cell(torch.cat([F.relu(self.before(last)), read], -1), (h, c))
            near = self.score((memory + self.where(h)[:, None] + self.far(total[:, None]).transpose(1, 2)).tanh())
            shares = near.squeeze(-1).softmax(-1)
            total, read = total + shares, (shares[..., None] * memory).sum(1)
            both = torch.cat([h, read], -1)
            said.append(self.frame(both))
            stops.append(self.stop(both))
        said = torch.stack(said, 1)
        better = said + self.after(said.transpose(1, 2)).transpose(1, 2)
        end = F.one_hot(torch.full((frames.shape[0],), frames.shape[1] - 1), frames.shape[1]).to(said.dtype)
        return F.mse_loss(said, frames) + F.mse_loss(better, frames) + F.binary_cross_entropy_with_logits(torch.cat(stops, 1), end)


def quiet(config):
    """Without dropout, masks at random and dropped layers."""
    for field in (*DROPOUTS, "feat_proj_dropout", "final_dropout", "feat_extract_dropout", "conformer_conv_dropout", "mask_time_prob",
                  "mask_feature_prob"):
        if isinstance(getattr(config, field, None), float):
            setattr(config, field, 0.0)
    config.apply_spec_augment = False
    return config


class Heard(nn.Module):
    """A classifier of sound of transformers."""

    def __init__(self, family, head="ForSequenceClassification", **sizes):
        super().__init__()
        config = quiet(getattr(transformers, family + "Config")(**{**dict(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_labels=5), **sizes}))
        self.model = getattr(transformers, family + head)(config)

    def forward(self, input_values, labels):
        return F.cross_entropy(self.model(input_values).logits, labels)


WAVES = dict(conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4,
             num_feat_extract_layers=2, classifier_proj_size=16)
HEARD = fields(input_values=numbers(400), labels=classes(5))
add(__name__, fields(sound=numbers(32, 16), labels=classes(WORDS, 16)), "conformer", Conformer)
add(__name__, fields(sources=numbers(2, 64)), "conv_tasnet", Separator)
add(__name__, fields(wave=numbers(1, 160), labels=classes(5)), "m5", RawWaves)
add(__name__, fields(input_ids=classes(WORDS, 8), frames=numbers(6, 4)), "tacotron", Tacotron)
add(__name__, HEARD, "wav2vec2", lambda: Heard("Wav2Vec2", **WAVES))
add(__name__, HEARD, "hubert", lambda: Heard("Hubert", **WAVES))
add(__name__, HEARD, "wavlm", lambda: Heard("WavLM", **WAVES))
add(__name__, HEARD, "wav2vec2_conformer", lambda: Heard("Wav2Vec2Conformer", **WAVES, position_embeddings_type="relative"))
add(__name__, HEARD, "data2vec_audio", lambda: Heard("Data2VecAudio", **WAVES, conv_pos_kernel_size=5))
add(__name__, HEARD, "sew", lambda: Heard("SEW", **WAVES, squeeze_factor=2))
add(__name__, fields(input_values=numbers(32, 16), labels=classes(5)), "ast", lambda: Heard(
    "AST", "ForAudioClassification", patch_size=8, frequency_stride=8, time_stride=8, max_length=32, num_mel_bins=16))
