//===- HostTuning.h - Ways of a processor's commands ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A processor's part of --tune (runtime/tuning/Tuning.h): the ways of a library op are run on
// the threads of the rank, and the processor time of the thread that took most counts. It is
// the time on a machine without other work, however busy this one is. Other work still takes
// room in the caches, so ways are timed in turns, and one must be clearly faster than that
// of the rule.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DEVICE_HOSTTUNING_H
#define DTCC_RUNTIME_DEVICE_HOSTTUNING_H

#include "runtime/kernels/ops/LibraryOp.h"
#include "runtime/tuning/Tuning.h"

namespace dtcc::rt {

/// A command that has several ways, and the addresses of its operands.
struct HostSite {
  LibraryOp *op;
  std::vector<void *> buffers;
};

/// Chooses for all sites of a rank, as tune(), among all ranks of its world.
std::string tuneHost(std::span<const HostSite> sites, const TuningRequest &request, Rank &rank);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DEVICE_HOSTTUNING_H
