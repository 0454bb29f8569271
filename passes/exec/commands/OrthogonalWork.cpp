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
#include <map>

using namespace mlir;

using namespace dtcc;

/// Calls `body` with the rows and columns of the bucket's matrices and the cell of the bucket where each begins.
static void forMatrices(Operation *op, FlatSymbolRefAttr bucket,
                        llvm::function_ref<void(int64_t rows, int64_t columns, int64_t begin)> body) {
  for (auto state : op->getParentOfType<ModuleOp>().getOps<graph::StateOp>())
    for (auto [own, offset] : spmd::bucketsOf(state))
      if (own == bucket)
        body(state.getSavedShape()[0], state.getSavedShape()[1], offset);
}

exec::OrthogonalWork exec::orthogonalWork(Operation *op, FlatSymbolRefAttr bucket, int64_t share) {
  std::map<int64_t, OrthogonalWork::Matrix> matrices; // by where they begin
  forMatrices(op, bucket, [&](int64_t rows, int64_t columns, int64_t begin) { matrices[begin] = {rows, columns}; });
  std::map<int64_t, OrthogonalWork> shares;
  for (auto at = matrices.begin(); at != matrices.end(); ++at) {
    const auto [begin, matrix] = *at;
    // A rank's part of a matrix ends where the next one begins. The last ends in the share of its last cell, at most.
    const auto next = std::next(at);
    const int64_t end = next != matrices.end() ? next->first : begin + matrix.rows * matrix.columns;
    for (int64_t number = begin / share; number * share < end; ++number) {
      shares[number].flopsOfStep += orthogonalizeFlops(matrix.rows, matrix.columns);
      shares[number].matrices.push_back(matrix);
    }
  }
  OrthogonalWork most;
  for (const auto &[number, work] : shares)
    if (work.flopsOfStep > most.flopsOfStep)
      most = work;
  return most;
}

int64_t exec::orthogonalBytes(Operation *op, FlatSymbolRefAttr bucket, OrthogonalizeOn device) {
  int64_t most = 0;
  forMatrices(op, bucket, [&](int64_t rows, int64_t columns, int64_t) {
    most = std::max(most, OrthogonalizeLayout(rows, columns, device).bytes);
  });
  return most;
}
