//===- GpuLauncher.h - What an op gets of a GPU --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The services of one GPU for library ops: the runtime's own kernels, handles of NVIDIA's
// libraries, and scratch memory of the streams.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_GPULAUNCHER_H
#define DTCC_RUNTIME_CUDA_DRIVER_GPULAUNCHER_H

#include "runtime/cuda/driver/Gpu.h"

namespace dtcc::rt::cuda {

class GpuLauncher : public Launcher {
public:
  GpuLauncher(Gpu &gpu, int64_t rank) : gpu(gpu), rank(rank) {}
  ~GpuLauncher() override;
  GpuLauncher(const GpuLauncher &) = delete;

  CUfunction kernel(const char *module, const char *name, uint64_t sharedBytes) override;
  void reserveWorkspace(uint64_t bytes) override;
  const void *upload(std::span<const std::byte> bytes) override;
  int64_t *hostCell() override;
  int multiprocessors() const override { return gpu.info().multiprocessors; }
  void *products() override;
  void *fusions() override { return ownAttention ? nullptr : convolutions(); }
  void *convolutions() override;
  void launch(CUfunction function, CUstream stream, const LaunchShape &shape, void **parameters) override {
    gpu.launch(function, stream, shape, parameters);
  }
  void copy(void *to, const void *from, uint64_t bytes, CUstream stream) override;
  void wait(CUstream stream) override { gpu.synchronize(stream); }

  /// Attention by kernels of ours alone.
  void useOwnAttention() { ownAttention = true; }
  /// Lets streams work in memory that the plan has for them, or a message says that their ops want more.
  void lendWorkspace(CUdeviceptr address, uint64_t bytes) { lent = address, lentBytes = bytes; }
  /// Ops that are bound from now on run on `stream`, and reserve scratch memory of that stream.
  void bindFor(uint32_t stream) { boundFor = stream; }
  /// Scratch memory of a stream, after all reservations: of the plan where that has some, a piece a stream; else memory
  /// that is enough for any op.
  void *workspace(uint32_t stream);

private:
  Gpu &gpu;
  int64_t rank;
  std::map<std::string, CUmodule> ownModules;
  std::map<CUfunction, uint64_t> sharedBytes; /* dynamic ones that a function was allowed */
  std::map<uint32_t, CUdeviceptr> workspaces;
  std::map<uint32_t, uint64_t> reserved; /* by stream */
  uint32_t boundFor = 0;
  CUdeviceptr lent = 0;
  uint64_t lentBytes = 0, takenBytes = 0;
  void *blas = nullptr, *dnn = nullptr;
  bool blasTried = false, dnnTried = false, ownAttention = false;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_GPULAUNCHER_H
