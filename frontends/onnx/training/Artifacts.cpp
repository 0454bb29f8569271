//===- Artifacts.cpp - Training artifacts of ONNX Runtime
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// onnxruntime.training.artifacts.generate_artifacts writes four files into a folder:
//
//   training_model.onnx    forward and backward pass. Inputs: the data, the parameters, for each trained parameter p
//                          `p_grad.accumulation.buffer`, and `lazy_reset_grad`. Output 0: the loss
//   eval_model.onnx        the forward pass for evaluation; not read
//   optimizer_model.onnx   perhaps InplaceClipGradNorm, then AdamWOptimizer or SGDOptimizerV2
//   checkpoint             the parameters
//
// The ancestors of the loss are the forward pass. The files hold no learning rate: it is the
// runtime's default, 0.001, until the program's --lr says otherwise.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/Checkpoint.h"
#include "frontends/onnx/training/GraphIndex.h"
#include "frontends/onnx/training/TrainingForm.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::ValueInfoProto;

static constexpr StringLiteral kRuntimeDomain = "com.microsoft", kGradient = "_grad.accumulation.buffer",
                               kReset = "lazy_reset_grad", kCheckpoint = "checkpoint",
                               kOptimizerModel = "optimizer_model.onnx";
/// The learning rate of onnxruntime.training's Optimizer until it is set.
static constexpr double kDefaultRate = 1e-3;

static int64_t integer(const NodeProto &node, StringRef name, int64_t otherwise) {
  const ::onnx::AttributeProto *attribute = findAttribute(node, name);
  return attribute ? attribute->i() : otherwise;
}

/// The optimizer of a node of optimizer_model.onnx, or null if the node is none.
static Attribute optimizerOf(MLIRContext *context, const NodeProto &node) {
  if (node.op_type() == "SGDOptimizerV2")
    return graph::SgdAttr::get(context, kDefaultRate, 0.0, 0.0, 0.0, false);
  if (node.op_type() != "AdamWOptimizer")
    return nullptr;
  double beta1 = realAttribute(node, "alpha", 0.9f), beta2 = realAttribute(node, "beta", 0.999f),
         eps = realAttribute(node, "epsilon", 1e-8f);
  double decay = realAttribute(node, "weight_decay", 1e-2f);
  // Mode 0 is PyTorch's AdamW, mode 1 that of Hugging Face: epsilon before the correction, decay behind the step.
  bool second = integer(node, "adam_mode", 0) == 1;
  if (integer(node, "correct_bias", 1) != 1 || !(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1))
    return nullptr;
  return graph::AdamAttr::get(context, kDefaultRate, beta1, beta2, eps, decay, /*decoupled=*/true, /*raw_eps=*/second,
                              /*decay_last=*/second, /*post_decay=*/0.0, /*start=*/0);
}

/// Reads optimizer_model.onnx beside the model into `form`; `name` becomes the optimizer's.
static LogicalResult readOptimizer(Model &model, TrainingForm &form, std::string &name) {
  std::string path = model.getFolder() + "/" + kOptimizerModel.str();
  if (!llvm::sys::fs::exists(path))
    return emitError(model.loc())
           << "the optimizer of the artifacts must stand beside the training model: there is no '" << path
           << "'; or name one by --optimizer=KIND:lr=...";
  Model optimizer(model.getContext(), path, "", {}, /*dataOptional=*/false);
  if (failed(optimizer.load()))
    return failure();
  for (const NodeProto &node : optimizer.proto().graph().node()) {
    if (node.domain() == kRuntimeDomain && node.op_type() == "InplaceClipGradNorm") {
      form.clip = realAttribute(node, "max_norm", 1);
      if (!(form.clip > 0))
        return emitError(optimizer.nodeLoc(node)) << "max_norm must be above 0, got: " << form.clip;
      continue;
    }
    Attribute found = node.domain() == kRuntimeDomain ? optimizerOf(model.getContext(), node) : nullptr;
    if (!found || form.optimizer)
      return emitError(optimizer.nodeLoc(node))
             << "the optimizer of the artifacts must be one AdamWOptimizer with bias correction or one SGDOptimizerV2, "
                "perhaps behind InplaceClipGradNorm; --optimizer=KIND:lr=... trains by another one";
    form.optimizer = found;
    name = node.op_type();
  }
  if (!form.optimizer)
    return emitError(optimizer.loc()) << "holds no optimizer; --optimizer=KIND:lr=... names one";
  return success();
}

/// Whether an input has the type of a tensor of the checkpoint. Parameters have static shapes.
static bool hasTypeOf(const ValueInfoProto &input, const CheckpointTensor &tensor) {
  const auto &type = input.type().tensor_type();
  return type.elem_type() == tensor.type &&
         llvm::equal(type.shape().dim(), tensor.dims,
                     [](const auto &dim, int64_t size) { return dim.has_dim_value() && dim.dim_value() == size; });
}

