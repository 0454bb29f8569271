//===- AttachLoss.cpp - A loss named on the command line
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward exports end in logits: the loss and its labels are added here.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Losses.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

namespace {
/// The losses, their options and the two operands of each.
struct LossKind {
  StringRef name, prediction, target;
  ArrayRef<StringRef> options;
};
} // namespace

static constexpr StringRef kCrossEntropyOptions[] = {"logits", "labels", "shift", "ignore_index", "label_smoothing"};
static constexpr StringRef kRegressionOptions[] = {"prediction", "target"};
static constexpr StringRef kBinaryOptions[] = {"logits", "labels"};
static const LossKind kLossKinds[] = {
    {"cross_entropy", "logits", "labels", kCrossEntropyOptions},
    {"mse", "prediction", "target", kRegressionOptions},
    {"l1", "prediction", "target", kRegressionOptions},
    {"bce", "logits", "labels", kBinaryOptions},
};

static const LossKind *findKind(StringRef name) {
  const LossKind *kind = llvm::find_if(kLossKinds, [&](const LossKind &row) { return row.name == name; });
  return kind == std::end(kLossKinds) ? nullptr : kind;
}

std::optional<LossSpec> LossSpec::parse(StringRef text, std::string &error) {
  LossSpec spec;
  auto [kind, rest] = text.split(':');
  const LossKind *row = findKind(kind);
  if (!row) {
    error = "loss must be cross_entropy, mse, l1 or bce, got: " + kind.str();
    return std::nullopt;
  }
  spec.kind = kind.str();
  SmallVector<StringRef> items;
  rest.split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    if (!llvm::is_contained(row->options, key) || value.empty()) {
      error = "loss " + spec.kind + " takes " + llvm::join(row->options, "=, ") + "=, got: " + item.str();
      return std::nullopt;
    }
    spec.options[key] = value.str();
  }
  for (StringRef key : {row->prediction, row->target})
    if (!spec.options.contains(key)) {
      error = "loss " + spec.kind + " must name " + key.str() + "=";
      return std::nullopt;
    }
  return spec;
}

/// The value that an option names.
FailureOr<Tensor> Importer::lossOperand(StringRef key) {
  const std::string &name = options.loss->options.find(key)->second;
  for (const Scope &scope : scopes)
    if (auto found = scope.values.find(name); found != scope.values.end())
      return found->second;
  std::vector<std::string> outputs;
  for (const auto &output : model.proto().graph().output())
    outputs.push_back(output.name());
  return emitError(model.loc()) << "the loss names '" << name << "' as its " << key
                                << ", but the model has no such value; its outputs are '" << llvm::join(outputs, "', '")
                                << "'";
}

FailureOr<Tensor> Importer::attachCrossEntropy() {
  llvm::StringMap<std::string> given = options.loss->options;
  auto number = [&](StringRef key, int64_t otherwise) -> FailureOr<int64_t> {
    auto found = given.find(key);
    int64_t value = otherwise;
    if (found != given.end() && StringRef(found->second).getAsInteger(10, value))
      return emitError(model.loc()) << "loss option " << key << " must be an integer, got: " << found->second;
    return value;
  };
  if (auto smoothing = given.find("label_smoothing"); smoothing != given.end()) {
    double value;
    if (StringRef(smoothing->second).getAsDouble(value) || value != 0)
      return emitError(model.loc()) << "label_smoothing is not supported yet, got: " << smoothing->second;
  }
  FailureOr<Tensor> logits = lossOperand("logits");
  FailureOr<int64_t> shift = number("shift", 0), ignore = number("ignore_index", -100);
  if (failed(logits) || failed(shift) || failed(ignore))
    return failure();
  if (!isFloat(*logits) || rankOf(*logits) < 1 + (*shift != 0))
    return emitError(model.loc()) << "the logits of a cross entropy must be floats [.., classes], got: "
                                  << (*logits)->type;
  auto type = RankedTensorType::get(shapeOf(*logits).drop_back(), emitter.getBuilder().getI64Type());
  if (*shift < 0 || (*shift > 0 && *shift >= type.getShape().back()))
    return emitError(model.loc()) << "shift must be at least 0 and below the sequence length, got: " << *shift;
  const std::string &name = given["labels"];
  Tensor labels = scopes.front().values.lookup(name);
  if (labels && (shapeOf(labels) != type.getShape() || isFloat(labels)))
    return emitError(model.loc()) << "labels '" << name << "' must be integers of type " << type
                                  << ", got: " << labels->type;
  if (!labels)
    labels = addInput(name, type);
  if (*shift > 0)
    labels = emitter.fromValue(graph::ShiftOp::create(emitter.getBuilder(), model.loc(), labels->type,
                                                      emitter.value(labels), rankOf(labels) - 1, *shift, *ignore));
  Tensor loss = crossEntropy(emitter, *logits, labels, *ignore);
  if (!loss)
    return failure();
  return loss;
}

FailureOr<Tensor> Importer::attachLoss() {
  const LossKind *kind = findKind(options.loss->kind);
  if (kind->name == "cross_entropy")
    return attachCrossEntropy();
  FailureOr<Tensor> prediction = lossOperand(kind->prediction);
  if (failed(prediction))
    return failure();
  Tensor x = *prediction;
  if (!isFloat(x))
    return emitError(model.loc()) << "the " << kind->prediction << " of a loss must be floats, got: " << x->type;
  const std::string &name = options.loss->options.find(kind->target)->second;
  Tensor y = scopes.front().values.lookup(name);
  if (y && y->type != x->type)
    return emitError(model.loc()) << "the " << kind->target << " '" << name << "' must have type " << x->type
                                  << ", got: " << y->type;
  if (!y)
    y = addInput(name, x->type);
  Tensor cells;
  if (kind->name == "mse") {
    Tensor difference = emitter.sub(x, y);
    cells = emitter.mul(difference, difference);
  } else if (kind->name == "l1") {
    cells = emitter.unary<graph::AbsOp>(emitter.sub(x, y));
  } else {
    // -y log p - (1 - y) log(1 - p) of p = logistic(x), without overflow: max(x, 0) - x y + log(1 + exp(-|x|)).
    Tensor small = emitter.unary<graph::ExpOp>(emitter.unary<graph::NegOp>(emitter.unary<graph::AbsOp>(x)));
    Tensor log = emitter.unary<graph::LogOp>(emitter.add(emitter.scalar(1, elementOf(x)), small));
    cells = emitter.add(emitter.sub(emitter.unary<graph::ReluOp>(x), emitter.mul(x, y)), log);
  }
  Tensor loss = emitter.mean(cells, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x))), /*keep=*/false);
  if (!loss)
    return failure();
  return loss;
}
