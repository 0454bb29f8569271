//===- Arguments.cpp - The command line of one command
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/arguments/Arguments.h"
#include "runtime/abi/console/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace dtcc;
using llvm::StringRef;

/// The option as it is typed: "--zero", or "-o" of one letter.
static std::string typed(StringRef name) { return ((name.size() == 1 ? "-" : "--") + name).str(); }

llvm::Expected<Arguments> Arguments::parse(StringRef command, llvm::ArrayRef<const char *> arguments,
                                           llvm::ArrayRef<StringRef> values, llvm::ArrayRef<StringRef> flags) {
  Arguments result;
  result.command = command.str();
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (!argument.starts_with("-") || argument == "-") {
      result.positional.push_back(argument.str());
      continue;
    }
    auto [name, value] = argument.ltrim('-').split('=');
    bool given = argument.contains('=');
    if (llvm::is_contained(flags, name)) {
      if (given)
        return llvm::createStringError(typed(name) + " takes no value");
      result.options[name] = "";
      continue;
    }
    if (!llvm::is_contained(values, name)) {
      std::vector<std::string> known(values.begin(), values.end());
      known.insert(known.end(), flags.begin(), flags.end());
      std::string near = nearestName(name.str(), known);
      return llvm::createStringError("unknown option " + argument + " of " + command +
                                     (near.empty() ? "" : "; did you mean " + typed(near) + "?"));
    }
    if (!given)
      value = ++i < arguments.size() ? StringRef(arguments[i]) : StringRef();
    if (value.empty())
      return llvm::createStringError(typed(name) + " must have a value");
    auto [at, isNew] = result.options.try_emplace(name, value.str());
    if (!isNew)
      return llvm::createStringError(typed(name) + " must be given once, got: " + at->second + " and " + value);
  }
  return result;
}

StringRef Arguments::value(StringRef name) const {
  auto found = options.find(name);
  return found == options.end() ? StringRef() : StringRef(found->second);
}

llvm::Expected<double> Arguments::number(StringRef name, double missing) const {
  if (!has(name))
    return missing;
  double result = 0;
  if (value(name).getAsDouble(result) || !(result > 0) || !std::isfinite(result))
    return llvm::createStringError("--" + name + " must be a number above 0, got: " + value(name));
  return result;
}

llvm::Expected<int64_t> Arguments::count(StringRef name, int64_t missing) const {
  if (!has(name))
    return missing;
  int64_t result = 0;
  if (value(name).getAsInteger(10, result) || result < 1)
    return llvm::createStringError("--" + name + " must be a whole number of at least 1, got: " + value(name));
  return result;
}

namespace {
struct Unit {
  char letter;
  double factor;
};
} // namespace

/// A number above 0 and one of the units behind it, or none if `plain`.
static std::optional<double> numberWithUnit(StringRef text, llvm::ArrayRef<Unit> units, bool plain) {
  double factor = plain ? 1 : 0, result = 0;
  for (const Unit &unit : units)
    if (text.ends_with(StringRef(&unit.letter, 1))) {
      factor = unit.factor;
      text = text.drop_back();
      break;
    }
  if (text.getAsDouble(result) || !(result * factor > 0) || !std::isfinite(result * factor))
    return std::nullopt;
  return result * factor;
}

llvm::Expected<double> Arguments::amount(StringRef name, double missing) const {
  static constexpr Unit units[] = {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}};
  if (!has(name))
    return missing;
  if (std::optional<double> result = numberWithUnit(value(name), units, /*plain=*/true))
    return *result;
  return llvm::createStringError("--" + name + " must be a number above 0, as 2e9, 500M or 15T, got: " + value(name));
}

llvm::Expected<std::optional<double>> Arguments::duration(StringRef name) const {
  static constexpr Unit units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}};
  if (!has(name))
    return std::nullopt;
  if (std::optional<double> result = numberWithUnit(value(name), units, /*plain=*/false))
    return result;
  return llvm::createStringError("--" + name +
                                 " must be minutes, hours or days, as 90m, 12h or 30d, got: " + value(name));
}

Arguments Arguments::with(StringRef name, StringRef value) const {
  Arguments result = *this;
  result.options[name] = value.str();
  return result;
}
