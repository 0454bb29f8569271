//===- Driver.h - CUDA's driver, opened when a program needs it -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcuda comes with NVIDIA's driver: a program opens it when it starts, so that it is
// built without a CUDA toolkit, and starts anywhere. Names of handles are the driver's.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_DRIVER_H
#define DTCC_RUNTIME_CUDA_DRIVER_DRIVER_H

#include "runtime/cuda/driver/CudaOp.h"

#include <cstddef>
#include <span>
#include <string>

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

namespace dtcc::rt::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;

#define DTCC_CUDA_NUMBER(NAME, THEIRS, VALUE) constexpr int NAME = VALUE;
#include "runtime/cuda/driver/Driver.def"

struct Driver {
#define DTCC_CUDA_FUNCTION(FIELD, SYMBOL, PARAMETERS) CUresult(*FIELD) PARAMETERS = nullptr;
#include "runtime/cuda/driver/Driver.def"

  /// The driver's own text for an error.
  std::string text(CUresult error) const;
};

/// The driver, initialised. Throws Error(Status::BadInput) where there is none, one line that says what is missing.
const Driver &driver();

/// A function of a library that is opened when a program starts: its symbol, and where its address goes.
struct Symbol {
  const char *name;
  void **address;
};
/// Opens the first of `names` that is there, and finds all symbols. Returns what is missing, or the empty string.
std::string openLibrary(std::span<const char *const> names, std::initializer_list<Symbol> symbols);
std::string openLibrary(std::initializer_list<const char *> names, std::initializer_list<Symbol> symbols);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_DRIVER_H
