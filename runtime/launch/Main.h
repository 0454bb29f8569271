//===- Main.h - The entry point of compiled programs ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one symbol of libdtcc_rt.a that a compiled program names.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_MAIN_H
#define DTCC_RUNTIME_LAUNCH_MAIN_H

#include "runtime/abi/World.h"

/// Runs a program: parses the command line, chooses one of the worlds [first, last), trains, returns the exit status.
extern "C" int dtcc_main(int argc, char **argv, const dtcc_world *first, const dtcc_world *last);

#endif // DTCC_RUNTIME_LAUNCH_MAIN_H
