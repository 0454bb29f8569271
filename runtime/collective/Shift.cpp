//===- Shift.cpp - The collective that passes each value to the next member -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The step of a ring, of messages that every transport has. Pieces are sent and received
// in turn: a member that waits for room waits for a receiver that has all it waits for.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"

#include <algorithm>

namespace dtcc::rt {

/// Bytes of a message: enough to make its head cheap, and to lie in a second level cache.
static constexpr int64_t shiftPiece = 256 << 10;

void Communicator::reserveShifts() {
  if (shiftsReserved || members == 1)
    return;
  shiftsReserved = true;
  // One on its way while the next is copied.
  reserveSend((me + 1) % members, shiftPiece);
  reserveSend((me + 1) % members, shiftPiece);
}

void Communicator::shift(const void *in, void *out, int64_t bytes) {
  const auto *from = static_cast<const std::byte *>(in);
  auto *to = static_cast<std::byte *>(out);
  if (members == 1) {
    std::copy_n(from, bytes, to);
    return;
  }
  for (int64_t at = 0; at < bytes; at += shiftPiece) {
    int64_t length = std::min(shiftPiece, bytes - at);
    send(from + at, length, (me + 1) % members);
    receive(to + at, length, (me + members - 1) % members);
  }
}

} // namespace dtcc::rt
