//===- Arguments.h - The words of a command line and of --config -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The words of a command line, with the options of --config=FILE in front. An option of the command line replaces the
// file's, all of its values included. Made once all options are declared, and before CLI11 reads the words.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_ARGUMENTS_ARGUMENTS_H
#define DTCC_RUNTIME_LAUNCH_ARGUMENTS_ARGUMENTS_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dtcc::rt {

/// The option, with its dashes, that a misspelt one should have been; empty if none is near.
std::string nearestOption(const CLI::App &app, const std::string &name);

/// Number of --ranks on the command line, or else in the file of --config; 0 if there is none. It is wanted before the
/// options are known; whether it can be, and all else that may be wrong, is found when they are read.
int64_t ranksAsked(int argc, char **argv);

class Arguments {
public:
  /// Throws an Error of wrong usage for a file that cannot be read or names an unknown option.
  Arguments(const CLI::App &app, int argc, char **argv);

  const std::vector<std::string> &words() const { return all; }

  /// The options as a file for --config, in the order in which they were given. Without those that say which process
  /// this is, and without --config itself.
  std::string configText() const;

private:
  struct Given {
    std::string name;                /* without dashes */
    std::vector<std::string> values; /* none: a flag */
  };
  Given *find(const std::string &name);
  void add(const std::string &name, const std::string *value);
  void addFile(const CLI::App &app, const std::string &path);

  std::vector<std::string> all;
  std::vector<Given> given;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_ARGUMENTS_ARGUMENTS_H
