//===- Machine.cpp - What a rank can do in a second
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cluster/Machine.h"
#include "planner/cost/Kernels.h"
#include "planner/cost/Step.h"
#include <algorithm>

namespace dtcc::cost {

Machine Machine::of(const Cluster &cluster, const Constants &constants) {
  Machine machine;
  machine.device = cluster.nodes[0].devices[0].device;
  machine.fabric = cluster.fabric();
  // A processor's memory is its host's.
  if (!machine.isCpu())
    machine.host = cluster.host();
  machine.ranks = cluster.devices();
  machine.constants = constants;
  return machine;
}

std::vector<Machine> Machine::eachOf(const Cluster &cluster, const Constants &constants) {
  if (cluster.isUniform())
    return {of(cluster, constants)};
  std::vector<Machine> machines;
  for (const DeviceKind &kind : kindsOf(cluster)) {
    Machine machine{kind.device, kind.fabric, {}, kind.devices, constants};
    if (!machine.isCpu())
      machine.host = kind.host;
    machines.push_back(std::move(machine));
  }
  return machines;
}

Machine Machine::cpu(int64_t ranks, int64_t cores, double memory) { return of(thisMachine(ranks, cores, memory)); }

double Machine::secondsForWork(double flops, double bytes, Width width) const {
  Kernels kernels(device, constants);
  return std::max(flops / kernels.productRate(width), kernels.secondsForStream(bytes));
}

double Machine::secondsForTransfer(const Transfer &transfer) const {
  return Collectives(fabric, constants).seconds(transfer);
}

double Machine::secondsForSent(double bytes, const Group &group) const {
  if (group.ranks <= 1)
    return 0;
  double whole = bytes * double(group.ranks) / double(group.ranks - 1);
  return secondsForTransfer({CollectiveKind::AllGather, whole, group});
}

double Machine::secondsToSend(double bytes, const Hop &hop) const {
  return Collectives(fabric, constants).secondsToSend(bytes, hop);
}

// No clock of its own slows one rank of a processor.
double Machine::straggling() const {
  Parallelism plan;
  plan.dp = ranks;
  return isCpu() ? 1 : dtcc::cost::straggling(plan, constants);
}

double Machine::latencyBytes() const { return Collectives(fabric, constants).latencyBytes(ranks); }

double Machine::bytesPerFlop() const {
  return Collectives(fabric, constants).gatherRate(ranks) / Kernels(device, constants).orthogonalRate();
}

Machine Machine::withoutLatency() const {
  Machine machine = *this;
  machine.constants.collectiveLaunch = machine.constants.collectiveLatency = machine.constants.sendLatency = 0;
  machine.fabric.link.latencySeconds = machine.fabric.network.latencySeconds = 0;
  return machine;
}

} // namespace dtcc::cost
