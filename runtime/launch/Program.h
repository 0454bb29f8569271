//===- Program.h - A training run ----------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run between the command line and the exit status: choose how ranks communicate,
// open the inputs, run every rank, write what was asked for.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_PROGRAM_H
#define DTCC_RUNTIME_LAUNCH_PROGRAM_H

#include "runtime/launch/options/Options.h"
#include "runtime/launch/worlds/Worlds.h"

namespace dtcc::rt {

/// Runs the program on this process's ranks. The image is that of one of `worlds`. Returns the exit status; throws
/// Error.
int runProgram(const Worlds &worlds, const Image &image, std::span<const dtcc_kernel> kernels, const Options &options);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_PROGRAM_H
