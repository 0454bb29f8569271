//===- CudaOp.h - A command bound to launches on a GPU -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CudaOp is to GPUs what runtime/kernels/ops/LibraryOp.h is to processors: one per command and rank, made
// in the bind phase. It asks its Launcher for kernels, scratch memory and tables there;
// run() issues launches and does not allocate. Scalars that a command reads lie in the GPU's
// memory, so that no step waits for one. An op waits only where the host must know what a
// kernel found (Launcher::hostCell); a step with such an op is no graph.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_CUDAOP_H
#define DTCC_RUNTIME_CUDA_DRIVER_CUDAOP_H

#include "runtime/image/Rank.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

// The driver's handles, which its header declares in the same way.
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

namespace dtcc::rt::cuda {

/// One run of a command.
struct Call {
  CUstream stream = nullptr;
  /// The GPU's address of each operand's view for the running slot.
  void *const *buffers = nullptr;
  /// One i32 in the GPU's memory: the kernels do nothing if it is 0. Null: they run.
  const void *predicate = nullptr;
  /// Scratch memory, aligned to 256: at least what every op of the stream reserved. Ops of a stream run in order,
  /// so all of them have the same; its content does not outlive a call.
  void *workspace = nullptr;
};

/// Algorithm by which a library computes an op, as that version of the library accepts it: for cublasLt a
/// cublasLtMatmulAlgo_t.
using LibraryAlgorithm = std::array<uint64_t, 8>;

class CudaOp {
public:
  virtual ~CudaOp() = default;
  virtual void run(Rank &rank, const Call &call) = 0;
  /// Returns at most `most` algorithms, the likely best first, none with more workspace than is planned. An op without
  /// a choice returns zeros.
  virtual std::vector<LibraryAlgorithm> algorithms(int /*most*/) { return {LibraryAlgorithm()}; }
  /// False if it cannot be run so here, or only with more workspace.
  virtual bool choose(const LibraryAlgorithm &algorithm) { return algorithm == LibraryAlgorithm(); }
  /// Names the kernels of a library that the first run loads, which waits for all that the GPU has to do; ops of one
  /// name have the same. Empty: all is loaded when the op is bound.
  virtual std::string_view loads() const { return {}; }
};

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  /// Dynamic shared memory, at most what the kernel was asked for with.
  unsigned sharedBytes = 0;
};

/// The services of a device that an op may use while it is bound and run.
class Launcher {
public:
  virtual ~Launcher() = default;

  // In the bind phase.
  /// A kernel of the runtime's own module of this name (KernelModules.h), launched with at most so much dynamic shared
  /// memory. Throws Error(Status::Device) that names it.
  virtual CUfunction kernel(const char *module, const char *name, uint64_t sharedBytes) = 0;
  /// Call::workspace must have this many bytes.
  virtual void reserveWorkspace(uint64_t bytes) = 0;
  /// A copy in the GPU's memory that lives as long as the launcher.
  virtual const void *upload(std::span<const std::byte> bytes) = 0;
  /// An integer of the host that kernels can write. It lives as long as the launcher.
  virtual int64_t *hostCell() = 0;
  virtual int multiprocessors() const = 0;
  /// A handle of cublasLt (CublasLt.h); null where the library is not there.
  virtual void *products() { return nullptr; }
  /// A handle of cuDNN (Cudnn.h) for attention; null where the library is not there, or kernels of ours are wanted.
  virtual void *fusions() { return nullptr; }
  /// Returns the same handle for convolutions. --attention=own does not turn it off.
  virtual void *convolutions() { return nullptr; }

  // In a step.
  /// Errors carry rank, op and call. `parameters`: the address of each.
  virtual void launch(CUfunction function, CUstream stream, const LaunchShape &shape, void **parameters) = 0;
  /// Bytes between memory of the GPU and locked memory of the host, beside kernels: by no multiprocessor.
  virtual void copy(void *to, const void *from, uint64_t bytes, CUstream stream) = 0;
  /// Waits for what stands on a stream.
  virtual void wait(CUstream stream) = 0;
};

/// Makes the op of one DTCC_LIBRARY, DTCC_COPY or DTCC_FILL command of the rank's image. Throws Error if operands or
/// attributes are not those of LibraryOps.def.
std::unique_ptr<CudaOp> createCudaOp(const dtcc_command &command, Rank &rank, Launcher &launcher);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_CUDAOP_H
