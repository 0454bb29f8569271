//===- Cores.h - How many cores this process may use ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of cores decides the size of thread teams, whether waiting may spin, and how many shapes a search prices
// at once. A container's quota counts: a process that sees 64 cores and may use 2 must not start 64 threads, nor spin
// as if it had 64 cores.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CORES_H
#define DTCC_RUNTIME_ABI_CORES_H

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace dtcc {

/// `cores`, or fewer if the quota of the control group whose files lie in `folder` allows no more. At least 1. Version
/// 2 of control groups has "quota period" in one file, version 1 has two files; both are in microseconds.
inline int coresUnderQuota(int cores, const std::string &folder = "/sys/fs/cgroup") {
  std::string quota;
  double period = 0;
  std::ifstream both(folder + "/cpu.max");
  if (!(both >> quota >> period)) {
    std::ifstream(folder + "/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu/cpu.cfs_period_us") >> period;
  }
  // Without a limit the quota is "max", or -1.
  const double microseconds = std::strtod(quota.c_str(), nullptr);
  if (microseconds > 0 && period > 0)
    cores = static_cast<int>(std::min<double>(cores, std::ceil(microseconds / period)));
  return std::max(cores, 1);
}

/// Cores of the machine, or fewer under a quota, whatever this process is bound to. At least 1.
inline int machineCores() { return coresUnderQuota(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

/// Cores of this process's affinity mask, or fewer under a quota. At least 1.
inline int availableCores() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof(mask), &mask) == 0 ? coresUnderQuota(CPU_COUNT(&mask)) : machineCores();
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_CORES_H
