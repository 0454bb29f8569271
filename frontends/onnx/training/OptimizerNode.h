//===- OptimizerNode.h - Optimizers of ai.onnx.preview.training
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adam, Adagrad and Momentum update n parameters at once. Their operands are the rate R,
// the count T, then n parameters, n gradients and n values of each slot; their results
// are the n new parameters and the new values of each slot.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_TRAINING_OPTIMIZERNODE_H
#define DTCC_FRONTENDS_ONNX_TRAINING_OPTIMIZERNODE_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "onnx/onnx-ml.pb.h"

namespace dtcc::onnx {

inline constexpr llvm::StringLiteral kTrainingDomain = "ai.onnx.preview.training";

class OptimizerNode {
public:
  /// Checks a node of the training domain; problems are emitted at `loc`.
  static mlir::FailureOr<OptimizerNode> read(const ::onnx::NodeProto &node, mlir::Location loc);

  const ::onnx::NodeProto &proto() const { return *node; }
  llvm::StringRef rate() const { return node->input(0); }
  llvm::StringRef count() const { return node->input(1); }
  int parameters() const { return size; }
  int slots() const { return slotCount; }
  llvm::StringRef parameter(int i) const { return node->input(2 + i); }
  llvm::StringRef gradient(int i) const { return node->input(2 + size + i); }
  llvm::StringRef slot(int k, int i) const { return node->input(2 + (2 + k) * size + i); }
  /// The operand whose new value is result `output`: a parameter or a slot.
  llvm::StringRef updatedBy(int output) const { return node->input(output < size ? 2 + output : 2 + size + output); }
  llvm::StringRef newParameter(int i) const { return outputAt(i); }
  llvm::StringRef newSlot(int k, int i) const { return outputAt((1 + k) * size + i); }
  /// The factor of the parameter that is added to its gradient.
  double decay() const { return regularization; }
  /// Whether the count T changes what the optimizer does.
  bool needsCount() const;
  /// The optimizer as the graph dialect has it, whose first step has the count `first`.
  mlir::Attribute attribute(mlir::MLIRContext *context, double rate, int64_t first, double decay) const;

private:
  llvm::StringRef outputAt(int i) const { return i < node->output_size() ? llvm::StringRef(node->output(i)) : ""; }

  const ::onnx::NodeProto *node = nullptr;
  int size = 0, slotCount = 0;
  /// The attributes; those that the operator lacks are 0.
  double alpha = 0, beta = 0, epsilon = 0, postDecay = 0, rateDecay = 0, regularization = 0;
  bool nesterov = false;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_TRAINING_OPTIMIZERNODE_H
