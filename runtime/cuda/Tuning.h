//===- Tuning.h - Ways of commands by measurement ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--tune=FILE`. What each way of a command (TunableOp.h) has by its library's heuristic is run
// where the command will run, before there are states, on zeros, at most with the workspace
// that is planned. A problem (sizes, types, strides, alignment, epilogue or mask, GPU, version
// of the library) is measured once, by the first rank that has it, and all ranks take its
// choice: what one rank adds up in another order the others must, too. The file keeps choices
// between runs.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_TUNING_H
#define DTCC_RUNTIME_CUDA_TUNING_H

#include "runtime/collective/Communicator.h"
#include "runtime/cuda/driver/GpuLauncher.h"
#include "runtime/cuda/driver/TunableOp.h"

#include <string>
#include <vector>

namespace dtcc::rt::cuda {

/// A command, its stream of the table with its workspace, and the addresses of its operands.
struct TuningSite {
  TunableOp *op;
  uint32_t stream;
  void *workspace;
  std::vector<void *> buffers;
};

/// Chooses for all sites. `all`: the group of all ranks, each of which calls this; null: one rank. The first reads and
/// writes `file`. Throws Error if that is no such file, or cannot be written.
void tune(std::span<const TuningSite> sites, const std::string &file, Gpu &gpu, GpuLauncher &launcher, Rank &rank,
          Communicator *all);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_TUNING_H
