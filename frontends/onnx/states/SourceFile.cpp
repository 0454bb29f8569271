//===- SourceFile.cpp - A file, and what is said of its training
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/states/SourceFile.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace dtcc::onnx;
using ::onnx::FunctionProto;
using ::onnx::TensorProto;

SourceFile::SourceFile(MLIRContext *context, StringRef path, const ImportOptions &options)
    : options(options), model(context, path, options.externalRoot, options.outputs,
                              /*dataOptional=*/options.randomInit || options.hasWeights) {}

/// Names hold no NUL.
static std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (domain + Twine('\0') + name + Twine('\0') + overload).str();
}

LogicalResult SourceFile::load() {
  if (failed(model.load()) || failed(manifest.read(model)) || failed(takeForm()))
    return failure();
  if (!manifest.exists() && !form)
    signature.read(model);
  widenParameters();
  for (const FunctionProto &function : model.proto().functions())
    functions.try_emplace(functionKey(function.domain(), function.name(), function.overload()), &function);
  return success();
}

bool SourceFile::isFromPyTorch() const {
  StringRef producer = model.proto().producer_name();
  return producer.starts_with("pytorch") || producer == "dtcc_export";
}

const FunctionProto *SourceFile::findFunction(const ::onnx::NodeProto &node) const {
  return functions.lookup(functionKey(node.domain(), node.op_type(), node.overload()));
}

LogicalResult SourceFile::takeForm() {
  FailureOr<std::optional<TrainingForm>> found = takeTrainingForm(model, options);
  if (failed(found))
    return failure();
  form = std::move(*found);
  if (!form)
    return success();
  emitRemark(model.loc()) << form->summary;
  // A training graph says itself which of its nodes train.
  options.forceTraining = false;
  return success();
}

/// The graph computes in f32 what the file computes in the type of its parameters; --precision says in what programs
/// compute.
void SourceFile::widenParameters() {
  llvm::MapVector<int32_t, size_t> counts;
  bool single = false;
  for (const TensorProto &tensor : model.proto().graph().initializer()) {
    bool parameter = manifest.exists() ? manifest.find(tensor.name()) != nullptr : tensor.dims_size() >= 2;
    int32_t type = tensor.data_type();
    single |= parameter && type == TensorProto::FLOAT;
    if (parameter && (type == TensorProto::DOUBLE || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16))
      ++counts[type];
  }
  // Tables of f64 beside parameters of f32 are constants.
  if (single && !manifest.exists())
    counts.erase(TensorProto::DOUBLE);
  size_t most = 0;
  for (auto [type, count] : counts) {
    model.widen(type);
    emitRemark(model.loc())
        << "weights are " << elementTypeName(type)
        << ": the step keeps and updates them in f32, and saves them in their own type (--save-type)";
    if (count > most)
      parameterType = elementType(model.getContext(), type);
    most = std::max(most, count);
  }
}
