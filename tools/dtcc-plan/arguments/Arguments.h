//===- Arguments.h - The command line of one command
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of the commands that have options of their own (search has those of dtcc):
// --name=value and --name value, flags, and positional arguments.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_ARGUMENTS_H
#define DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_ARGUMENTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace dtcc {

class Arguments {
public:
  /// `values` and `flags` are the names of options with and without a value. An error is wrong
  /// usage; it names the nearest option.
  static llvm::Expected<Arguments> parse(llvm::StringRef command, llvm::ArrayRef<const char *> arguments,
                                         llvm::ArrayRef<llvm::StringRef> values, llvm::ArrayRef<llvm::StringRef> flags);

  const std::vector<std::string> &inputs() const { return positional; }
  bool has(llvm::StringRef name) const { return options.contains(name); }
  /// "" if it was not given.
  llvm::StringRef value(llvm::StringRef name) const;
  /// A number greater than 0; `missing` if it was not given.
  llvm::Expected<double> number(llvm::StringRef name, double missing) const;
  llvm::Expected<int64_t> count(llvm::StringRef name, int64_t missing) const;
  /// A number greater than 0 that may end with K, M, B or T for thousands to trillions: "15T".
  llvm::Expected<double> amount(llvm::StringRef name, double missing) const;
  /// Seconds of a time in minutes, hours or days: "90m", "12h", "30d". Nothing if it was not given.
  llvm::Expected<std::optional<double>> duration(llvm::StringRef name) const;
  /// This command line with another value of an option.
  Arguments with(llvm::StringRef name, llvm::StringRef value) const;

private:
  std::string command;
  std::vector<std::string> positional;
  llvm::StringMap<std::string> options;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_ARGUMENTS_H
