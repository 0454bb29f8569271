//===- AdapterForms.cpp - What the exporter said of adapters -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/AdapterForms.h"

#include "runtime/core/Error.h"

#include <nlohmann/json.hpp>

namespace dtcc::rt {
namespace {

using nlohmann::json;

SavedForm readForm(const json &described, const char *key) {
  json form = described.value(key, json::object());
  SavedForm read{form.value("names", std::map<std::string, std::string>()),
                 form.value("files", std::map<std::string, std::string>())};
  for (const auto &[name, text] : read.files)
    if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos)
      fail("the export of the model names a file that is not one of a folder, got: ", name);
  return read;
}

} // namespace

AdapterForms readAdapterForms(const json &described) {
  AdapterForms forms;
  try {
    forms = {readForm(described, "merged"), readForm(described, "alone"), {}, described.value("problem", "")};
    for (const json &row : described.value("sums", json::array()))
      forms.sums[row.at("weight").get<std::string>()] = {row.at("up").get<std::string>(),
                                                         row.at("down").get<std::string>(),
                                                         row.at("scale").get<double>(), row.value("turned", false)};
  } catch (const json::exception &error) {
    fail("the export of the model describes its adapters in a way that is not known: ", error.what());
  }
  return forms;
}

} // namespace dtcc::rt
