//===- TensorTable.cpp - The model's tensors as users know them -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/TensorTable.h"

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/core/Error.h"

#include <map>
#include <nlohmann/json.hpp>

namespace dtcc::rt {

TensorTable::TensorTable(const Image &image) {
  std::map<std::string, const dtcc_state *> states;
  for (const dtcc_state &state : image.states())
    if ((state.role == DTCC_STATE_PARAMETER || state.role == DTCC_STATE_BUFFER) && !image.isCopy(state))
      states.emplace(image.string(state.name), &state);
  std::string_view text = image.string(image.header().tensors);
  auto bad = [](const char *what) { fail("damaged program: the table of the model's tensors ", what); };
  auto json =
      text.empty() ? nlohmann::json::object() : nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    bad("is not a JSON object");
  auto flag = [](const nlohmann::json &from, const char *key) {
    auto found = from.find(key);
    return found != from.end() && found->is_boolean() && found->get<bool>();
  };
  if (auto found = json.find("weights"); found != json.end() && found->is_string())
    path = found->get<std::string>();
  mayMiss = flag(json, "missing");
  complete = flag(json, "complete");
  if (auto found = json.find("adapters"); found != json.end())
    forms = readAdapterForms(*found);
  for (const auto &row : json.value("tensors", nlohmann::json::array())) {
    auto name = row.is_object() ? row.find("name") : row.end();
    if (!row.is_object() || name == row.end() || !name->is_string())
      bad("has a row without a name");
    ModelTensor tensor;
    tensor.name = name->get<std::string>();
    auto state = states.find(tensor.name);
    if (state != states.end()) {
      tensor.state = state->second;
      states.erase(state);
    }
    tensor.stored = flag(row, "stored");
    if (auto type = row.find("type"); type != row.end() && type->is_string())
      tensor.type = type->get<std::string>();
    if (auto aliases = row.find("aliases"); aliases != row.end())
      for (const auto &alias : *aliases)
        if (alias.is_string())
          tensor.aliases.push_back(alias.get<std::string>());
    if (auto shape = row.find("shape"); shape != row.end())
      for (const auto &size : *shape)
        if (size.is_number_unsigned())
          tensor.shape.push_back(size.get<int64_t>());
    rows.push_back(std::move(tensor));
  }
  for (const auto &[name, state] : states)
    rows.push_back({name, {}, "", {}, state, false});
  // The scale of the loss is the program's own, and in checkpoints alone (passes/graph/Differentiate.cpp).
  std::erase_if(rows, [](const ModelTensor &tensor) {
    return tensor.name == "loss_scale.scale" || tensor.name == "loss_scale.streak" ||
           tensor.name == "loss_scale.skipped";
  });
  for (ModelTensor &tensor : rows)
    if (const dtcc_state *state = tensor.state) {
      tensor.shape.assign(state->saved_sizes, state->saved_sizes + state->saved_rank);
      if (tensor.type.empty())
        tensor.type = safetensorsName(fileTypeOf(state->dtype));
    }
}

} // namespace dtcc::rt
