//===- HostMirror.cpp - Where the host reaches memory of a GPU -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/HostMirror.h"

#include "runtime/core/Error.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace dtcc::rt::cuda {

HostMirror::HostMirror(uint64_t bytes) : bytes(bytes) {
  if (bytes == 0)
    return;
  void *mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    failWith(Status::Memory, "cannot reserve ", bytes,
             " bytes of address space for the mirror of an arena: ", std::strerror(errno));
  start = static_cast<std::byte *>(mapping);
}

HostMirror::~HostMirror() {
  if (start)
    munmap(start, bytes);
}

HostMirror::HostMirror(HostMirror &&other) noexcept : start(std::exchange(other.start, nullptr)), bytes(other.bytes) {}

void HostMirror::discard(uint64_t begin, uint64_t end) {
  constexpr uint64_t page = 4096;
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end)
    madvise(start + begin, end - begin, MADV_DONTNEED); // advice: else they only take room
}

} // namespace dtcc::rt::cuda
