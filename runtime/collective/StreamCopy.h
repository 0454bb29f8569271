//===- StreamCopy.h - Copies that pass the caches by ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer larger than a rank's share of the caches is out of them again before anybody
// reads it. Stores that pass the caches by save reading it first: a third of the traffic of a
// copy.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_STREAMCOPY_H
#define DTCC_RUNTIME_COLLECTIVE_STREAMCOPY_H

#include <cstdint>

namespace dtcc::rt {

/// memcpy by such stores. They are ordered before every later store of this thread.
void streamCopy(void *to, const void *from, int64_t bytes);

/// Buffers from here on are copied so. A constant, because virtual machines report caches
/// that they do not have; a core's share of a server's last-level cache is 2 to 8 MB.
inline constexpr int64_t streamedBytes = int64_t(8) << 20;

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_STREAMCOPY_H
