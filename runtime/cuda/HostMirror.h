//===- HostMirror.h - Where the host reaches memory of a GPU -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As large as an arena, and takes memory only where it is touched: inputs, scalars, what
// passes through the host, and the states while they are loaded or saved.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_HOSTMIRROR_H
#define DTCC_RUNTIME_CUDA_HOSTMIRROR_H

#include <cstddef>
#include <cstdint>

namespace dtcc::rt::cuda {

class HostMirror {
public:
  /// Throws Error(Status::Memory) if the system refuses.
  explicit HostMirror(uint64_t bytes);
  ~HostMirror();
  HostMirror(HostMirror &&other) noexcept;
  HostMirror(const HostMirror &) = delete;
  HostMirror &operator=(const HostMirror &) = delete;

  std::byte *data() const { return start; }
  /// Gives the pages that lie inside of [begin, end) back: they read as zero.
  void discard(uint64_t begin, uint64_t end);

private:
  std::byte *start = nullptr;
  uint64_t bytes;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_HOSTMIRROR_H
