//===- Memory.h - One block of memory for the life of the program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arenas are mapped once, on huge pages where the system gives them, and touched
// before the first step by the threads that will use them: pages lie near those
// threads, and a machine with too little memory fails at start, not at step 1,000.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_MEMORY_H
#define DTCC_RUNTIME_CORE_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace dtcc::rt {

class ThreadTeam;

class ArenaMemory {
public:
  /// Zeroed memory, aligned to 64 at least. Throws Status::Memory with the name of
  /// the arena if the system refuses. `given` is memory to use, zeroed and aligned to
  /// 2 MiB, that outlives this and reaches to a multiple of 2 MiB; null to map some.
  ArenaMemory(uint64_t bytes, const char *name, ThreadTeam &team, std::byte *given = nullptr);
  ~ArenaMemory();
  ArenaMemory(ArenaMemory &&other) noexcept;
  ArenaMemory(const ArenaMemory &) = delete;
  ArenaMemory &operator=(const ArenaMemory &) = delete;

  std::byte *data() const { return start; }

private:
  void *mapping = nullptr;
  size_t mapped = 0;
  std::byte *start = nullptr;
};

/// Bytes that this process can still take before the system or its cgroup refuses.
uint64_t availableMemory();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_MEMORY_H
