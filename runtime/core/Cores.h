//===- Cores.h - How many cores this process may use ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of cores decides the size of thread teams and whether waiting may
// spin. A container's quota counts: a process that sees 64 cores and may use 2 must
// not spin as if it had 64.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_CORES_H
#define DTCC_RUNTIME_CORE_CORES_H

namespace dtcc::rt {

/// Cores of this process's affinity mask, or fewer under a cgroup (v2) quota. At
/// least 1.
int availableCores();

/// Cores of the machine, or fewer under a quota, whatever this process is bound
/// to. At least 1.
int machineCores();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_CORES_H
