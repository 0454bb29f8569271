//===- DeclareOptions.h - The options that a program has ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells CLI11 the options of a compiled program, group by group of --help.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_OPTIONS_DECLAREOPTIONS_H
#define DTCC_RUNTIME_LAUNCH_OPTIONS_DECLAREOPTIONS_H

#include "runtime/launch/options/Options.h"

#include <CLI/CLI.hpp>
#include <string>

namespace dtcc::rt {

/// The targets of the command line: the options, and texts that are parsed further once the whole line is read.
struct CommandLine {
  Options options;
  std::string config; /* Arguments reads the file before CLI11 sees the line */
  std::string promptTokens, profileSteps;
};

/// The devices whose options are shown.
struct ShownDevices {
  bool cores, gpus;
};

/// Declares all options: --help lists them in this order. `app` writes to `line` when it parses.
void declareOptions(CLI::App &app, CommandLine &line, ShownDevices shown);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_OPTIONS_DECLAREOPTIONS_H
