//===- OpenMp.cpp - libgomp, opened at start ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/OpenMp.h"

#include <cstdlib>
#include <dlfcn.h>

namespace dtcc::rt {
namespace {

/// Some 30 us of pauses: longer than the gap between two kernels, far shorter than a
/// scheduler's time slice.
constexpr const char *briefSpin = "1000";

OpenMp load(bool oversubscribed) {
  if (!std::getenv("OMP_WAIT_POLICY"))
    setenv("GOMP_SPINCOUNT", oversubscribed ? "0" : briefSpin, /*overwrite=*/0);
  // Global: oneDNN, opened later, finds the same one.
  void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
  OpenMp result{};
  if (!library)
    return result;
  result.parallel = reinterpret_cast<decltype(result.parallel)>(dlsym(library, "GOMP_parallel"));
  result.threadNumber = reinterpret_cast<decltype(result.threadNumber)>(dlsym(library, "omp_get_thread_num"));
  result.teamThreads = reinterpret_cast<decltype(result.teamThreads)>(dlsym(library, "omp_get_num_threads"));
  result.threadLimit = reinterpret_cast<decltype(result.threadLimit)>(dlsym(library, "omp_get_thread_limit"));
  result.setDynamic = reinterpret_cast<decltype(result.setDynamic)>(dlsym(library, "omp_set_dynamic"));
  result.setThreads = reinterpret_cast<decltype(result.setThreads)>(dlsym(library, "omp_set_num_threads"));
  return result;
}

} // namespace

const OpenMp *openMp(bool oversubscribed) {
  static const OpenMp table = load(oversubscribed);
  bool isWhole = table.parallel && table.threadNumber && table.teamThreads && table.threadLimit && table.setThreads &&
                 table.setDynamic;
  return isWhole ? &table : nullptr;
}

} // namespace dtcc::rt
