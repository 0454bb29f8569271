//===- KernelModules.h - The runtime's own GPU kernels -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The files of runtime/cuda/kernels as PTX, one module a file: a driver compiles only
// those that a program uses. Kernels take two parameters, the address of their predicate
// and a structure (the header beside each file).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_KERNELMODULES_H
#define DTCC_RUNTIME_CUDA_KERNELS_KERNELMODULES_H

#include <span>

namespace dtcc::rt::cuda {

struct KernelModule {
  const char *name; // of the file, without its extension
  const char *ptx;  // ends with NUL
};

/// The modules of the runtime's own kernels; none if the runtime was built without a compiler for GPUs.
std::span<const KernelModule> kernelModules();

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_KERNELMODULES_H
