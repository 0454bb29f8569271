//===- Link.h - Messages between processes of several hosts --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A link is a way between hosts. It carries messages of bytes, in order. Collectives are made of
// them in TwoLevelGroup.h. TcpLink.h carries them over connections of our own, mpi/Mpi.cpp
// over MPI.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_LINK_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_LINK_H

#include "runtime/collective/Watch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace dtcc::rt {

class Link {
public:
  /// Makes the Wait of a call, for the message of the Error that ends it.
  using Describe = std::function<Wait()>;
  using Notes = std::map<int64_t, Watch::Note>;
  /// Says what the ranks of this host do.
  using Tell = std::function<Notes()>;

  virtual ~Link() = default;
  /// Sends `data` to `rank`; returns at once. Messages of one channel arrive in order.
  virtual void post(int64_t rank, uint32_t channel, std::vector<std::byte> data) = 0;
  /// Returns when at most `most` of the messages that were posted to `rank` are still here.
  virtual void drain(int64_t rank, size_t most, const Describe &wait) = 0;
  /// Waits for the next message of `rank` on `channel`. Returns its length, of which up to `bytes` are in `into`.
  virtual int64_t take(int64_t rank, uint32_t channel, void *into, int64_t bytes, const Describe &wait) = 0;
  /// Facts about `ranks` of other hosts, which have a second to answer. A rank also answers for those of its host that
  /// do not.
  virtual Notes ask(std::span<const int64_t> ranks) = 0;
  /// A rank whose connection ended without a word, or -1.
  virtual int64_t lost() const { return -1; }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_LINK_H
