//===- TrainingInfo.cpp - Models with TrainingInfoProto
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bindings, updates, and the loss of all infos as one graph. InfoReader.h says what is
// recognised.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/file/Tensor.h"
#include "frontends/onnx/training/InfoReader.h"
#include "frontends/onnx/training/Initialization.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::TrainingInfoProto;

FailureOr<double> InfoReader::scalarOf(StringRef name, Location loc) {
  const TensorProto *tensor = index.initializer(name);
  if (!tensor)
    return emitError(loc) << "operand '" << name << "' must be an initializer" << kInstead;
  FailureOr<StoredTensor> stored = model.decode(*tensor, loc);
  if (failed(stored))
    return failure();
  HostTensor cells = stored->hasData ? stored->toHost() : HostTensor();
  if (cells.size() != 1 || !stored->hasData)
    return emitError(loc) << "operand '" << name << "' must hold one number" << kInstead;
  return cells.isFloat() ? cells.floats[0] : static_cast<double>(cells.ints[0]);
}

std::optional<StringRef> InfoReader::incrementOf(StringRef value) {
  const NodeProto *node = index.trueProducer(value);
  if (!isOf(node, "", "Add") || node->input_size() != 2)
    return std::nullopt;
  for (int i : {0, 1}) {
    const TensorProto *one = index.initializer(node->input(i));
    StringRef other = node->input(1 - i);
    if (!one || index.trueProducer(other) || !index.initializer(other) || keys.contains(node->input(i)))
      continue;
    FailureOr<StoredTensor> stored = model.decode(*one, model.nodeLoc(*node));
    if (failed(stored) || !stored->hasData || cellsOf(stored->type.getShape()) != 1)
      continue;
    HostTensor cells = stored->toHost();
    if ((cells.isFloat() ? cells.floats[0] : static_cast<double>(cells.ints[0])) == 1)
      return other;
  }
  return std::nullopt;
}

LogicalResult InfoReader::readBindings(const TrainingInfoProto &info) {
  updates.clear();
  for (const auto &binding : info.update_binding()) {
    if (!index.initializer(binding.key()))
      return emitError(model.loc()) << "update_binding must name an initializer as its key, got: '" << binding.key()
                                    << "'";
    StringRef value = binding.value();
    if (!index.trueProducer(value))
      return emitError(model.loc()) << "update_binding of '" << binding.key()
                                    << "' must name a value that the algorithm computes, got: '" << binding.value()
                                    << "'";
    updates[binding.key()] = value;
  }
  return success();
}

/// Whether `node` is a batch norm whose result `value` is the new value of its running statistic `key`.
static bool movesStatistic(const NodeProto *node, StringRef key, StringRef value) {
  if (!isOf(node, "", "BatchNormalization") || node->input_size() < 5)
    return false;
  for (int i : {1, 2})
    if (i < node->output_size() && node->output(i) == value && node->input(2 + i) == key)
      return true;
  return false;
}

LogicalResult InfoReader::readUpdate(StringRef key, const std::string &value) {
  StringRef made = value;
  const NodeProto *node = index.trueProducer(made);
  Location loc = model.nodeLoc(*node);
  if (node->domain() == kTrainingDomain && node->op_type() != "Gradient") {
    if (!optimizers.contains(node)) {
      FailureOr<OptimizerNode> optimizer = OptimizerNode::read(*node, loc);
      if (failed(optimizer))
        return failure();
      optimizers.emplace(node, *optimizer);
    }
    const OptimizerNode &optimizer = optimizers.at(node);
    for (int i = 0; i < node->output_size(); ++i)
      if (node->output(i) == made && optimizer.updatedBy(i) != key)
        return emitError(loc) << "its result '" << made << "' is the new value of '" << optimizer.updatedBy(i)
                              << "', but update_binding assigns it to '" << key << "'" << kInstead;
    return success();
  }
  if (std::optional<StringRef> counted = incrementOf(value); counted && *counted == key)
    return success();
  if (movesStatistic(node, key, made))
    return success();
  return emitError(loc) << "assigns '" << key << "' what dtcc cannot train by: it knows parameters and slots that "
                        << "Adam, Adagrad or Momentum update, counts that grow by 1, and running statistics of batch "
                        << "norm" << kInstead;
}

