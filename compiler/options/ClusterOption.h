//===- ClusterOption.h - The machines of --cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_CLUSTEROPTION_H
#define DTCC_COMPILER_OPTIONS_CLUSTEROPTION_H

#include "compiler/options/Options.h"
#include "planner/cluster/Machine.h"
#include <optional>

namespace dtcc {

/// Bytes of memory of this machine, and its cores.
double machineMemory();
int64_t machineCores();

/// Is --cluster a number of ranks of this machine, which share its memory?
bool isThisMachine(const Options &options);
/// That number, 0 if it is not given; nothing for other clusters.
std::optional<int64_t> ranksOfThisMachine(const Options &options);
/// Ranks of any --cluster; 0: as many as the mesh says. Nothing, without a message, if it cannot be read.
std::optional<int64_t> ranksOfCluster(const Options &options);

/// The preset or the file of --cluster, which is not this machine. Failure after one message.
mlir::FailureOr<cost::Cluster> clusterOf(const Options &options);

/// The machine that runs a program of `ranks` ranks, with its name: the devices of --cluster, or the cores of this
/// machine. Failure after one message.
struct ProgramMachine {
  cost::Machine machine;
  std::string name;
};
mlir::FailureOr<ProgramMachine> machineOf(const Options &options, int64_t ranks);

/// The GPU that --cluster has, a preset or of a file; nothing where it is of cores. Target and precision that are not
/// given become those of the devices. Devices of several kinds are for commands that plan alone and say so by
/// `mayMix`; the first kind is returned then. Failure after one message.
mlir::FailureOr<std::optional<cost::Device>> resolveCluster(Options &options, bool mayMix = false);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_CLUSTEROPTION_H
