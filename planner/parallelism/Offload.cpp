//===- Offload.cpp - The offloaded parts of a step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/parallelism/Offload.h"

namespace dtcc::plan {

namespace {
struct Row {
  std::string_view name;
  Offload value;
};
} // namespace
static constexpr Row kRows[] = {
    {"none", {false, false}}, {"optimizer", {true, false}}, {"activations", {false, true}}, {"all", {true, true}}};

std::string Offload::str() const {
  for (const Row &row : kRows)
    if (row.value == *this)
      return std::string(row.name);
  return "";
}

std::optional<Offload> parseOffload(std::string_view text) {
  for (const Row &row : kRows)
    if (row.name == text)
      return row.value;
  return std::nullopt;
}

std::string noteOfMixedDevices(const std::string &stages) {
  return "stages of plan 1 lie on " + stages + "; programs do not run on mixed devices yet, and memory is an estimate";
}

} // namespace dtcc::plan
