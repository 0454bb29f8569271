# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed sequences as padded ones: pack_padded_sequence keeps the padded batch and its lengths while a module is traced, and
recurrent layers compute every step of it. What lies behind a sample's length reaches no result:

- the backward direction reads each sample reversed within its length.
- h_n is the state at a sample's last step.
- c_n is an LSTM's cell behind all steps. A further feature of its input, which is 1 behind the length, closes the input gate and
  opens the forget gate there, so that the cell stays what it was.
"""
import contextlib
import functools
import warnings
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.nn.utils import rnn

from .gradients import place_of_call
from .losses import ExportError, ExportWarning

SHUT = 1e4  # the sigmoid of its negative is 0 and that of itself is 1 in every type


class Padded:
    """A value in the place of a PackedSequence: the padded batch, its steps first, and the length of each sample."""

    def __init__(self, steps, lengths):
        self.steps, self.lengths = steps, lengths

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"'{name}'")

    def __getitem__(self, index):
        refuse("an item")

    def __iter__(self):
        refuse("the fields")


def refuse(what):
    raise ExportError(f"{what} of a PackedSequence cannot be exported{place_of_call()}: only recurrent layers and pad_packed_sequence may "
                      "read it; call pad_packed_sequence and mask what lies behind the lengths")


class Listed(list):
    """tolist() of a vector of lengths, which it knows."""

    def __init__(self, numbers, vector):
        super().__init__(numbers)
        self.vector = vector


def listed(vector, tolist):
    numbers = tolist(vector)
    return Listed(numbers, vector) if vector.dim() == 1 and not vector.is_floating_point() else numbers


def pack(input, lengths, batch_first, enforce_sorted, packs):
    """pack_padded_sequence. Samples keep their order, sorted or not. What is packed is added to `packs`."""
    lengths = lengths.vector if isinstance(lengths, Listed) else lengths
    packs.append(input)
    return Padded(input.transpose(0, 1) if batch_first else input, torch.as_tensor(lengths))


def is_valid(packed):
    """Whether a step lies within a sample's length: (steps, samples, 1)."""
    steps = torch.arange(packed.steps.shape[0], device=packed.steps.device)
    return (steps[:, None] < packed.lengths[None]).unsqueeze(-1)


def pad(sequence, batch_first, padding_value, total_length, cut):
    """pad_packed_sequence. Its result has `total_length` steps, or as many as the batch that was packed: the number of steps of
    the longest sample, which PyTorch takes, is not known before the program runs. It is added to `cut`, if it is not said."""
    steps = torch.where(is_valid(sequence), sequence.steps, padding_value)
    if total_length is None:
        cut.append(steps.shape[0])
    if total_length is not None and total_length < steps.shape[0]:
        raise ExportError(f"pad_packed_sequence has total_length={total_length}, less than the {steps.shape[0]} steps of the batch "
                          f"that was packed: say total_length={steps.shape[0]}")
    if total_length is not None and total_length > steps.shape[0]:
        steps = torch.nn.functional.pad(steps, (0, 0, 0, 0, 0, total_length - steps.shape[0]), value=padding_value)
    return steps.transpose(0, 1) if batch_first else steps, sequence.lengths


def at_places(steps, places):
    return steps.gather(0, places.unsqueeze(-1).expand(-1, -1, steps.shape[2]))


def run(layer, packed, start):
    """The results of a recurrent layer."""
    steps, lengths, is_lstm = packed.steps, packed.lengths, layer.mode == "LSTM"
    call = {"LSTM": torch._VF.lstm, "GRU": torch._VF.gru, "RNN_TANH": torch._VF.rnn_tanh, "RNN_RELU": torch._VF.rnn_relu}[layer.mode]
    directions = 2 if layer.bidirectional else 1
    if start is None:
        sizes = [layer.proj_size or layer.hidden_size] + [layer.hidden_size] * is_lstm
        start = [steps.new_zeros(layer.num_layers * directions, steps.shape[1], size) for size in sizes]
    start = start if isinstance(start, (list, tuple)) else [start]
    places = torch.arange(steps.shape[0], device=steps.device)[:, None]
    valid, ends = is_valid(packed), []
    turned = torch.where(places < lengths[None], lengths[None] - 1 - places, places)
    for number in range(layer.num_layers):
        results = []
        for direction in range(directions):
            place = number * directions + direction
            weights = [getattr(layer, name) for name in layer._all_weights[place]]
            states = [state[place:place + 1] for state in start]
            read = at_places(steps, turned) if direction else steps
            if is_lstm:
                read = torch.cat([read, (~valid).to(read.dtype)], -1)
                shut = torch.tensor([-SHUT, SHUT, 0, 0], dtype=read.dtype).repeat_interleave(layer.hidden_size)
                weights[0] = torch.cat([weights[0], shut[:, None]], 1)
            result, *end = call(read, states if is_lstm else states[0], weights, layer.bias, 1, 0.0, layer.training, False, False)
            last = at_places(result, lengths[None] - 1)
            ends.append([last, *end[1:]])
            results.append(at_places(result, turned) if direction else result)
        steps = torch.cat(results, -1) if layer.bidirectional else results[0]
        if number + 1 < layer.num_layers:
            steps = torch.nn.functional.dropout(steps, layer.dropout, layer.training)
    ends = tuple(torch.cat(each, 0) for each in zip(*ends))
    return Padded(steps, lengths), ends if is_lstm else ends[0]


def of_layer(forward):
    def written(self, input, hx=None):
        return run(self, input, hx) if isinstance(input, Padded) else forward(self, input, hx)
    return written


# Modules hold PyTorch's functions under names of their own, so the functions get other code, which calls ours.
def pack_code(input, lengths, batch_first=False, enforce_sorted=True):
    return _dtcc_pack(input, lengths, batch_first, enforce_sorted)  # noqa: F821


def pad_code(sequence, batch_first=False, padding_value=0.0, total_length=None):
    return _dtcc_pad(sequence, batch_first, padding_value, total_length)  # noqa: F821


@contextlib.contextmanager
def as_padded():
    """While a module is traced, packed sequences are padded ones. Gives a list of what was packed."""
    cut, packs = [], []
    with contextlib.ExitStack() as replaced:
        for function, code, name, ours in ((rnn.pack_padded_sequence, pack_code, "_dtcc_pack", functools.partial(pack, packs=packs)),
                                           (rnn.pad_packed_sequence, pad_code, "_dtcc_pad", functools.partial(pad, cut=cut))):
            replaced.enter_context(mock.patch.object(rnn, name, ours, create=True))
            replaced.callback(setattr, function, "__code__", function.__code__)
            function.__code__ = code.__code__
        for layer in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
            replaced.enter_context(mock.patch.object(layer, "forward", of_layer(layer.forward)))
        for kind in (torch.Tensor, FakeTensor, FunctionalTensor):
            replaced.enter_context(mock.patch.object(kind, "tolist", functools.partialmethod(listed, kind.tolist)))
        yield packs
    if cut:
        warnings.warn(f"pad_packed_sequence keeps all {cut[0]} steps of the batch, where PyTorch cuts it at its longest sample: a "
                      "mean over steps counts the padding too; with total_length= both are the same", ExportWarning, stacklevel=2)
