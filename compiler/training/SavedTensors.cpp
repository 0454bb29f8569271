//===- SavedTensors.cpp - The image's table of the model's tensors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/SavedTensors.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/SavedAs.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace dtcc;
namespace json = llvm::json;

StringRef dtcc::safetensorsType(Type element) {
  static constexpr StringLiteral names[] = {"F32", "F64", "BF16", "F16", "I64", "I32", "I16", "I8", "BOOL"};
  return names[*exec::getDType(element)];
}

SmallVector<UnusedTensor> dtcc::unusedTensors(ModuleOp module) {
  SmallVector<UnusedTensor> tensors;
  if (auto rows = module->getAttrOfType<ArrayAttr>(graph::kUnusedAttr))
    for (auto row : rows.getAsRange<DictionaryAttr>())
      tensors.push_back({row.getAs<StringAttr>("name").getValue(),
                         cast<ShapedType>(row.getAs<TypeAttr>("type").getValue()), row.getAs<ElementsAttr>("value")});
  return tensors;
}

void dtcc::setUnusedTensors(ModuleOp module, ArrayRef<UnusedTensor> tensors) {
  Builder builder(module.getContext());
  SmallVector<Attribute> rows;
  for (const UnusedTensor &tensor : tensors) {
    NamedAttrList row;
    row.set("name", builder.getStringAttr(tensor.name));
    row.set("type", TypeAttr::get(tensor.type));
    if (tensor.value)
      row.set("value", tensor.value);
    rows.push_back(row.getDictionary(module.getContext()));
  }
  if (!rows.empty())
    module->setAttr(graph::kUnusedAttr, builder.getArrayAttr(rows));
}

SmallVector<StringRef> dtcc::aliasesOf(graph::StateOp state) {
  SmallVector<StringRef> names;
  if (auto aliases = state->getAttrOfType<ArrayAttr>(graph::kAliasesAttr))
    for (auto alias : aliases.getAsRange<StringAttr>())
      names.push_back(alias.getValue());
  return names;
}

bool dtcc::mayMissWeights(const Options &options) { return !options.weights.empty() && !options.init.empty(); }

static json::Object stateRow(graph::StateOp state) {
  json::Object row{{"name", state.getSavedName()}, {"shape", json::Array(ArrayRef<int64_t>(state.getSavedShape()))}};
  Type element = cast<ShapedType>(state.getType()).getElementType();
  if (auto stored = state->getAttrOfType<TypeAttr>(graph::kStoredTypeAttr))
    element = stored.getValue();
  row["type"] = safetensorsType(element);
  if (SmallVector<StringRef> aliases = aliasesOf(state); !aliases.empty())
    row["aliases"] = json::Array(aliases);
  if (state.getValue())
    row["stored"] = true;
  return row;
}

std::string dtcc::tensorsText(ModuleOp module, const Options &options) {
  json::Object table;
  if (!options.weights.empty()) {
    SmallString<256> path(options.weights);
    (void)llvm::sys::fs::make_absolute(path);
    table["weights"] = path.str().str();
    table["missing"] = mayMissWeights(options);
  }
  if (module->hasAttr(graph::kCompleteAttr))
    table["complete"] = true;
  if (auto adapters = module->getAttrOfType<StringAttr>(graph::kAdaptersAttr)) {
    if (llvm::Expected<json::Value> forms = json::parse(adapters.getValue()))
      table["adapters"] = std::move(*forms);
    else
      llvm::consumeError(forms.takeError());
  }
  if (auto rows = module->getAttrOfType<ArrayAttr>(graph::kOnnxTensorsAttr)) {
    json::Array list;
    for (auto row : rows.getAsRange<DictionaryAttr>()) {
      json::Object entry{{"name", row.getAs<StringAttr>("name").getValue()},
                         {"tensor", row.getAs<StringAttr>("tensor").getValue()}};
      if (row.contains("transposed"))
        entry["transposed"] = true;
      list.push_back(std::move(entry));
    }
    table["onnx"] = std::move(list);
  }
  if (auto problem = module->getAttrOfType<StringAttr>(graph::kOnnxProblemAttr))
    table["onnx_problem"] = problem.getValue();
  SmallVector<UnusedTensor> unused = unusedTensors(module);
  bool plain = llvm::none_of(module.getOps<graph::StateOp>(), [](graph::StateOp state) {
    return state->hasAttr(graph::kStoredTypeAttr) || state->hasAttr(graph::kAliasesAttr);
  });
  if (table.empty() && unused.empty() && plain)
    return "";
  json::Array list;
  for (auto state : module.getOps<graph::StateOp>())
    list.push_back(stateRow(state));
  for (const UnusedTensor &tensor : unused)
    list.push_back(json::Object{{"name", tensor.name},
                                {"shape", json::Array(tensor.type.getShape())},
                                {"type", safetensorsType(tensor.type.getElementType())},
                                {"stored", bool(tensor.value)}});
  table["tensors"] = std::move(list);
  return llvm::formatv("{0}", json::Value(std::move(table))).str();
}
