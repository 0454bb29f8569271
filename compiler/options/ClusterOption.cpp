//===- ClusterOption.cpp - The machines of --cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/ClusterOption.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/options/CompileTarget.h"
#include "compiler/options/PlanRequest.h"
#include "planner/cluster/ClusterFile.h"
#include "runtime/abi/Cores.h"
#include "llvm/Support/FormatVariadic.h"
#include <unistd.h>

using namespace mlir;
using namespace dtcc;

double dtcc::machineMemory() { return double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)); }

static bool multipliesBf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

cost::Machine dtcc::thisMachine(const Options &options, int64_t ranks) {
  cost::Machine machine = cost::Machine::cpu(ranks, availableCores(), machineMemory());
  double *rates = machine.device.flopsPerSecond;
  // Muon's matrices are of bf16 in every program. Halves of fp16 have no products of their own.
  if (options.precision != "fp16" && multipliesBf16())
    rates[int(cost::Width::B16)] = 2 * rates[int(cost::Width::F32)];
  return machine;
}

bool dtcc::isThisMachine(const Options &options) { return ranksOfThisMachine(options).has_value(); }

std::optional<int64_t> dtcc::ranksOfThisMachine(const Options &options) {
  StringRef text = options.cluster;
  if (text == "cpu")
    return 0;
  int64_t ranks = 0;
  if (text.consume_front("cpu:") && !text.getAsInteger(10, ranks) && ranks >= 1 && ranks <= kMostRanks)
    return ranks;
  return std::nullopt;
}

std::optional<int64_t> dtcc::ranksOfCluster(const Options &options) {
  if (std::optional<int64_t> ranks = ranksOfThisMachine(options))
    return ranks;
  llvm::Expected<cost::Cluster> cluster = cost::readCluster(options.cluster);
  if (cluster)
    return cluster->devices();
  llvm::consumeError(cluster.takeError()); // told by who needs the cluster itself
  return std::nullopt;
}

FailureOr<cost::Cluster> dtcc::clusterOf(const Options &options) {
  if (StringRef(options.cluster).starts_with("cpu:") && !isThisMachine(options))
    return wrong("--cluster=cpu:RANKS must be of 1 to " + Twine(kMostRanks) + " ranks, got: " + options.cluster);
  llvm::Expected<cost::Cluster> cluster = cost::readCluster(options.cluster);
  if (!cluster)
    return wrong(llvm::toString(cluster.takeError()));
  if (llvm::Error error = cost::leaveFree(options.headroom, *cluster))
    return wrong(llvm::toString(std::move(error)));
  return std::move(*cluster);
}

FailureOr<ProgramMachine> dtcc::machineOf(const Options &options, int64_t ranks) {
  bool isForCores = targetOf(options).memory == DTCC_MEMORY_HOST;
  if (!isThisMachine(options)) {
    FailureOr<cost::Cluster> cluster = clusterOf(options);
    if (failed(cluster))
      return failure();
    cost::Machine machine = cost::Machine::of(*cluster);
    if (machine.isCpu() == isForCores) {
      machine.ranks = ranks;
      return ProgramMachine{machine, llvm::formatv("{0} x {1}", ranks, machine.device.name)};
    }
  }
  return ProgramMachine{thisMachine(options, ranks),
                        llvm::formatv("{0} {1} of the machine that compiled it", availableCores(),
                                      availableCores() == 1 ? "core" : "cores")};
}

FailureOr<std::optional<cost::Device>> dtcc::resolveCluster(Options &options, bool mayMix) {
  auto decide = [&](StringRef target) {
    if (options.target.empty())
      options.target = target.str();
    if (options.precision.empty()) {
      options.precision = targetOf(options).precision;
      options.precisionAssumed = true;
    }
  };
  std::optional<cost::Device> none;
  if (isThisMachine(options)) {
    cost::Machine machine = thisMachine(options, 1);
    if (llvm::Error error = cost::leaveFree(options.headroom, machine.device))
      return wrong(llvm::toString(std::move(error)));
    return decide("cpu"), none;
  }
  FailureOr<cost::Cluster> cluster = clusterOf(options);
  if (failed(cluster))
    return failure();
  if (!cluster->isUniform() && !mayMix)
    return wrong("--cluster must be of one kind of device: stages of several kinds can be planned (dtcc-plan search), "
                 "but have no program yet; name one of the kinds, got: " +
                 options.cluster);
  const cost::Device &device = cluster->nodes[0].devices[0].device;
  if (device.architecture == cost::Architecture::Cpu)
    return decide("cpu"), none;
  decide("cuda");
  options.hostMemory = cluster->host().memoryBytes;
  options.machine = cost::Machine::of(*cluster);
  options.latencyBytes = options.machine->latencyBytes();
  options.bytesPerFlop = options.machine->bytesPerFlop();
  // Weights do not matter to a plan, and structures without any are welcome.
  if (options.emit == "plan" || options.emit == "onnx")
    options.init = "random";
  return std::optional<cost::Device>(device);
}
