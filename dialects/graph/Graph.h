//===- Graph.h - The graph dialect: what a training step computes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one public header of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_GRAPH_H
#define DTCC_DIALECTS_GRAPH_GRAPH_H

#include "dialects/graph/Precision.h"
#include "dialects/graph/Real.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

namespace dtcc::graph {
/// A tensor<...> or !spmd.tensor<...> of static shape: what graph ops compute on.
bool isTensorLike(mlir::Type type);

/// On a module with a loss: the optimizer that trains it, and the global norm that gradients are clipped to (an f64). A
/// model may bring both; the command line has the last word.
constexpr llvm::StringLiteral kOptimizerAttr = "graph.optimizer", kClipAttr = "graph.clip";

/// On a module with a loss: the weight d of the average of parameters over the steps (an f64), if there is one.
constexpr llvm::StringLiteral kAverageAttr = "graph.average";
/// On a module, and on the program made from it: each parameter changes once its gradient is complete (--update=early).
constexpr llvm::StringLiteral kEarlyAttr = "graph.early";
/// On a module with a loss: in how many groups of samples each takes numbers of the whole batch of its own (an i64), if
/// the loss may be that of micro-batches (--batch-losses=microbatch).
constexpr llvm::StringLiteral kLossGroupsAttr = "graph.loss_groups";
/// Suffix of the name under which the average of a parameter is saved.
constexpr llvm::StringLiteral kAverageSlot = "average";

/// Reductions over a whole tensor that an optimizer needs besides the gradient's own cell. `Factors` are means of
/// squares over rows and columns, which the optimizer keeps in place of moments of the cells; it needs norms too.
enum class TensorNeed { None, Norms, Matrices, Factors };

/// A vector that an optimizer keeps of a tensor: the suffix of the name under which it is saved, and its saved shape.
struct TensorFactor {
  llvm::StringRef name;
  llvm::SmallVector<int64_t> shape;
};

/// Gives the cell of an operand at an index, or nothing if it is not known.
using CellReader = llvm::function_ref<std::optional<double>(unsigned operand, llvm::ArrayRef<int64_t> index)>;
/// The cell of an elementwise op, by its reference.
std::optional<double> evaluateSameCell(mlir::Operation *op, llvm::ArrayRef<int64_t> index, CellReader read);
} // namespace dtcc::graph

#include "dialects/graph/GraphDialect.h.inc"
#include "dialects/graph/GraphEnums.h.inc"
#include "dialects/graph/GraphOptimizer.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.h.inc"
#include "dialects/graph/GraphInterfaces.h.inc"
#include "dialects/graph/GraphPrecision.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.h.inc"

#endif // DTCC_DIALECTS_GRAPH_GRAPH_H
