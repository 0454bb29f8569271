//===- Launch.h - Kernels of the runtime as functions of the host
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_LAUNCH_H
#define DTCC_RUNTIME_CUDA_OPS_LAUNCH_H

#include "runtime/cuda/driver/CudaOp.h"

#include <algorithm>

namespace dtcc::rt::cuda {

/// A kernel of the runtime's modules, whose parameters are one structure.
class Kernel {
public:
  Kernel() = default;
  Kernel(Launcher &launcher, const char *module, const char *name, int64_t sharedBytes = 0)
      : launcher(&launcher), function(launcher.kernel(module, name, static_cast<uint64_t>(sharedBytes))) {}

  template <typename Parameters>
  void operator()(const Call &call, const LaunchShape &shape, const Parameters &parameters) const {
    if (shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0)
      return; // an empty tensor
    const void *predicate = call.predicate;
    void *addresses[] = {&predicate, const_cast<Parameters *>(&parameters)};
    launcher->launch(function, call.stream, shape, addresses);
  }
  /// `blocks` blocks in one dimension.
  template <typename Parameters>
  void operator()(const Call &call, int64_t blocks, unsigned threads, const Parameters &parameters) const {
    (*this)(call, LaunchShape{{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}, parameters);
  }

private:
  Launcher *launcher = nullptr;
  CUfunction function = nullptr;
};

/// Parts of at most `part` that hold `count`.
inline int64_t partsOf(int64_t count, int64_t part) { return (count + part - 1) / part; }

/// A table that kernels read, in the GPU's memory.
template <typename Row> const Row *upload(Launcher &launcher, const std::vector<Row> &table) {
  return static_cast<const Row *>(launcher.upload(std::as_bytes(std::span(table))));
}

/// Blocks for `work` independent items in a loop over the grid: enough to fill the device some times over.
inline int64_t loopBlocks(int64_t work, const Launcher &launcher) {
  return std::min<int64_t>(work, int64_t{16} * launcher.multiprocessors());
}

/// Memory laid out in a workspace: each piece starts at a multiple of 256 bytes.
class WorkspaceLayout {
public:
  /// The offset of a new piece.
  uint64_t take(int64_t bytes) {
    uint64_t at = size;
    size += (static_cast<uint64_t>(bytes) + 255) / 256 * 256;
    return at;
  }
  uint64_t bytes() const { return size; }

private:
  uint64_t size = 0;
};
template <typename T> T *at(const Call &call, uint64_t offset) {
  return reinterpret_cast<T *>(static_cast<std::byte *>(call.workspace) + offset);
}
inline bool isAligned(const void *address, uint64_t bytes) { return reinterpret_cast<uintptr_t>(address) % bytes == 0; }

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_LAUNCH_H
