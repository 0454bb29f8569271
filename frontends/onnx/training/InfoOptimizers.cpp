//===- InfoOptimizers.cpp - Gradients and optimizers of training information
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optimizer nodes, the gradients that they take, their rate, their count and where their
// slots start.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/file/Tensor.h"
#include "frontends/onnx/training/InfoReader.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// The value that all cells start with; nothing if these are random.
static std::optional<double> constantOf(graph::InitAttr start) {
  bool random = start.getKind() == graph::InitKind::normal || start.getKind() == graph::InitKind::uniform;
  return random ? std::nullopt : std::optional(start.getA());
}

FailureOr<Objective *> InfoReader::readGradient(const NodeProto &node) {
  Location loc = model.nodeLoc(node);
  const AttributeProto *xs = findAttribute(node, "xs"), *zs = findAttribute(node, "zs"), *y = findAttribute(node, "y");
  if (!xs || xs->strings_size() == 0 || !y || y->s().empty())
    return emitError(loc) << "must name what it differentiates (y) and by what (xs)";
  std::vector<std::string> names(xs->strings().begin(), xs->strings().end());
  if (zs)
    names.insert(names.end(), zs->strings().begin(), zs->strings().end());
  if (!llvm::equal(names, node.input(), [](StringRef a, StringRef b) { return a == b; }))
    return emitError(loc) << "must be taken at the tensors that it names in xs and zs, in their order: '"
                          << llvm::join(names, "', '") << "'";
  StringRef loss = y->s();
  if (!index.producer(loss))
    return emitError(loc) << "y must be a value that the algorithm or the model computes, got: '" << loss << "'";
  Objective *objective = nullptr;
  for (Objective &other : objectives)
    if (other.info == current && other.loss == loss)
      objective = &other;
  if (!objective) {
    objectives.push_back({current, loss.str(), {}, index.ancestorsOf(loss)});
    objective = &objectives.back();
  }
  for (const NodeProto &from : current->algorithm().node())
    if (isOf(&from, kTrainingDomain, "Gradient") && objective->ancestors.nodes.contains(&from))
      return emitError(model.nodeLoc(from))
             << "a gradient of a gradient is not supported: '" << loss << "', which node '" << nameOf(node)
             << "' differentiates, is computed from it; losses must be of first order";
  for (const std::string &x : xs->strings()) {
    if (!index.initializer(x))
      return emitError(loc) << "must differentiate by initializers, got: '" << x << "'";
    if (!objective->ancestors.leaves.contains(x))
      return emitError(loc) << "'" << loss << "' must depend on '" << x << "', by which it is differentiated";
  }
  return objective;
}

FailureOr<double> InfoReader::rateOf(const OptimizerNode &node) {
  Location loc = model.nodeLoc(node.proto());
  StringRef name = node.rate();
  if (index.trueProducer(name) || !index.initializer(name) || keys.contains(name))
    return emitError(loc) << "the learning rate '" << node.rate()
                          << "' must be an initializer that no update changes; programs have schedules of their own "
                             "(--lr-schedule)"
                          << kInstead;
  return scalarOf(name, loc);
}

FailureOr<int64_t> InfoReader::firstCountOf(const OptimizerNode &node) {
  Location loc = model.nodeLoc(node.proto());
  StringRef name = node.count();
  int64_t added = 0;
  if (index.trueProducer(name)) {
    std::optional<StringRef> base = incrementOf(name);
    if (!base)
      return emitError(loc) << "the count '" << node.count() << "' must be an initializer, or one plus 1" << kInstead;
    name = *base;
    added = 1;
  }
  FailureOr<double> first = scalarOf(name, loc);
  if (failed(first))
    return failure();
  if (graph::InitAttr start = form.starts.lookup(name))
    first = constantOf(start).value_or(-1);
  if (!(*first >= 0) || *first != std::floor(*first) || *first > kMostExactCount)
    return emitError(loc) << "the count '" << name << "' must start as an integer from 0 to " << kMostExactCount
                          << ", got: " << *first;
  auto update = updates.find(name);
  bool grows = update != updates.end() && incrementOf(update->second) == name;
  if (!grows && node.needsCount())
    return emitError(loc) << "the count '" << name << "' must be updated to itself plus 1, or each step would be the "
                          << "first" << kInstead;
  return static_cast<int64_t>(*first) + added + increments.lookup(name);
}

