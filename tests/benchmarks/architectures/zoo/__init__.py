# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of many architectures: a file a family, each of which adds to ARCHITECTURES."""
from . import (adapters, attention, blocks, convnets, decoders, detection, diffusion, encoder_decoders, encoders,  # noqa: F401
               experts, generative, graphs, metrics, mixers, multimodal, positions, preferences, recommendation,
               recurrent, series, sights, speech, state_space, structured, unets)
from .registry import ARCHITECTURES  # noqa: F401
