//===- Machine.cpp - What a rank can do in a second
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/cost/Machine.h"
#include <algorithm>

namespace dtcc::cost {

Machine Machine::cpu(int64_t ranks, int64_t cores, double memory) {
  Machine machine;
  double share = double(cores) / double(std::max<int64_t>(ranks, 1));
  machine.ranks = ranks;
  machine.flopsPerSecond = 100e9 * share;
  machine.memoryBytesPerSecond = 10e9 * share;
  machine.linkBytesPerSecond = 3e9 * std::min(share, 1.0);
  machine.latencySeconds = share < 1 ? 50e-6 : 5e-6;
  machine.memoryBytes = memory / double(std::max<int64_t>(ranks, 1));
  return machine;
}

double Machine::secondsForWork(double flops, double bytes) const {
  return std::max(flops / flopsPerSecond, bytes / memoryBytesPerSecond);
}

double Machine::secondsForTransfer(double bytes) const {
  return bytes > 0 ? latencySeconds + bytes / linkBytesPerSecond : 0;
}

} // namespace dtcc::cost
