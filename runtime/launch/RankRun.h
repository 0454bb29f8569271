//===- RankRun.h - The run of one rank ------------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread's part of a training run, from its arenas to the last step.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_RANKRUN_H
#define DTCC_RUNTIME_LAUNCH_RANKRUN_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/ModelWeights.h"
#include "runtime/checkpoint/folder/FolderDisks.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/launch/Executor.h"
#include "runtime/launch/Metrics.h"
#include "runtime/launch/options/Options.h"

#include <functional>

namespace dtcc::rt {

/// Data that the ranks of a process share; read-only while they run.
struct SharedRun {
  const Image &image;
  std::span<const dtcc_kernel> kernels;
  const Options &options;
  const Launch &launch;
  Transport &transport;
  const Batches &batches;
  const Batches *evaluated; /* what evaluations read, or null */
  const ModelWeights &weights;
  const RunIdentity &identity;
  const FolderDisks &disks;           /* of the folder of checkpoints */
  const CheckpointReader *checkpoint; /* to resume from, or null */
  RunPosition begin;
  int64_t steps;
  Trace::Clock::time_point origin;
  /// Called when a rank has failed, before its communicators are closed: closing may
  /// wait for the other ranks.
  std::function<void(const std::exception &)> onFailure;
};

/// Result of one rank's run.
struct RankResult {
  Status status = Status::Done;
  std::string message; /* of rank 0, where the status wants one */
  std::string trace;   /* empty without --profile */
};

/// Runs `rank` on the calling thread. Throws Error.
RankResult runRank(const SharedRun &shared, int64_t rank);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_RANKRUN_H