LogicalResult InfoReader::readSlots(const OptimizerNode &node, int i) {
  Location loc = model.nodeLoc(node.proto());
  const TensorProto *parameter = index.initializer(node.parameter(i));
  std::vector<StoredTensor> values;
  bool zeros = true;
  for (int k = 0; k < node.slots(); ++k) {
    StringRef name = node.slot(k, i);
    const TensorProto *tensor = index.initializer(name);
    if (!tensor)
      return emitError(loc) << "operand '" << name << "' must be an initializer" << kInstead;
    if (updates.lookup(name) != node.newSlot(k, i) || node.newSlot(k, i).empty())
      return emitError(loc) << "'" << name << "' must be updated to the new value that this node computes, or it would "
                            << "start anew each step" << kInstead;
    if (!llvm::equal(tensor->dims(), parameter->dims()) || tensor->data_type() != parameter->data_type())
      return emitError(loc) << "'" << name << "' must have the shape and the type of '" << node.parameter(i) << "'";
    FailureOr<StoredTensor> stored = model.decode(*tensor, loc);
    if (failed(stored))
      return failure();
    graph::InitAttr start = form.starts.lookup(name);
    if (start && constantOf(start) != 0.0)
      return emitError(loc) << "'" << name << "' must start as zeros under --init=random";
    bool random = options.randomInit || !stored->hasData;
    zeros &= random || llvm::all_of(stored->bytes, [](char byte) { return byte == 0; });
    values.push_back(*stored);
  }
  if (zeros)
    return success();
  // The tensors do not outlive the cut of the graph.
  for (StoredTensor &value : values) {
    auto bytes = std::make_shared<std::vector<char>>(value.bytes.begin(), value.bytes.end());
    value.bytes = *bytes;
    value.owner = bytes;
  }
  form.slots[node.parameter(i)] = std::move(values);
  return success();
}

LogicalResult InfoReader::readOptimizer(const OptimizerNode &node) {
  Location loc = model.nodeLoc(node.proto());
  FailureOr<double> nodeRate = rateOf(node);
  FailureOr<int64_t> first = firstCountOf(node);
  if (failed(nodeRate) || failed(first))
    return failure();
  if (node.decay() != 0) {
    if (decay != 0 && decay != node.decay())
      return emitError(loc) << "norm_coefficient must be that of all optimizer nodes, " << decay
                            << ", or 0, got: " << node.decay() << kInstead;
    decay = node.decay();
  }
  MLIRContext *context = model.getContext();
  // Only decay may differ between nodes: parameters decay or do not.
  Attribute plain = node.attribute(context, *nodeRate, *first, 0);
  if (!form.optimizer) {
    form.optimizer = plain;
    firstOptimizer = node;
    rate = *nodeRate, count = *first;
  } else if (form.optimizer != plain) {
    return emitError(loc) << "one optimizer trains all parameters: this node must have the operator, the settings, the "
                          << "rate and the count of node '" << nameOf(firstOptimizer->proto()) << "'" << kInstead;
  }
  for (int i = 0; i < node.parameters(); ++i) {
    StringRef parameter = node.parameter(i), gradient = node.gradient(i);
    auto update = updates.find(parameter);
    // One that is not assigned does not train.
    if (update == updates.end() || update->second != node.newParameter(i))
      continue;
    const NodeProto *from = index.trueProducer(gradient);
    if (!isOf(from, kTrainingDomain, "Gradient"))
      return emitError(from ? model.nodeLoc(*from) : loc)
             << "makes the gradient '" << gradient << "' of '" << parameter << "', which must be a result of Gradient "
             << "as it is; --clip=X clips gradients" << kInstead;
    FailureOr<Objective *> objective = readGradient(*from);
    if (failed(objective))
      return failure();
    int output = static_cast<int>(llvm::find(from->output(), gradient) - from->output().begin());
    if (from->input(output) != parameter)
      return emitError(loc) << "must update '" << parameter << "' by its own gradient, got that of '"
                            << from->input(output) << "'";
    if (!form.trained.insert(parameter).second)
      return emitError(loc) << "must update '" << parameter << "' once";
    (*objective)->trained.insert(parameter);
    if (node.decay() != 0)
      form.decayed.insert(parameter);
    if (!cast<graph::OptimizerAttrInterface>(plain).getSlotNames().empty() && failed(readSlots(node, i)))
      return failure();
  }
  return success();
}
