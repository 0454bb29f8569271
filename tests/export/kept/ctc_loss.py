# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ctc_loss of repeated labels, of lengths below the padded ones, and without an alignment, behind a log_softmax and without."""
import torch
import torch.nn.functional as F

LABELS = torch.tensor([[1, 1, 2], [2, 4, -1], [2, 2, 2], [4, 0, 9]])
LENGTHS = torch.tensor([3, 2, 3, 1])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.steps = torch.nn.Linear(6, 5), torch.nn.Parameter(torch.linspace(-1, 1, 30).reshape(6, 1, 5))
        self.loss = torch.nn.CTCLoss(blank=3, reduction="sum", zero_infinity=True)

    def forward(self, x, target):
        h = self.first(x) * (1 + self.steps) + self.steps.sin()
        rows = torch.arange(x.shape[0]) % 4
        labels, lengths, steps = LABELS[rows], LENGTHS[rows], torch.tensor([6, 4, 3, 5])[rows]
        usual = F.ctc_loss(h.log_softmax(-1), labels, torch.full_like(lengths, 6), lengths)
        return usual + 0.1 * self.loss(h.tanh() - 2, labels, steps, lengths)