LogicalResult InfoReader::readInfo(TrainingInfoProto &info) {
  index = GraphIndex();
  index.add(*model.mutableProto().mutable_graph());
  index.add(*info.mutable_algorithm());
  optimizers.clear();
  current = &info;
  size_t before = objectives.size();
  if (failed(readBindings(info)) || failed(readInitialization(model, info, index, options.randomInit, form.starts)))
    return failure();
  if (options.ownOptimizer) {
    for (const NodeProto &node : info.algorithm().node())
      if (isOf(&node, kTrainingDomain, "Gradient")) {
        FailureOr<Objective *> objective = readGradient(node);
        if (failed(objective))
          return failure();
        for (const std::string &x : findAttribute(node, "xs")->strings()) {
          (*objective)->trained.insert(x);
          form.trained.insert(x);
          form.decayed.insert(x);
        }
      }
  } else {
    for (const auto &binding : info.update_binding())
      if (failed(readUpdate(binding.key(), binding.value())))
        return failure();
    // In the order of the file.
    for (const NodeProto &node : info.algorithm().node())
      if (optimizers.contains(&node) && failed(readOptimizer(optimizers.at(&node))))
        return failure();
  }
  // Infos run one after the other: this one must not see what earlier ones changed, nor may a loss reach what another
  // trains.
  for (size_t i = before; i < objectives.size(); ++i)
    for (const std::string &name : updatedBefore)
      if (objectives[i].ancestors.leaves.contains(name))
        return emitError(model.loc()) << "the loss '" << objectives[i].loss << "' of a later training_info depends on '"
                                      << name << "', which an earlier one has updated by then: dtcc makes one "
                                      << "update of all parameters a step, so losses must not reach each other's";
  for (const auto &update : updates) {
    updatedBefore.insert(update.getKey().str());
    if (std::optional<StringRef> counted = incrementOf(update.getValue()); counted && *counted == update.getKey())
      ++increments[update.getKey()];
  }
  return success();
}

/// Makes the graph the forward pass of all losses, and the sum of these its output.
LogicalResult InfoReader::combine() {
  for (const Objective &a : objectives)
    for (const Objective &b : objectives)
      if (&a != &b)
        for (const auto &name : b.trained)
          if (a.ancestors.leaves.contains(name.getKey()))
            return emitError(model.loc())
                   << "the loss '" << a.loss << "' reaches '" << name.getKey() << "', which the loss '" << b.loss
                   << "' trains: losses must not reach each other's parameters";
  GraphIndex all;
  all.add(*model.mutableProto().mutable_graph());
  for (TrainingInfoProto &info : *model.mutableProto().mutable_training_info())
    all.add(*info.mutable_algorithm());
  GraphIndex::Ancestors kept;
  for (const Objective &objective : objectives) {
    if (all.ancestorsOf(objective.loss).nodes != objective.ancestors.nodes)
      return emitError(model.loc()) << "values of the loss '" << objective.loss
                                    << "' are named as others in the algorithm of another training_info";
    kept.nodes.insert(objective.ancestors.nodes.begin(), objective.ancestors.nodes.end());
    for (const auto &leaf : objective.ancestors.leaves)
      kept.leaves.insert(leaf.getKey());
  }
  std::string result = objectives.front().loss;
  ::onnx::GraphProto &graph = *model.mutableProto().mutable_graph();
  all.cut(kept, result, graph);
  if (objectives.size() == 1)
    return success();
  NodeProto &sum = *graph.add_node();
  sum.set_op_type("Sum");
  sum.add_output(result + ".and_others");
  for (const Objective &objective : objectives)
    sum.add_input(objective.loss);
  graph.mutable_output(0)->set_name(sum.output(0));
  return success();
}

FailureOr<TrainingForm> InfoReader::read() {
  bool starts = false;
  for (const TrainingInfoProto &info : model.proto().training_info())
    for (const auto &binding : info.update_binding())
      if (!keys.insert(binding.key()).second)
        return emitError(model.loc()) << "update_binding must assign an initializer once, got twice: '" << binding.key()
                                      << "'";
  for (TrainingInfoProto &info : *model.mutableProto().mutable_training_info()) {
    starts |= info.initialization_binding_size() > 0;
    if (failed(readInfo(info)))
      return failure();
  }
  if (form.trained.empty())
    return emitError(model.loc()) << "training_info must train something: no update_binding assigns what an optimizer "
                                     "makes of an initializer and its Gradient";
  if (firstOptimizer)
    form.optimizer = firstOptimizer->attribute(model.getContext(), rate, count, decay);
  std::vector<std::string> losses;
  for (const Objective &objective : objectives)
    losses.push_back("'" + objective.loss + "'");
  llvm::raw_string_ostream summary(form.summary);
  summary << "the file brings its own training (training_info): the loss " << llvm::join(losses, " + ")
          << ", trained by ";
  if (firstOptimizer)
    summary << firstOptimizer->proto().op_type() << " of node '" << nameOf(firstOptimizer->proto()) << "' at a rate of "
            << llvm::format("%g", rate);
  else
    summary << "--optimizer instead of the file's";
  if (starts && !options.randomInit)
    summary << "; it starts from the initializers (--init=random: from the initialization graph)";
  if (failed(combine()))
    return failure();
  return std::move(form);
}

FailureOr<std::optional<TrainingForm>> dtcc::onnx::takeTrainingInfo(Model &model, const ImportOptions &options) {
  if (model.proto().training_info_size() == 0)
    return std::optional<TrainingForm>();
  if (options.loss || !options.lossOutput.empty()) {
    emitRemark(model.loc()) << "the file's own training (training_info) is ignored, because "
                            << (options.loss ? "--loss" : "--loss-output") << " names the loss";
    return std::optional<TrainingForm>();
  }
  FailureOr<TrainingForm> form = InfoReader(model, options).read();
  if (failed(form))
    return failure();
  return std::optional<TrainingForm>(std::move(*form));
}