/// Inputs that the checkpoint holds become initializers, whose data lie in its file.
static LogicalResult bindParameters(Model &model, ArrayRef<CheckpointTensor> tensors) {
  ::onnx::GraphProto &graph = *model.mutableProto().mutable_graph();
  llvm::StringMap<const ValueInfoProto *> inputs;
  for (const ValueInfoProto &input : graph.input())
    inputs[input.name()] = &input;
  for (const CheckpointTensor &tensor : tensors) {
    const ValueInfoProto *input = inputs.lookup(tensor.name);
    if (!input)
      return emitError(model.loc()) << "the checkpoint holds '" << tensor.name
                                    << "', which is no input of the training model: they are of different artifacts";
    if (!hasTypeOf(*input, tensor))
      return emitError(model.loc()) << "the checkpoint holds '" << tensor.name << "' with the shape ["
                                    << llvm::join(
                                           llvm::map_range(tensor.dims, [](int64_t d) { return std::to_string(d); }),
                                           ", ")
                                    << "], the training model with another one or another type: they are of different "
                                       "artifacts";
    TensorProto &made = *graph.add_initializer();
    made.set_name(tensor.name);
    made.set_data_type(tensor.type);
    for (int64_t size : tensor.dims)
      made.add_dims(size);
    made.set_data_location(TensorProto::EXTERNAL);
    for (auto [key, value] :
         {std::pair("location", kCheckpoint.str()), std::pair("offset", std::to_string(tensor.offset)),
          std::pair("length", std::to_string(tensor.bytes))}) {
      auto &entry = *made.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  return success();
}

FailureOr<std::optional<TrainingForm>> dtcc::onnx::takeRuntimeArtifacts(Model &model, const ImportOptions &options) {
  ::onnx::GraphProto &graph = *model.mutableProto().mutable_graph();
  bool isTraining = llvm::any_of(graph.input(), [](const auto &input) { return input.name() == kReset; });
  if (!isTraining && llvm::any_of(graph.node(), [](const NodeProto &node) {
        return node.domain() == kRuntimeDomain &&
               (node.op_type() == "AdamWOptimizer" || node.op_type() == "SGDOptimizerV2");
      }))
    return emitError(model.loc()) << "this is the optimizer of ONNX Runtime's training artifacts; compile the training "
                                     "model beside it, training_model.onnx";
  // The evaluation model takes its parameters as inputs, so nothing in it could train.
  if (!isTraining && llvm::sys::path::filename(model.getPath()) == "eval_model.onnx" &&
      llvm::sys::fs::exists(model.getFolder() + "/training_model.onnx"))
    return emitError(model.loc()) << "this is the evaluation model of ONNX Runtime's training artifacts; compile the "
                                     "training model beside it, training_model.onnx";
  if (!isTraining)
    return std::optional<TrainingForm>();
  if (options.loss || !options.lossOutput.empty())
    return emitError(model.loc()) << (options.loss ? "--loss" : "--loss-output")
                                  << " cannot be given with a training model of ONNX Runtime's artifacts: its loss is "
                                     "its first output";
  if (graph.output_size() == 0)
    return emitError(model.loc()) << "the graph has no output";
  TrainingForm form;
  std::string optimizer = "--optimizer";
  if (!options.ownOptimizer && failed(readOptimizer(model, form, optimizer)))
    return failure();
  FailureOr<Checkpoint> checkpoint = readCheckpoint(model.getFolder() + "/" + kCheckpoint.str(), model.loc());
  if (failed(checkpoint))
    return failure();
  if (checkpoint->hasOptimizerState && !options.ownOptimizer)
    return emitError(model.loc())
           << "the checkpoint holds the moments of an optimizer, which dtcc does not read: save it "
              "without (include_optimizer_state=False), or start anew by --optimizer=KIND:lr=...";
  for (const auto *list : {&checkpoint->trainable, &checkpoint->frozen})
    if (failed(bindParameters(model, *list)))
      return failure();
  llvm::StringSet<> held;
  for (const CheckpointTensor &tensor : checkpoint->trainable)
    held.insert(tensor.name);
  for (const ValueInfoProto &input : graph.input()) {
    StringRef name = input.name();
    if (!name.consume_back(kGradient))
      continue;
    if (!held.contains(name))
      return emitError(model.loc()) << "the training model trains '" << name << "', which the checkpoint does not hold "
                                    << "as a trained parameter: they are of different artifacts";
    form.trained.insert(name);
    form.decayed.insert(name);
  }
  std::string loss = graph.output(0).name();
  GraphIndex index;
  index.add(graph);
  index.cut(index.ancestorsOf(loss), loss, graph);
  llvm::raw_string_ostream summary(form.summary);
  summary << "a training model of ONNX Runtime's artifacts: the loss '" << loss << "', trained by " << optimizer;
  if (!options.ownOptimizer)
    summary << " at a rate of " << llvm::format("%g", kDefaultRate);
  if (form.clip > 0)
    summary << ", gradients clipped to a norm of " << llvm::format("%g", form.clip);
  summary << "; its backward pass is made anew";
  return std::optional<TrainingForm>(std::move(form));
}
