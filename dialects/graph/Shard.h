//===- Shard.h - Where a local tensor stands in the whole
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops on a shard name the mesh axes that split a dimension, outermost first; the
// evaluator says at which coordinate they run.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_SHARD_H
#define DTCC_DIALECTS_GRAPH_SHARD_H

#include "dialects/interfaces/HostTensor.h"
#include <optional>

namespace dtcc::graph {

/// The number of this shard among those that `axes` (strings) make. Whole tensors
/// have no axes: 0.
inline int64_t shardNumber(std::optional<mlir::ArrayAttr> axes, const EvaluationContext &context) {
  int64_t number = 0;
  if (!axes || !context.axis)
    return number;
  for (mlir::Attribute axis : *axes) {
    auto [coordinate, size] = context.axis(mlir::cast<mlir::StringAttr>(axis).getValue());
    number = number * size + coordinate;
  }
  return number;
}

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_SHARD_H
