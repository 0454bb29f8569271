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

#include "frontends/onnx/Finish.h"
#include "frontends/onnx/Losses.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Reductions.h"
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

static constexpr StringRef kCrossEntropyOptions[] = {"logits", "labels",       "axis",
                                                     "shift",  "ignore_index", "label_smoothing"};
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

/// The op of type OpTy whose cells `value` holds, perhaps moved; or null.
template <typename OpTy> static OpTy madeBy(Value value) {
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
    if (auto found = dyn_cast<OpTy>(op))
      return found;
    if (!isa<graph::ReshapeOp, graph::TransposeOp, graph::CastOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
}

/// The operand of the node of type `op` that `name` comes from, or nothing where the file does not show it.
static std::string operandBehind(const ::onnx::GraphProto &graph, StringRef name, StringRef op) {
  for (const ::onnx::NodeProto &node : llvm::reverse(graph.node())) {
    if (!llvm::is_contained(node.output(), name) || node.input_size() == 0)
      continue;
    if (node.op_type() == op)
      return node.input(0);
    name = node.input(0);
  }
  return "";
}

/// Logits of a loss must be scores: of probabilities the loss would be another one.
static LogicalResult checkScores(const SourceFile &source, StringRef key, const Tensor &logits) {
  const LossSpec &loss = *source.options.loss;
  const Model &model = source.model;
  auto softmax = madeBy<graph::SoftmaxOp>(logits->value);
  bool binary = loss.kind == "bce";
  if (binary ? !madeBy<graph::LogisticOp>(logits->value) : !softmax || softmax.getLog())
    return success();
  StringRef function = binary ? "Sigmoid" : "Softmax";
  const std::string &name = loss.options.find(key)->second;
  std::string scores = operandBehind(model.proto().graph(), name, function);
  return emitError(model.loc()) << "the loss takes scores, which it turns into probabilities itself, but '" << name
                                << "' is the output of a " << function
                                << (scores.empty() ? "; name its input" : ": use ")
                                << (scores.empty() ? "" : (key + "=" + scores).str());
}

/// The value that an option names.
static FailureOr<Tensor> lossOperand(const BuiltFunction &built, StringRef key) {
  const Model &model = built.source.model;
  const std::string &name = built.source.options.loss->options.find(key)->second;
  if (Tensor found = built.scopes.defined(name)) {
    if (key == "logits" && failed(checkScores(built.source, key, found)))
      return failure();
    return found;
  }
  std::vector<std::string> outputs;
  for (const auto &output : model.proto().graph().output())
    outputs.push_back(output.name());
  return emitError(model.loc()) << "the loss names '" << name << "' as its " << key
                                << ", but the model has no such value; its outputs are '" << llvm::join(outputs, "', '")
                                << "'";
}

/// (1 - smoothing) times the loss, plus smoothing times the mean of -log p over all classes, as PyTorch.
static Tensor smoothed(Emitter &emitter, const Tensor &loss, const Tensor &logits, const Tensor &labels, int64_t ignore,
                       double smoothing) {
  if (!loss)
    return nullptr;
  Type f32 = emitter.getBuilder().getF32Type();
  Tensor zero = emitter.scalar(0, f32);
  Tensor logs = emitter.cast(softmax(emitter, logits, {rankOf(logits) - 1}, /*log=*/true), f32);
  Tensor counted = emitter.compare(graph::Predicate::ne, labels, emitter.scalar(double(ignore), elementOf(labels)));
  Tensor terms = emitter.select(unsqueeze(emitter, counted, rankOf(labels)), logs, zero);
  Tensor all = reduce(emitter, Reduction::Sum, terms, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(logits))),
                      /*keep=*/false);
  double share = -smoothing / double(shapeOf(logits).back());
  auto result = std::make_shared<TensorData>(*loss);
  result->value = nullptr;
  result->sum = emitter.add(emitter.mul(loss->sum, emitter.scalar(1 - smoothing, f32)),
                            emitter.mul(all, emitter.scalar(share, f32)));
  return result->sum ? result : nullptr;
}

