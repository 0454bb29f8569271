//===- GpuLauncher.cpp - What an op gets of a GPU ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/GpuLauncher.h"

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/driver/CublasLt.h"
#include "runtime/cuda/driver/Cudnn.h"
#include "runtime/cuda/kernels/KernelModules.h"

#include <algorithm>
#include <iostream>
#include <utility>

namespace dtcc::rt::cuda {
namespace {

/// Dynamic shared memory that a kernel may have unasked.
constexpr uint64_t kPlainSharedBytes = 48 << 10;

} // namespace

GpuLauncher::~GpuLauncher() {
  // Running kernels may still use the handles.
  driver().synchronizeContext();
  if (blas)
    cublasLt().destroy(blas);
  if (dnn)
    cudnn().destroy(dnn);
}

CUfunction GpuLauncher::kernel(const char *module, const char *name, uint64_t wanted) {
  auto [at, isNew] = ownModules.try_emplace(module, nullptr);
  if (isNew) {
    auto all = kernelModules();
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const KernelModule &each) { return std::string_view(each.name) == module; });
    if (found == all.end())
      fail("this program needs the runtime's kernels for GPUs (", module,
           "), and the compiler that wrote it was built without them: build dtcc with clang");
    at->second = gpu.load(found->ptx, "the runtime's kernels");
  }
  CUfunction found = gpu.function(at->second, name);
  if (uint64_t &allowed = sharedBytes[found]; wanted > std::max(allowed, kPlainSharedBytes)) {
    gpu.check(driver().setFunctionAttribute(found, kMostDynamicSharedBytes, static_cast<int>(wanted)),
              "cuFuncSetAttribute");
    allowed = wanted;
  }
  return found;
}

void *GpuLauncher::products() {
  if (!std::exchange(blasTried, true)) {
    const CublasLt &library = cublasLt();
    std::string problem = library.problem;
    if (problem.empty() && library.create(&blas) != 0)
      problem = "cublasLtCreate failed";
    if (!problem.empty() && rank == 0)
      std::cerr << "note: matrix products run in dtcc's own kernel, which is slower: " << problem << std::endl;
  }
  return blas;
}

void *GpuLauncher::convolutions() {
  if (!std::exchange(dnnTried, true)) {
    const Cudnn &library = cudnn();
    std::string problem = library.problem;
    if (problem.empty() && library.create(&dnn) != 0)
      problem = "cudnnCreate failed";
    if (!problem.empty() && rank == 0)
      std::cerr << "note: attention and convolutions run in dtcc's own kernels, which are slower: " << problem
                << std::endl;
  }
  return dnn;
}

const void *GpuLauncher::upload(std::span<const std::byte> bytes) {
  CUdeviceptr address = gpu.allocate(bytes.size(), "a table of an operation");
  gpu.copyToDevice(address, bytes.data(), bytes.size(), gpu.firstStream());
  return reinterpret_cast<const void *>(address);
}

int64_t *GpuLauncher::hostCell() {
  return reinterpret_cast<int64_t *>(gpu.allocateLocked(sizeof(int64_t), "a count that a kernel finds"));
}

void GpuLauncher::copy(void *to, const void *from, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    gpu.check(driver().copy(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes, stream),
              "cuMemcpyAsync");
}

void GpuLauncher::reserveWorkspace(uint64_t bytes) {
  uint64_t &most = reserved[boundFor];
  if (bytes > most && workspaces.count(boundFor))
    fail("operations of stream ", boundFor, " have ", most, " bytes of workspace, and one that --tune tries wants ",
         bytes);
  most = std::max(most, bytes);
}

void *GpuLauncher::workspace(uint32_t stream) {
  auto [at, isNew] = workspaces.try_emplace(stream, 0);
  if (isNew && lentBytes) {
    const uint64_t wanted = reserved[stream];
    if (takenBytes + wanted > lentBytes)
      fail("operations of stream ", stream, " want ", wanted, " bytes of workspace, and the program was planned with ",
           lentBytes - std::min(takenBytes, lentBytes));
    at->second = lent + takenBytes;
    takenBytes += static_cast<uint64_t>(gpu_workspace::piece(static_cast<int64_t>(wanted)));
  } else if (isNew) {
    uint64_t most = 0;
    for (auto [number, bytes] : reserved)
      most = std::max(most, bytes);
    at->second = gpu.allocate(most, "the workspace of operations");
  }
  return reinterpret_cast<void *>(at->second);
}

} // namespace dtcc::rt::cuda
