//===- GraphOps.td - All ops of the graph dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
include "dialects/graph/ElementwiseOps.td"
include "dialects/graph/RandomOps.td"
include "dialects/graph/MovementOps.td"
include "dialects/graph/ContractionOps.td"
include "dialects/graph/NormOps.td"
include "dialects/graph/BatchNormOps.td"
include "dialects/graph/WindowOps.td"
include "dialects/graph/AttentionOps.td"
include "dialects/graph/ExpertOps.td"
include "dialects/graph/LossOps.td"
include "dialects/graph/GradientOps.td"
include "dialects/graph/TrainingOps.td"