static FailureOr<Tensor> attachCrossEntropy(const BuiltFunction &built) {
  const Model &model = built.source.model;
  Emitter &emitter = built.emitter;
  llvm::StringMap<std::string> given = built.source.options.loss->options;
  auto number = [&](StringRef key, int64_t otherwise) -> FailureOr<int64_t> {
    auto found = given.find(key);
    int64_t value = otherwise;
    if (found != given.end() && StringRef(found->second).getAsInteger(10, value))
      return emitError(model.loc()) << "loss option " << key << " must be an integer, got: " << found->second;
    return value;
  };
  double smoothing = 0;
  if (auto found = given.find("label_smoothing"); found != given.end())
    if (StringRef(found->second).getAsDouble(smoothing) || !(smoothing >= 0 && smoothing <= 1))
      return emitError(model.loc()) << "label_smoothing must be between 0 and 1, got: " << found->second;
  FailureOr<Tensor> logits = lossOperand(built, "logits");
  FailureOr<int64_t> shift = number("shift", 0), ignore = number("ignore_index", -100), axis = number("axis", -1);
  if (failed(logits) || failed(shift) || failed(ignore) || failed(axis))
    return failure();
  if (int64_t rank = rankOf(*logits); rank > 0) {
    if (*axis < -rank || *axis >= rank)
      return emitError(model.loc()) << "axis must be one of the " << rank
                                    << " dimensions of the logits, got: " << *axis;
    SmallVector<int64_t> turn = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    turn.erase(turn.begin() + (*axis < 0 ? *axis + rank : *axis));
    turn.push_back(*axis < 0 ? *axis + rank : *axis);
    if (shapeOf(*logits)[turn.back()] < 2)
      return emitError(model.loc()) << "the classes of a cross entropy must be at least 2, but dimension "
                                    << turn.back() << " of the logits has 1 cell: " << (*logits)->type
                                    << "; name the dimension of the classes, as axis=1";
    logits = emitter.transpose(*logits, turn);
  }
  if (!isFloat(*logits) || rankOf(*logits) < 1 + (*shift != 0))
    return emitError(model.loc()) << "the logits of a cross entropy must be floats [.., classes], got: "
                                  << (*logits)->type;
  auto type = RankedTensorType::get(shapeOf(*logits).drop_back(), emitter.getBuilder().getI64Type());
  if (*shift < 0 || (*shift > 0 && *shift >= type.getShape().back()))
    return emitError(model.loc()) << "shift must be at least 0 and below the sequence length, got: " << *shift;
  const std::string &name = given["labels"];
  Tensor labels = built.scopes.defined(name);
  if (labels && (shapeOf(labels) != type.getShape() || isFloat(labels)))
    return emitError(model.loc()) << "labels '" << name << "' must be integers of type " << type
                                  << ", got: " << labels->type;
  if (!labels)
    labels = built.addInput(name, type);
  if (*shift > 0)
    labels = emitter.fromValue(graph::ShiftOp::create(emitter.getBuilder(), model.loc(), labels->type,
                                                      emitter.value(labels), rankOf(labels) - 1, *shift, *ignore));
  Tensor loss = crossEntropy(emitter, *logits, labels, *ignore);
  if (smoothing > 0)
    loss = smoothed(emitter, loss, *logits, labels, *ignore, smoothing);
  if (!loss)
    return failure();
  return loss;
}

FailureOr<Tensor> dtcc::onnx::attachLoss(const BuiltFunction &built) {
  const Model &model = built.source.model;
  const LossSpec &spec = *built.source.options.loss;
  Emitter &emitter = built.emitter;
  const LossKind *kind = findKind(spec.kind);
  if (kind->name == "cross_entropy")
    return attachCrossEntropy(built);
  FailureOr<Tensor> prediction = lossOperand(built, kind->prediction);
  if (failed(prediction))
    return failure();
  Tensor x = *prediction;
  if (!isFloat(x))
    return emitError(model.loc()) << "the " << kind->prediction << " of a loss must be floats, got: " << x->type;
  const std::string &name = spec.options.find(kind->target)->second;
  Tensor y = built.scopes.defined(name);
  if (y && y->type != x->type)
    return emitError(model.loc()) << "the " << kind->target << " '" << name << "' must have type " << x->type
                                  << ", got: " << y->type;
  if (!y)
    y = built.addInput(name, x->type);
  Tensor cells;
  if (kind->name == "mse") {
    Tensor difference = emitter.sub(x, y);
    cells = emitter.mul(difference, difference);
  } else if (kind->name == "l1") {
    cells = emitter.unary<graph::AbsOp>(emitter.sub(x, y));
  } else {
    // -y log p - (1 - y) log(1 - p) of p = logistic(x). Scores of 0, as those of a layer that starts with zeros, have
    // the gradient 1/2 - y.
    cells = emitter.sub(softplus(emitter, x), emitter.mul(x, y));
  }
  Tensor loss = mean(emitter, cells, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x))), /*keep=*/false);
  if (!loss)
    return failure();
  return loss;
}
