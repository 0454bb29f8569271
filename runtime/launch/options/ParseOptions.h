//===- ParseOptions.h - The command line of a program --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the options of a compiled program from its command line.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_OPTIONS_PARSEOPTIONS_H
#define DTCC_RUNTIME_LAUNCH_OPTIONS_PARSEOPTIONS_H

#include "runtime/image/Image.h"
#include "runtime/launch/options/Options.h"
#include "runtime/launch/worlds/Worlds.h"

#include <optional>

namespace dtcc::rt {

/// Reads the command line; defaults come from the image, which is that of one of `worlds`. Prints help or one message
/// itself; then the result is empty and `status` is the exit status.
std::optional<Options> parseOptions(int argc, char **argv, const Image &image, const Worlds &worlds, int &status);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_OPTIONS_PARSEOPTIONS_H
