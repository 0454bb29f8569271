//===- MatrixWorkspace.cpp - Scratch memory of Muon's matrices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/MatrixWorkspace.h"
#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/OrthogonalizeWorkspace.h"

using namespace mlir;

int64_t dtcc::exec::matrixWorkspace(Operation *op, FlatSymbolRefAttr bucket) {
  int64_t most = 0;
  for (auto state : op->getParentOfType<ModuleOp>().getOps<graph::StateOp>())
    for (auto [own, offset] : spmd::bucketsOf(state))
      if (own == bucket)
        most = std::max(most, orthogonalizeWorkspace(state.getSavedShape()[0], state.getSavedShape()[1]));
  return most;
}
