//===- Evaluator.h - Runs a graph function on whole tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of everything downstream: a graph means what its ops' references say,
// one after the other. For tiny tensors.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_EVALUATOR_H
#define DTCC_PASSES_GRAPH_EVALUATOR_H

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::graph {

/// Evaluates one op that implements ReferenceOpInterface. `round` rounds floats to
/// their element type. Fails with a message at the op.
mlir::FailureOr<llvm::SmallVector<HostTensor>> evaluateOp(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
                                                          const EvaluationContext &context = {}, bool round = false);

/// The states of #graph.loss_scale.
struct LossScaleState {
  double &scale, &streak, &skipped;
  /// Updates the scale after a step whose norm was finite or not (torch.amp.GradScaler.update).
  void adjust(bool finite, double growth, double backoff, int64_t interval);
};

class Evaluator {
public:
  /// `round` evaluates in the element types, else floats are f64 throughout.
  explicit Evaluator(mlir::ModuleOp module, bool round = false, uint64_t seed = 0)
      : module(module), rounds(round), seed(seed) {}

  /// Gives every state its value, or the one its init says: normal and uniform numbers
  /// are drawn per state, but not those that the runtime draws.
  mlir::LogicalResult initialize();

  /// Runs the function and returns its results. States change where it ends in an
  /// update or writes a buffer; the step number counts the updates.
  mlir::FailureOr<llvm::SmallVector<HostTensor>> run(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> arguments);

  /// Values of the states, by symbol name.
  llvm::StringMap<HostTensor> states;
  /// Optimizer slots by symbol name: m and v of Adam, the buffer of SGD.
  llvm::StringMap<llvm::SmallVector<HostTensor>> slots;
  /// The number of the step that runs next, from 1.
  int64_t step = 1;

private:
  mlir::FailureOr<HostTensor> update(UpdateOp op, llvm::ArrayRef<HostTensor> operands);

  mlir::ModuleOp module;
  bool rounds;
  uint64_t seed;
};

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_EVALUATOR_H
