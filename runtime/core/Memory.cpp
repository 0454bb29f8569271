//===- Memory.cpp - One block of memory for the life of the program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Memory.h"

#include "runtime/core/Error.h"
#include "runtime/core/ThreadTeam.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/mman.h>
#include <sys/mman.h>
#include <utility>

namespace dtcc::rt {
namespace {

constexpr size_t hugePage = size_t(2) << 20;

/// Makes the pages of [begin, end) present.
void populate(std::byte *begin, std::byte *end) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, static_cast<size_t>(end - begin), MADV_POPULATE_WRITE) == 0)
    return;
  if (errno == ENOMEM)
    failWith(Status::Memory, "out of memory while making the pages of an arena present");
#endif
  std::memset(begin, 0, static_cast<size_t>(end - begin));
}

/// The number in a file of one number, or `otherwise` ("max", no such file).
uint64_t readNumber(const char *path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t value;
  return file >> value ? value : otherwise;
}

} // namespace

ArenaMemory::ArenaMemory(uint64_t bytes, const char *name, ThreadTeam &team, std::byte *given) {
  if (bytes == 0)
    return;
  auto populateAll = [&](size_t rounded, size_t unit) {
    team.parallelFor(static_cast<int64_t>(rounded / unit), 1, [&](int64_t first, int64_t last) {
      populate(start + static_cast<size_t>(first) * unit, start + static_cast<size_t>(last) * unit);
    });
  };
  if (given) {
    start = given;
    populateAll((bytes + 4095) / 4096 * 4096, 4096);
#ifdef MADV_COLLAPSE
    // Shared memory gets huge pages by this alone; without them it is only slower.
    if (bytes >= hugePage)
      madvise(start, bytes / hugePage * hugePage, MADV_COLLAPSE);
#endif
    return;
  }
  bool huge = bytes >= hugePage;
  size_t unit = huge ? hugePage : 4096;
  size_t rounded = (bytes + unit - 1) / unit * unit;
  mapped = rounded + (huge ? hugePage : 0);
  mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    mapping = nullptr;
    failWith(Status::Memory, "cannot allocate ", bytes, " bytes for the arena '", name, "': ", std::strerror(errno));
  }
  auto address = (reinterpret_cast<uintptr_t>(mapping) + unit - 1) / unit * unit;
  start = reinterpret_cast<std::byte *>(address);
  if (huge)
    madvise(start, rounded, MADV_HUGEPAGE); // advice: without huge pages it is only slower
  populateAll(rounded, unit);
}

ArenaMemory::~ArenaMemory() {
  if (mapping)
    munmap(mapping, mapped);
}

ArenaMemory::ArenaMemory(ArenaMemory &&other) noexcept
    : mapping(std::exchange(other.mapping, nullptr)), mapped(other.mapped), start(other.start) {}

uint64_t availableMemory() {
  uint64_t available = UINT64_MAX;
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (uint64_t kilobytes; file >> key >> kilobytes; std::getline(file, unit))
    if (key == "MemAvailable:")
      available = kilobytes * 1024;
  uint64_t limit = readNumber("/sys/fs/cgroup/memory.max", UINT64_MAX);
  uint64_t used = readNumber("/sys/fs/cgroup/memory.current", 0);
  if (limit != UINT64_MAX)
    available = std::min(available, limit - std::min(limit, used));
  return available;
}

} // namespace dtcc::rt
