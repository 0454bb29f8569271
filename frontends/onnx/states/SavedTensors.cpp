//===- SavedTensors.cpp - What saving needs to know of a file
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types in which parameters are stored, names of tied ones, tensors that the step does not use,
// and the file itself without its parameters.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/states/SavedTensors.h"
#include "dialects/graph/SavedAs.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::TensorProto;

/// Limit in bytes for the constants of a model that a program keeps to save an ONNX file. Every program that is
/// compiled from the model holds these constants.
static constexpr size_t kLargestKeptModel = 256 << 20;

void dtcc::onnx::describeTensors(ModuleOp top, SourceFile &source, MutableArrayRef<State> states) {
  Builder builder(top.getContext());
  const Manifest &manifest = source.manifest;
  Model &model = source.model;
  if (source.parameterType)
    top->setAttr(graph::kParameterTypeAttr, TypeAttr::get(source.parameterType));
  for (State &state : states) {
    SmallVector<Attribute> aliases;
    for (const std::string &name : manifest.namesOf(state.name))
      if (name != state.op.getSavedName())
        aliases.push_back(builder.getStringAttr(name));
    for (const State::Tie &tie : state.ties)
      if (!tie.transposed)
        aliases.push_back(builder.getStringAttr(tie.name));
    if (!aliases.empty())
      state.op->setAttr(graph::kAliasesAttr, builder.getArrayAttr(aliases));
  }
  if (!manifest.exists())
    return;
  top->setAttr(graph::kCompleteAttr, builder.getUnitAttr());
  if (!manifest.adapters().empty())
    top->setAttr(graph::kAdaptersAttr, builder.getStringAttr(manifest.adapters()));
  SmallVector<Attribute> unused;
  llvm::StringSet<> used;
  for (const State &state : states)
    used.insert(state.name);
  llvm::StringMap<const TensorProto *> initializers;
  for (const TensorProto &tensor : model.proto().graph().initializer())
    initializers[tensor.name()] = &tensor;
  for (const std::string &name : manifest.saved()) {
    const TensorProto *tensor = initializers.lookup(name);
    if (used.contains(name) || !tensor || !model.elementType(tensor->data_type()))
      continue;
    FailureOr<StoredTensor> stored = model.decode(*tensor, model.loc());
    if (failed(stored))
      continue;
    stored->name = name;
    for (const std::string &each : manifest.namesOf(name)) {
      NamedAttrList row;
      row.set("name", builder.getStringAttr(each));
      row.set("type", TypeAttr::get(RankedTensorType::get(stored->type.getShape(), stored->stored)));
      if (stored->hasData)
        row.set("value", stored->toResource());
      unused.push_back(row.getDictionary(top.getContext()));
    }
  }
  if (!unused.empty())
    top->setAttr(graph::kUnusedAttr, builder.getArrayAttr(unused));
}

void dtcc::onnx::describeOnnx(ModuleOp top, SourceFile &source, MutableArrayRef<State> states) {
  Builder builder(top.getContext());
  Model &model = source.model;
  auto problem = [&](const Twine &text) { top->setAttr(graph::kOnnxProblemAttr, builder.getStringAttr(text)); };
  llvm::StringSet<> initializers;
  for (const TensorProto &tensor : model.proto().graph().initializer())
    initializers.insert(tensor.name());
  SmallVector<Attribute> rows;
  llvm::StringSet<> dropped;
  auto add = [&](StringRef name, StringRef tensor, bool transposed) {
    NamedAttrList row;
    row.set("name", builder.getStringAttr(name));
    row.set("tensor", builder.getStringAttr(tensor));
    if (transposed)
      row.set("transposed", builder.getUnitAttr());
    rows.push_back(row.getDictionary(top.getContext()));
    dropped.insert(name);
  };
  for (State &state : states) {
    if (!initializers.contains(state.name))
      return problem("its parameter '" + state.name +
                     "' is no initializer of the file, whose exporter merged or dropped it (tools/export keeps all)");
    add(state.name, state.op.getSavedName(), false);
    for (const State::Tie &tie : state.ties)
      add(tie.name, state.op.getSavedName(), tie.transposed);
  }
  if (auto unused = top->getAttrOfType<ArrayAttr>(graph::kUnusedAttr))
    for (auto row : unused.getAsRange<DictionaryAttr>())
      if (StringRef name = row.getAs<StringAttr>("name").getValue(); initializers.contains(name))
        add(name, name, false);
  FailureOr<std::string> bytes = model.withoutInitializers([&](StringRef name) { return dropped.contains(name); });
  if (failed(bytes))
    return problem("constants of the file are larger than 256 MiB, or have no data");
  top->setAttr(graph::kOnnxModelAttr, builder.getStringAttr(*bytes));
  top->setAttr(graph::kOnnxTensorsAttr, builder.getArrayAttr(rows));
}

FailureOr<std::string> Model::withoutInitializers(llvm::function_ref<bool(StringRef)> drops) {
  ::onnx::GraphProto *graph = message->mutable_graph();
  // Set aside, not copied: they may be large, and what was decoded of them is in use.
  google::protobuf::RepeatedPtrField<TensorProto> all;
  graph->mutable_initializer()->Swap(&all);
  ::onnx::GraphProto kept = *graph;
  std::unique_ptr<::onnx::GraphProto> whole(message->release_graph());
  std::string outer = message->SerializeAsString();
  message->set_allocated_graph(whole.release());
  message->mutable_graph()->mutable_initializer()->Swap(&all);
  size_t bytes = 0;
  for (const TensorProto &tensor : message->graph().initializer()) {
    if (drops(tensor.name()))
      continue;
    if ((bytes += tensor.ByteSizeLong()) > kLargestKeptModel)
      return failure();
    TensorProto *copy = kept.add_initializer();
    *copy = tensor;
    if (tensor.data_location() != TensorProto::EXTERNAL)
      continue;
    if (!elementType(tensor.data_type()))
      return failure();
    FailureOr<StoredTensor> stored = decode(tensor, fileLoc);
    if (failed(stored) || !stored->hasData || (bytes += stored->bytes.size()) > kLargestKeptModel)
      return failure();
    copy->clear_external_data();
    copy->clear_data_location();
    copy->set_raw_data(stored->bytes.data(), stored->bytes.size());
  }
  std::string result(sizeof(uint64_t), '\0');
  llvm::support::endian::write64le(result.data(), outer.size());
  return result + outer + kept.SerializeAsString();
}
