//===- TeamScratch.h - Small memory for each thread of a team -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles that a library op keeps in a core's own caches. Their size depends on the
// number of threads, which the compiler does not know, so they are not in an
// arena: ops say in the bind phase what they need, all ops of a rank share the
// largest, and nothing is allocated after the first step has begun. It is some
// hundred KiB a thread, with convolutions some ten MiB.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_TEAMSCRATCH_H
#define DTCC_RUNTIME_CORE_TEAMSCRATCH_H

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace dtcc::rt {

class TeamScratch {
public:
  /// Memory for `threads` threads, none yet.
  explicit TeamScratch(int threads) : threads(static_cast<size_t>(threads)) {}

  /// Makes at(part) valid for `bytes` for every part; addresses may change.
  void reserve(size_t bytes) {
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes <= perThread)
      return;
    memory.reset(std::aligned_alloc(alignment, bytes * threads));
    if (!memory)
      throw std::bad_alloc();
    perThread = bytes;
  }
  /// Start of the memory of part `part` of a parallel loop, aligned to pages.
  template <typename T> T *at(int part) const {
    return reinterpret_cast<T *>(static_cast<std::byte *>(memory.get()) + static_cast<size_t>(part) * perThread);
  }
  /// Reserves `bytes` for all threads together, at at(0), for a library that divides the memory by itself.
  void reserveTotal(size_t bytes) { reserve((bytes + threads - 1) / threads); }
  size_t bytesPerThread() const { return perThread; }

private:
  static constexpr size_t alignment = 4096;
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  size_t threads;
  size_t perThread = 0;
  std::unique_ptr<void, Free> memory;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_TEAMSCRATCH_H
