//===- NearestOption.h - The option that was meant ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Guesses for misspelt options, of the command line and of files.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_ARGUMENTS_NEARESTOPTION_H
#define DTCC_RUNTIME_LAUNCH_ARGUMENTS_NEARESTOPTION_H

#include <CLI/CLI.hpp>
#include <string>

namespace dtcc::rt {

/// Name of the option, "--steps", that differs from `name` in less than four characters, and in the fewest; "" if none
/// does.
std::string nearestOption(const CLI::App &app, const std::string &name);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_ARGUMENTS_NEARESTOPTION_H
