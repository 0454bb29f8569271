//===- Bindings.cpp - Values of symbolic dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Problems of the bindings are collected, so that one message says all of them.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Bindings.h"
#include "frontends/onnx/file/SizeExpression.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dtcc::onnx;

Bindings::Bindings(ArrayRef<std::pair<std::string, int64_t>> list) {
  for (const auto &[name, value] : list) {
    auto [entry, isNew] = values.try_emplace(name, value);
    if (!isNew && entry->second != value)
      problems.push_back("'" + name + "' is bound to " + std::to_string(entry->second) + " and to " +
                         std::to_string(value));
    if (value < 1 || value > (int64_t(1) << 40))
      problems.push_back("'" + name + "' must be at least 1 and at most 2^40, got: " + std::to_string(value));
  }
}

int64_t Bindings::evaluate(StringRef expression, StringRef where) {
  // A name may hold any character: try it whole first.
  if (auto entry = values.find(expression); entry != values.end()) {
    used[expression] = true;
    return entry->second;
  }
  size_t before = unbound.size();
  std::optional<int64_t> value = evaluateSize(expression, [&](StringRef name) -> std::optional<int64_t> {
    if (auto entry = values.find(name); entry != values.end()) {
      used[name] = true;
      return entry->second;
    }
    if (!llvm::is_contained(unbound, name))
      unbound.push_back(name.str());
    return 1;
  });
  if (!value) {
    problems.push_back("the dimension '" + expression.str() + "' of " + where.str() + " cannot be computed");
    return 1;
  }
  if (unbound.size() == before && *value < 1 && unbound.empty())
    problems.push_back("the dimension '" + expression.str() + "' of " + where.str() +
                       " must be at least 1, got: " + std::to_string(*value));
  return std::max<int64_t>(*value, 1);
}

std::optional<bool> Bindings::holds(StringRef condition, std::vector<std::string> &sizes) const {
  return evaluateCondition(condition, [&](StringRef name) -> std::optional<int64_t> {
    auto entry = values.find(name);
    if (entry == values.end())
      return std::nullopt;
    std::string size = (name + "=" + llvm::Twine(entry->second)).str();
    if (!llvm::is_contained(sizes, size))
      sizes.push_back(size);
    return entry->second;
  });
}

std::optional<int64_t> Bindings::fixedSize(StringRef input, size_t dimension) {
  auto entry = values.find((input + "." + llvm::Twine(dimension)).str());
  if (entry == values.end())
    return std::nullopt;
  used[entry->first()] = true;
  return std::max<int64_t>(entry->second, 1);
}

std::string Bindings::summary() {
  std::vector<std::string> all = problems;
  if (!unbound.empty()) {
    llvm::sort(unbound);
    std::vector<std::string> example;
    for (const std::string &name : unbound)
      example.push_back(name + "=...");
    all.insert(all.begin(), "symbolic dimensions without a value: '" + llvm::join(unbound, "', '") +
                                "' (--bind=" + llvm::join(example, ",") + ")");
  }
  std::vector<std::string> unknown;
  for (const auto &entry : values)
    if (!used.lookup(entry.first()))
      unknown.push_back(entry.first().str());
  llvm::sort(unknown);
  std::vector<std::string> known = unbound;
  for (const auto &entry : used)
    known.push_back(entry.first().str());
  llvm::sort(known);
  if (!unknown.empty())
    all.push_back("the model has no dimension named '" + llvm::join(unknown, "', '") + "'" +
                  (known.empty() ? std::string() : "; it has '" + llvm::join(known, "', '") + "'"));
  return llvm::join(all, "; ");
}
