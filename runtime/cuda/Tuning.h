//===- Tuning.h - Ways of a GPU's commands by measurement ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU's part of --tune (runtime/tuning/Tuning.h): the ways of a command (TunableOp.h) are
// timed by events of a stream, at most with the workspace that is planned. What a way of a
// library does is decided by an algorithm of its heuristic, so a problem also names the GPU
// and the version of the library.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_TUNING_H
#define DTCC_RUNTIME_CUDA_TUNING_H

#include "runtime/cuda/driver/GpuLauncher.h"
#include "runtime/cuda/driver/TunableOp.h"
#include "runtime/tuning/Tuning.h"

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

/// Chooses for all sites, as dtcc::rt::tune.
std::string tune(std::span<const TuningSite> sites, const TuningRequest &request, Gpu &gpu, GpuLauncher &launcher,
                 Rank &rank, Communicator *all);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_TUNING_H
