//===- GraphOps.td - All ops of the graph dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
include "dialects/graph/ops/ElementwiseOps.td"
include "dialects/graph/ops/RandomOps.td"
include "dialects/graph/ops/MovementOps.td"
include "dialects/graph/ops/ContractionOps.td"
include "dialects/graph/ops/NormOps.td"
include "dialects/graph/ops/BatchNormOps.td"
include "dialects/graph/ops/WindowOps.td"
include "dialects/graph/ops/AttentionOps.td"
include "dialects/graph/ops/ExpertOps.td"
include "dialects/graph/ops/LossOps.td"
include "dialects/graph/ops/RecurrenceOps.td"
include "dialects/graph/ops/GradientOps.td"
include "dialects/graph/ops/TrainingOps.td"
