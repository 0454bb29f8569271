//===- Passes.h - Passes on the graph dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_PASSES_H
#define DTCC_PASSES_GRAPH_PASSES_H

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dtcc::graph {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/graph/Passes.h.inc"
} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_PASSES_H
