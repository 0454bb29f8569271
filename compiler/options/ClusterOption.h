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

/// Bytes of memory of this machine.
double machineMemory();

/// `ranks` ranks on the cores and memory of this machine. Products of bf16 are twice as fast where the processor has
/// instructions for them: two cores of an AMD EPYC (Zen 4) make 224 GFLOP/s in f32 and 447 in bf16 (the peaks that
/// --profile of a program prints).
cost::Machine thisMachine(const Options &options, int64_t ranks);

/// Whether --cluster is a number of ranks of this machine, which share its memory.
bool isThisMachine(const Options &options);
/// Number of ranks of this machine, 0 if it is not given; nothing for other clusters.
std::optional<int64_t> ranksOfThisMachine(const Options &options);
/// Ranks of any --cluster; 0 if the mesh decides. Nothing, without a message, if the cluster cannot be read.
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

/// Returns the GPU of --cluster, from a preset or a file, or nothing if the cluster consists of cores. If target and
/// precision are not given, sets those of the devices. Heterogeneous devices are accepted with `mayMix`, for commands
/// that only plan; the first kind is returned then. Fails after one message.
mlir::FailureOr<std::optional<cost::Device>> resolveCluster(Options &options, bool mayMix = false);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_CLUSTEROPTION_H
