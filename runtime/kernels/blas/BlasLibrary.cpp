//===- BlasLibrary.cpp - Libraries with the C interface of BLAS -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/blas/BlasLibrary.h"

#include <cstdlib>
#include <dlfcn.h>

namespace dtcc::rt {
namespace {

/// The kernels of OpenBLAS for the processor at hand. Left to itself, 0.3.21 takes those of AVX2 on processors that are
/// younger than it is. Null: as it chooses.
const char *openBlasCore() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
#endif
  return nullptr;
}

Sgemm openOpenBlas() {
  // Both are read while the library is opened. What the user has set stays.
  constexpr int keep = 0;
  if (const char *core = openBlasCore())
    setenv("OPENBLAS_CORETYPE", core, keep);
  setenv("OPENBLAS_NUM_THREADS", "1", keep);
  void *handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return nullptr;
  auto setThreads = reinterpret_cast<void (*)(int)>(dlsym(handle, "openblas_set_num_threads"));
  if (!setThreads)
    return nullptr;
  setThreads(1);
  return reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
}

Sgemm openMkl() {
  void *handle = nullptr;
  for (const char *name : {"libmkl_rt.so.3", "libmkl_rt.so.2"})
    if (!handle)
      handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return nullptr;
  constexpr int lp64 = 0, sequential = 1;
  auto setInterface = reinterpret_cast<int (*)(int)>(dlsym(handle, "MKL_Set_Interface_Layer"));
  auto setThreading = reinterpret_cast<int (*)(int)>(dlsym(handle, "MKL_Set_Threading_Layer"));
  if (!setInterface || !setThreading || setInterface(lp64) != lp64 || setThreading(sequential) != sequential)
    return nullptr;
  return reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
}

} // namespace

Sgemm sgemmOf(BlasLibrary library) {
  if (library == BlasLibrary::Mkl) {
    static const Sgemm mkl = openMkl();
    return mkl;
  }
  static const Sgemm openBlas = openOpenBlas();
  return openBlas;
}

} // namespace dtcc::rt
