//===- StreamCopy.cpp - Copies that pass the caches by -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/StreamCopy.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace dtcc::rt {
namespace {

constexpr int64_t lineBytes = 64;
typedef float Line __attribute__((vector_size(lineBytes)));
typedef float UnalignedLine __attribute__((vector_size(lineBytes), aligned(4), may_alias));

} // namespace

void streamCopy(void *to, const void *from, int64_t bytes) {
  auto *target = static_cast<std::byte *>(to);
  const auto *source = static_cast<const std::byte *>(from);
  auto misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(target) % lineBytes);
  int64_t head = std::min(bytes, misaligned == 0 ? 0 : lineBytes - misaligned);
  std::memcpy(target, source, static_cast<size_t>(head));
  int64_t at = head;
  for (; at + lineBytes <= bytes; at += lineBytes) {
    UnalignedLine line;
    std::memcpy(&line, source + at, sizeof(line));
    __builtin_nontemporal_store(line, reinterpret_cast<Line *>(target + at));
  }
  std::memcpy(target + at, source + at, static_cast<size_t>(bytes - at));
#if defined(__x86_64__)
  __builtin_ia32_sfence(); // such stores know no order otherwise
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

} // namespace dtcc::rt
