//===- Arguments.cpp - The command line of one command
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/arguments/Arguments.h"
#include "planner/cost/Devices.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace dtcc;
using llvm::StringRef;

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
        return llvm::createStringError("--" + name + " takes no value");
      result.options[name] = "";
      continue;
    }
    if (!llvm::is_contained(values, name)) {
      std::vector<std::string> known(values.begin(), values.end());
      known.insert(known.end(), flags.begin(), flags.end());
      std::string near = cost::nearestName(name.str(), known);
      return llvm::createStringError("unknown option " + argument + " of " + command +
                                     (near.empty() ? "" : "; did you mean --" + near + "?"));
    }
    if (!given && ++i == arguments.size())
      return llvm::createStringError("--" + name + " must have a value");
    result.options[name] = given ? value.str() : std::string(arguments[i]);
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
