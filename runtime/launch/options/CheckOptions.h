//===- CheckOptions.h - Options against each other and the program -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each option was checked by itself when it was parsed (arguments/Validators.h). Here they are checked together.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_OPTIONS_CHECKOPTIONS_H
#define DTCC_RUNTIME_LAUNCH_OPTIONS_CHECKOPTIONS_H

#include "runtime/image/Image.h"
#include "runtime/launch/options/DeclareOptions.h"
#include "runtime/launch/worlds/Worlds.h"

#include <CLI/CLI.hpp>

namespace dtcc::rt {

/// Checks the parsed options against each other and against the program, and completes them. Options that contradict
/// each other, and those that need what is not given, end with Status::Usage and one message that names them.
void checkOptions(const CLI::App &app, CommandLine &line, const Image &image, const Worlds &worlds);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_OPTIONS_CHECKOPTIONS_H
