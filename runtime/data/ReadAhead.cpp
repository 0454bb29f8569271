//===- ReadAhead.cpp - Reading data before its step ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ReadAhead.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace dtcc::rt {

SampleRoom::SampleRoom(const Image &image, const dtcc_stage &stage) {
  constexpr uint64_t alignment = 256;
  for (const dtcc_input &input : rowsOf(stage.inputs, image.inputs())) {
    if (input.view == DTCC_NONE)
      continue;
    pieces.push_back({input.view, bytes});
    bytes += (spanOf(image.views()[input.view]) + alignment - 1) / alignment * alignment;
  }
}

ReadAhead::ReadAhead(const Batches &batches, const Image &image, int64_t rank, int threads, Send send)
    : batches(batches), image(image), rank(rank), threads(threads), send(std::move(send)),
      places(image, image.stageAt(image.mesh().coordinates(rank, 0))) {
  thread = std::thread([this] { run(); });
}

ReadAhead::~ReadAhead() {
  begin(end);
  thread.join();
}

void ReadAhead::begin(int64_t first) {
  {
    std::lock_guard<std::mutex> guard(lock);
    wanted = first;
  }
  changed.notify_one();
}

void ReadAhead::fill(int64_t slot, int64_t first, std::byte *room) {
  {
    std::unique_lock<std::mutex> guard(lock);
    copied.wait(guard, [&] { return state != State::Asked; });
    filling = {slot, first, room};
    state = State::Asked;
  }
  changed.notify_one();
}

const std::byte *ReadAhead::take(int64_t slot, int64_t first) {
  std::unique_lock<std::mutex> guard(lock);
  if (filling.slot != slot || filling.first != first)
    return nullptr;
  copied.wait(guard, [&] { return state != State::Asked; });
  return state.exchange(State::Empty) == State::Filled ? filling.room : nullptr;
}

/// False if the samples are bad, or cannot be sent. The step that reads them says so: this one may be the last, or be
/// done over.
bool ReadAhead::copy(const Filling &now, ThreadTeam &team) const {
  const std::vector<int64_t> coordinates = image.mesh().coordinates(rank, now.slot);
  auto addressOf = [&](uint32_t view) {
    return now.room + std::ranges::find(places.pieces, view, &SampleRoom::Piece::view)->offset;
  };
  try {
    batches.fill({image.stageAt(coordinates), coordinates, team, addressOf}, now.first);
    return !send || send(now.room);
  } catch (const std::exception &) {
    return false;
  }
}

void ReadAhead::run() {
  std::optional<ThreadTeam> team; // made here, because a team belongs to the thread that makes it
  for (int64_t done = none;;) {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [&] { return state == State::Asked || wanted != done; });
    if (wanted == end)
      return;
    if (state == State::Asked) {
      const Filling now = filling;
      guard.unlock();
      if (!team)
        team.emplace(threads);
      const bool isGood = copy(now, *team);
      guard.lock();
      state = isGood ? State::Filled : State::Empty;
      guard.unlock();
      copied.notify_one();
      continue;
    }
    done = wanted;
    guard.unlock();
    batches.touch(rank, done, [&] { return wanted != done || state == State::Asked; });
    // Reading that a copy interrupted begins again behind the copy: pages that are in memory cost little the second
    // time.
    if (state == State::Asked)
      done = none;
  }
}

} // namespace dtcc::rt
