//===- OrthogonalWork.cpp - Memory and work of Muon's matrices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/OrthogonalWork.h"
#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

dtcc::exec::OrthogonalWork dtcc::exec::orthogonalWork(Operation *op, FlatSymbolRefAttr bucket, OrthogonalizeOn device) {
  OrthogonalWork work;
  for (auto state : op->getParentOfType<ModuleOp>().getOps<graph::StateOp>())
    for (auto [own, offset] : spmd::bucketsOf(state)) {
      if (own != bucket)
        continue;
      const int64_t rows = state.getSavedShape()[0], columns = state.getSavedShape()[1];
      const double side = double(std::min(rows, columns)), length = double(std::max(rows, columns));
      work.bytes = std::max(work.bytes, OrthogonalizeLayout(rows, columns, device).bytes);
      work.flopsOfStep += 4 * side * side * length + 2 * side * side * side;
    }
  return work;
}
