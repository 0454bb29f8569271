//===- InfoReader.h - From TrainingInfoProto to a training form
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of training runs each info's algorithm, which is appended to the model's graph,
// and assigns what update_binding says. Any graph could stand there. Recognised is:
//
//   loss = ...                                        nodes of the graph and the algorithm
//   grads = Gradient(xs = parameters, y = loss)
//   new parameters, new slots = Adam | Adagrad | Momentum (R, T, parameters, grads, slots)
//   new T = T + 1                                     and running statistics of batch norm
//
// Parameters that several losses train must not reach each other's loss: then the steps
// one after the other are one step on the sum of the losses.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_TRAINING_INFOREADER_H
#define DTCC_FRONTENDS_ONNX_TRAINING_INFOREADER_H

#include "frontends/onnx/training/GraphIndex.h"
#include "frontends/onnx/training/OptimizerNode.h"
#include "frontends/onnx/training/TrainingForm.h"
#include <map>
#include <set>

namespace dtcc::onnx {

/// The end of refusals: what works in any case.
inline constexpr llvm::StringLiteral kInstead =
    "; --optimizer=KIND:lr=... trains the file's loss by an optimizer of dtcc";

/// A loss, what its gradients train, and what it is computed from.
struct Objective {
  const ::onnx::TrainingInfoProto *info;
  std::string loss;
  llvm::StringSet<> trained;
  GraphIndex::Ancestors ancestors;
};

/// Reads the infos of a model one after the other.
class InfoReader {
public:
  InfoReader(Model &model, const ImportOptions &options) : model(model), options(options) {}
  mlir::FailureOr<TrainingForm> read();

private:
  mlir::LogicalResult readInfo(::onnx::TrainingInfoProto &info);
  mlir::LogicalResult readBindings(const ::onnx::TrainingInfoProto &info);
  mlir::LogicalResult readUpdate(llvm::StringRef key, const std::string &value);
  mlir::LogicalResult readOptimizer(const OptimizerNode &node);
  mlir::LogicalResult readSlots(const OptimizerNode &node, int i);
  /// The loss that a Gradient differentiates, once the node is checked.
  mlir::FailureOr<Objective *> readGradient(const ::onnx::NodeProto &node);
  mlir::FailureOr<double> rateOf(const OptimizerNode &node);
  mlir::FailureOr<int64_t> firstCountOf(const OptimizerNode &node);
  /// The name to which `value` adds one, or nothing.
  std::optional<llvm::StringRef> incrementOf(llvm::StringRef value);
  /// The one cell of an initializer.
  mlir::FailureOr<double> scalarOf(llvm::StringRef name, mlir::Location loc);
  mlir::LogicalResult combine();

  Model &model;
  const ImportOptions &options;
  TrainingForm form;
  /// Objectives read from all infos.
  std::vector<Objective> objectives;
  llvm::StringSet<> keys;
  std::set<std::string> updatedBefore;
  llvm::StringMap<int64_t> increments;
  /// The optimizer node that all others agree with, and its settings.
  std::optional<OptimizerNode> firstOptimizer;
  double decay = 0, rate = 0;
  int64_t count = 0;
  // The info that is being read.
  const ::onnx::TrainingInfoProto *current = nullptr;
  GraphIndex index;
  /// Value that update_binding assigns to each initializer, looking through Identity.
  llvm::StringMap<llvm::StringRef> updates;
  std::map<const ::onnx::NodeProto *, OptimizerNode> optimizers;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_TRAINING_INFOREADER_H
