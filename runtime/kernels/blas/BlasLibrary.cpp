//===- BlasLibrary.cpp - Libraries with the C interface of BLAS -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/blas/BlasLibrary.h"

#include "runtime/kernels/vector/VectorKernels.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

namespace dtcc::rt {
namespace {

Sgemm openOpenBlas() {
  // Variables that are read while the library is opened, and left as they are if the user has set them. On processors
  // that are younger than it is, OpenBLAS 0.3.21 takes kernels of AVX2 by itself.
  constexpr int keep = 0;
  if (std::string_view(vectorKernels().name) == "avx512")
    setenv("OPENBLAS_CORETYPE", "SkylakeX", keep);
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
