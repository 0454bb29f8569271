//===- ReadAhead.h - Reading data before its step --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that brings the pages of the next step's samples into memory while the step before runs. It holds no copy
// of them: the step copies from the files' mappings as it would without the thread, and waits for the disk only where
// the thread has not come so far. Each rank has one.
//
// A program for GPUs also gives it memory to which it copies the next slot's samples, as a step would, and a function
// that sends them on to the GPU as soon as they are there. What it copies follows from the slot and the step's first
// sample alone, so nothing has to be told of evaluations, rollbacks or ends: who takes another slot finds nothing, and
// copies by itself.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_READAHEAD_H
#define DTCC_RUNTIME_DATA_READAHEAD_H

#include "runtime/data/Batches.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace dtcc::rt {

/// How the inputs of a rank in one slot lie in memory that is lent to it: from each view's first element to its last.
struct SampleRoom {
  struct Piece {
    uint32_t view;
    uint64_t offset;
  };
  std::vector<Piece> pieces;
  uint64_t bytes = 0; /* 0: the rank has no inputs */

  SampleRoom(const Image &image, const dtcc_stage &stage);
  /// Bytes of the GPU's memory to which a filled room is sent while the slot before runs. 0 if a room has less than
  /// 1 MiB: it crosses PCIe in less than 20 us (55 GB/s on an H100), and the additional copy and waits of a slot would
  /// cost about as much. Tokens of language models have some KiB, images some MiB.
  uint64_t bytesAhead() const { return bytes < (1 << 20) ? 0 : bytes; }
};
/// Number of rooms of a rank on a GPU: one is filled while the device reads the other.
constexpr size_t kSampleRooms = 2;

class ReadAhead {
public:
  /// Function that the thread calls with each room that it has filled, before the room can be taken. If it returns
  /// false, the room counts as not copied.
  using Send = std::function<bool(const std::byte *room)>;

  /// Starts the thread that reads ahead for `rank`, and copies with `threads`. `batches` and `image` must outlive the
  /// object. `send` may be null.
  ReadAhead(const Batches &batches, const Image &image, int64_t rank, int threads, Send send = nullptr);
  ~ReadAhead();
  ReadAhead(const ReadAhead &) = delete;
  ReadAhead &operator=(const ReadAhead &) = delete;

  /// Begins to read the step that begins at sample `first`, and leaves an earlier one unfinished.
  void begin(int64_t first);

  const SampleRoom &layout() const { return places; }
  /// Begins to copy to `room` the samples of `slot` in the step that begins at sample `first`. The copy comes before
  /// any reading that `begin` asked for. Waits for an earlier copy that is under way, whose room can then no longer be
  /// taken.
  void fill(int64_t slot, int64_t first, std::byte *room);
  /// Waits until the copy of these samples is complete, and returns its room. Null if the last call of `fill` named
  /// other samples, or if the copy failed: the caller then copies the samples itself, and gets the error.
  const std::byte *take(int64_t slot, int64_t first);

private:
  enum class State { Empty, Asked, Filled };
  struct Filling {
    int64_t slot = 0, first = 0;
    std::byte *room = nullptr;
  };
  void run();
  bool copy(const Filling &now, ThreadTeam &team) const;

  const Batches &batches;
  const Image &image;
  const int64_t rank;
  const int threads;
  const Send send;
  const SampleRoom places;
  std::mutex lock;
  std::condition_variable changed, copied;
  std::atomic<int64_t> wanted{none};
  std::atomic<State> state{State::Empty}; /* of `filling`; changes under the lock */
  Filling filling;
  static constexpr int64_t none = -1, end = -2;
  std::thread thread;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_READAHEAD_H
