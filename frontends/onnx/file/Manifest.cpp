//===- Manifest.cpp - What the exporting module knew of its parameters
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/file/Manifest.h"
#include "dialects/interfaces/ParseJson.h"
#include "frontends/onnx/file/Model.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace dtcc::onnx;

LogicalResult Manifest::read(const Model &model) {
  for (const auto &property : model.proto().metadata_props()) {
    if (property.key() != "dtcc.manifest")
      continue;
    llvm::Expected<llvm::json::Value> parsed = parseJson(property.value());
    if (!parsed)
      return emitError(model.loc()) << "the metadata 'dtcc.manifest' is not JSON: "
                                    << llvm::toString(parsed.takeError());
    const llvm::json::Object *facts = parsed->getAsObject();
    const llvm::json::Array *rows = facts ? facts->getArray("parameters") : nullptr;
    if (!rows || facts->getInteger("version") != 1)
      return emitError(model.loc()) << "the metadata 'dtcc.manifest' must be of version 1 and list parameters";
    present = true;
    if (const llvm::json::Object *described = facts->getObject("loss")) {
      if (failed(readShift(*described, model)))
        return failure();
      loss = described->getString("output").value_or("").str();
    }
    if (const llvm::json::Value *forms = facts->get("adapters"))
      adapterForms = llvm::formatv("{0}", *forms);
    if (failed(readBuffers(*facts, model)) || failed(readConditions(*facts, model)))
      return failure();
    for (const llvm::json::Value &value : *rows) {
      const llvm::json::Object *row = value.getAsObject();
      std::optional<StringRef> name = row ? row->getString("initializer") : std::nullopt;
      if (!name)
        return emitError(model.loc()) << "a parameter of the metadata 'dtcc.manifest' must name its initializer";
      addName(*row, *name);
      ManifestEntry &entry = entries[*name];
      entry.trainable = row->getBoolean("trainable").value_or(true);
      entry.decay = row->getBoolean("decay").value_or(true);
      entry.lrScale = row->getNumber("lr_scale");
      entry.weightDecay = row->getNumber("weight_decay");
      for (std::optional<double> number : {entry.lrScale, entry.weightDecay})
        if (number && !(*number >= 0))
          return emitError(model.loc()) << "lr_scale and weight_decay of '" << *name
                                        << "' in the metadata 'dtcc.manifest' must be at least 0, got: " << *number;
      entry.paddingIndex = row->getInteger("padding_idx").value_or(-1);
    }
    // A buffer that is not persistent is no part of what a module saves.
    if (const llvm::json::Array *buffers = facts->getArray("buffers"))
      for (const llvm::json::Value &value : *buffers)
        if (const llvm::json::Object *row = value.getAsObject(); row && row->getBoolean("persistent").value_or(true))
          if (std::optional<StringRef> name = row->getString("initializer"))
            addName(*row, *name);
  }
  return success();
}

LogicalResult Manifest::readShift(const llvm::json::Object &described, const Model &model) {
  const llvm::json::Value *said = described.get("shift");
  if (!said || said->getAsNull())
    return success();
  // A loss compares each position with its own label or with a later one. No window is as long as the bound.
  constexpr int64_t most = int64_t(1) << 31;
  shift = said->getAsInteger();
  if (!shift || *shift < 0 || *shift > most)
    return emitError(model.loc()) << "the shift of the loss in the metadata 'dtcc.manifest' must be an integer from 0 "
                                     "to 2^31, got: "
                                  << llvm::formatv("{0}", *said).str();
  return success();
}

LogicalResult Manifest::readBuffers(const llvm::json::Object &facts, const Model &model) {
  const llvm::json::Array *rows = facts.getArray("buffers");
  if (!rows)
    return success();
  for (const llvm::json::Value &value : *rows) {
    const llvm::json::Object *row = value.getAsObject();
    const llvm::json::Object *update = row ? row->getObject("update") : nullptr;
    if (!update)
      continue;
    std::optional<StringRef> buffer = row->getString("initializer"), next = update->getString("value");
    if (!buffer || !next)
      return emitError(model.loc()) << "a buffer of the metadata 'dtcc.manifest' that a step changes must name its "
                                       "initializer and the value that follows it";
    updates.push_back({buffer->str(), next->str()});
  }
  return success();
}

LogicalResult Manifest::readConditions(const llvm::json::Object &facts, const Model &model) {
  const llvm::json::Array *rows = facts.getArray("conditions");
  if (!rows)
    return success();
  for (const llvm::json::Value &value : *rows) {
    const llvm::json::Object *row = value.getAsObject();
    std::optional<StringRef> condition = row ? row->getString("condition") : std::nullopt;
    if (!condition)
      return emitError(model.loc()) << "each of the conditions in the metadata 'dtcc.manifest' must name its condition";
    conditions.push_back({condition->str(), row->getString("line").value_or("").str()});
  }
  return success();
}

bool Manifest::isUpdated(StringRef initializer) const {
  return llvm::any_of(updates, [&](const Update &update) { return update.buffer == initializer; });
}

void Manifest::addName(const llvm::json::Object &row, StringRef initializer) {
  std::vector<std::string> &all = names[initializer];
  if (all.empty())
    order.push_back(initializer.str());
  all.push_back(row.getString("name").value_or(initializer).str());
}

ArrayRef<std::string> Manifest::namesOf(StringRef initializer) const {
  auto found = names.find(initializer);
  return found == names.end() ? ArrayRef<std::string>() : ArrayRef(found->second);
}

const ManifestEntry *Manifest::find(StringRef initializer) const {
  auto found = entries.find(initializer);
  return found == entries.end() ? nullptr : &found->second;
}
