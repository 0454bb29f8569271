//===- WorldsOption.h - The numbers of ranks of --worlds
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of several worlds has a plan for each of several numbers of ranks, so that a run may lose hosts or gain
// some. Each world is compiled on its own, for a part of --cluster.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_WORLDSOPTION_H
#define DTCC_COMPILER_OPTIONS_WORLDSOPTION_H

#include "compiler/options/Options.h"

namespace dtcc {

/// The options of each world, by ascending number of ranks: those of the command line, with a cluster of that size. One
/// without a change if --worlds was not given. Fails after one message, also where worlds would not train the same.
mlir::FailureOr<std::vector<Options>> optionsOfWorlds(const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_WORLDSOPTION_H
