//===- Initialization.cpp - The initialization graph of training information
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/Initialization.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// The one value of a tensor's cells; nothing where they differ.
static FailureOr<std::optional<double>> uniformValue(Model &model, const TensorProto &tensor, Location loc) {
  FailureOr<StoredTensor> stored = model.decode(tensor, loc);
  if (failed(stored) || !stored->hasData)
    return failure();
  HostTensor cells = stored->toHost();
  std::optional<double> value;
  for (int64_t i = 0; i < cells.size(); ++i) {
    double cell = cells.isFloat() ? cells.floats[i] : static_cast<double>(cells.ints[i]);
    if (value && *value != cell)
      return std::optional<double>();
    value = cell;
  }
  return value;
}

/// Returns the start values that a node of the initialization graph computes. Fails if the node is not understood.
static FailureOr<graph::InitAttr> startOf(Model &model, const NodeProto &node) {
  MLIRContext *context = model.getContext();
  auto make = [&](graph::InitKind kind, double a, double b) { return graph::InitAttr::get(context, kind, a, b); };
  StringRef op = node.op_type();
  if (op == "RandomNormal" || op == "RandomNormalLike")
    return make(graph::InitKind::normal, realAttribute(node, "mean", 0), realAttribute(node, "scale", 1));
  if (op == "RandomUniform" || op == "RandomUniformLike")
    return make(graph::InitKind::uniform, realAttribute(node, "low", 0), realAttribute(node, "high", 1));
  const AttributeProto *value = findAttribute(node, "value");
  if (op == "ConstantOfShape" && !value)
    return make(graph::InitKind::zero, 0, 0);
  if ((op == "ConstantOfShape" || op == "Constant") && value && value->has_t()) {
    FailureOr<std::optional<double>> cell = uniformValue(model, value->t(), model.nodeLoc(node));
    if (failed(cell))
      return failure();
    if (*cell)
      return make(graph::InitKind::constant, **cell, 0);
  }
  return emitError(model.nodeLoc(node)) << "--init=random runs an initialization graph of RandomNormal, RandomUniform "
                                           "and constants of one value only; --init=model starts from the initializers";
}

LogicalResult dtcc::onnx::readInitialization(Model &model, ::onnx::TrainingInfoProto &info, const GraphIndex &index,
                                             bool used, llvm::StringMap<graph::InitAttr> &starts) {
  GraphIndex made;
  made.add(*info.mutable_initialization());
  for (const auto &binding : info.initialization_binding()) {
    if (!index.initializer(binding.key()))
      return emitError(model.loc()) << "initialization_binding must name an initializer, got: '" << binding.key()
                                    << "'";
    StringRef value = binding.value();
    const NodeProto *node = made.trueProducer(value);
    if (!node && !made.initializer(value))
      return emitError(model.loc()) << "initialization_binding of '" << binding.key()
                                    << "' must name a value of the initialization graph, got: '" << binding.value()
                                    << "'";
    if (!used || !node)
      continue;
    FailureOr<graph::InitAttr> start = startOf(model, *node);
    if (failed(start))
      return failure();
    starts[binding.key()] = *start;
  }
  return success();
}
