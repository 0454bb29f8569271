# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of many architectures: a file a family, each of which adds to ARCHITECTURES."""
from . import (attention, convnets, decoders, encoder_decoders, encoders, experts, mixers, multimodal,  # noqa: F401
               recurrent, sights, state_space, unets)
from .registry import ARCHITECTURES, BATCH, LENGTH  # noqa: F401
