# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes x.npy, 48 samples of 65,536 numbers, and labels.npy, a class of 4 for each sample, into a folder."""

import sys

import numpy

samples, cells = 48, 65536
random = numpy.random.default_rng(3)
numpy.save(f"{sys.argv[1]}/x.npy", random.standard_normal((samples, cells), dtype=numpy.float32))
numpy.save(f"{sys.argv[1]}/labels.npy", random.integers(0, 4, samples))
