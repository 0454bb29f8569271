//===- Cores.cpp - How many cores this process may use -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Cores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// `cores`, or what /sys/fs/cgroup/cpu.max ("quota period" in microseconds) allows.
int underQuota(int cores) {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (file >> quota >> period && quota != "max" && period > 0)
    cores = std::min(cores, static_cast<int>(std::ceil(std::strtod(quota.c_str(), nullptr) / period)));
  return std::max(cores, 1);
}

} // namespace

int availableCores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
    return underQuota(CPU_COUNT(&mask));
  return machineCores();
}

int machineCores() { return underQuota(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

} // namespace dtcc::rt
