//===- Bindings.cpp - Values of symbolic dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive-descent parser of + - * // % and parentheses over names and numbers.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Bindings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

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

namespace {
struct Parser {
  StringRef rest;
  llvm::StringMap<int64_t> &values;
  llvm::StringMap<bool> &used;
  std::vector<std::string> &unbound;
  bool failed = false;
  int depth = 0;

  bool accept(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  int64_t checked(bool overflow, int64_t value) {
    failed |= overflow;
    return value;
  }
  int64_t primary() {
    if (++depth > 64)
      failed = true;
    if (failed)
      return 1;
    int64_t value = 1;
    if (accept("-")) {
      value = checked(llvm::SubOverflow<int64_t>(0, primary(), value), value);
    } else if (accept("(")) {
      value = sum();
      failed |= !accept(")");
    } else if (!rest.ltrim().empty() && llvm::isDigit(rest.ltrim().front())) {
      rest = rest.ltrim();
      failed |= rest.consumeInteger(10, value);
    } else {
      StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
      rest = rest.drop_front(name.size());
      auto entry = values.find(name);
      if (name.empty()) {
        failed = true;
      } else if (entry != values.end()) {
        value = entry->second;
        used[name] = true;
      } else if (!llvm::is_contained(unbound, name)) {
        unbound.push_back(name.str());
      }
    }
    --depth;
    return value;
  }
  int64_t product() {
    int64_t value = primary();
    while (!failed) {
      if (accept("//")) {
        int64_t by = primary();
        failed |= by <= 0;
        value = failed ? 1 : llvm::divideFloorSigned(value, by);
      } else if (accept("%")) {
        int64_t by = primary();
        failed |= by <= 0;
        value = failed ? 1 : value - by * llvm::divideFloorSigned(value, by);
      } else if (accept("*")) {
        int64_t by = primary();
        value = checked(llvm::MulOverflow(value, by, value), value);
      } else {
        break;
      }
    }
    return value;
  }
  int64_t sum() {
    int64_t value = product();
    while (!failed) {
      if (accept("+")) {
        int64_t other = product();
        value = checked(llvm::AddOverflow(value, other, value), value);
      } else if (accept("-")) {
        int64_t other = product();
        value = checked(llvm::SubOverflow(value, other, value), value);
      } else {
        break;
      }
    }
    return value;
  }
};
} // namespace

int64_t Bindings::evaluate(StringRef expression, StringRef where) {
  // A name may hold any character: try it whole first.
  if (auto entry = values.find(expression); entry != values.end()) {
    used[expression] = true;
    return entry->second;
  }
  size_t before = unbound.size();
  Parser parser{expression, values, used, unbound};
  int64_t value = parser.sum();
  if (parser.failed || !parser.rest.trim().empty()) {
    problems.push_back("the dimension '" + expression.str() + "' of " + where.str() + " cannot be computed");
    return 1;
  }
  if (unbound.size() == before && value < 1 && unbound.empty())
    problems.push_back("the dimension '" + expression.str() + "' of " + where.str() +
                       " must be at least 1, got: " + std::to_string(value));
  return std::max<int64_t>(value, 1);
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
