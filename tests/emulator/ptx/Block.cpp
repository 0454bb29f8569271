//===- Block.cpp - A block of threads, its barriers and shared memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Warp.h"
#include <algorithm>
#include <cstring>

namespace dtcc::emulator {

static int threadsOf(const Launch &launch) { return int(launch.block[0] * launch.block[1] * launch.block[2]); }

Block::Block(const Program &program, const Launch &launch, DeviceMemory &memory, const char *parameters)
    : program(program), launch(launch), device(memory), parameters(parameters),
      shared(program.sharedBytes + launch.dynamicShared), threads(threadsOf(launch)) {
  int count = (threads + kWarpSize - 1) / kWarpSize;
  locals.resize(size_t(count) * kWarpSize * program.localBytes);
  if (launch.checkRaces)
    for (std::vector<uint32_t> *stamps : {&touches.writes, &touches.reads})
      stamps->resize(shared.size());
  warps.reserve(size_t(count));
  for (int number = 0; number < count; ++number)
    warps.emplace_back(*this, number);
}

void Block::fillSpecials(Warp &warp) {
  for (auto [place, special] : program.specials)
    for (int lane = 0; lane < kWarpSize; ++lane) {
      uint32_t thread = uint32_t(warp.number * kWarpSize + lane), value = 0;
      const uint32_t *sizes = launch.block;
      auto below = uint32_t((1ull << lane) - 1), self = 1u << lane;
      switch (special) {
      case Special::TidX:
        value = thread % sizes[0];
        break;
      case Special::TidY:
        value = thread / sizes[0] % sizes[1];
        break;
      case Special::TidZ:
        value = thread / sizes[0] / sizes[1];
        break;
      case Special::NtidX:
      case Special::NtidY:
      case Special::NtidZ:
        value = sizes[int(special) - int(Special::NtidX)];
        break;
      case Special::CtaidX:
      case Special::CtaidY:
      case Special::CtaidZ:
        value = index[int(special) - int(Special::CtaidX)];
        break;
      case Special::NctaidX:
      case Special::NctaidY:
      case Special::NctaidZ:
        value = launch.grid[int(special) - int(Special::NctaidX)];
        break;
      case Special::Lane:
        value = uint32_t(lane);
        break;
      case Special::WarpNumber:
        value = uint32_t(warp.number);
        break;
      case Special::WarpCount:
        value = uint32_t(warps.size());
        break;
      case Special::Processor:
        value = 0;
        break;
      case Special::LanesLess:
        value = below;
        break;
      case Special::LanesLessEqual:
        value = below | self;
        break;
      case Special::LanesEqual:
        value = self;
        break;
      case Special::LanesGreater:
        value = ~(below | self);
        break;
      case Special::LanesGreaterEqual:
        value = ~below;
        break;
      case Special::DynamicShared:
        value = launch.dynamicShared;
        break;
      case Special::TotalShared:
        value = uint32_t(shared.size());
        break;
      }
      warp.at<uint32_t>(place)[lane] = value;
    }
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

bool Block::releaseBarriers() {
  // Lanes of a warp that meet at an aligned barrier do so together.
  uint32_t lanes[16] = {}, arrived[16] = {}, wanted[16] = {}, living = 0;
  for (Warp &warp : warps) {
    living += uint32_t(std::popcount(warp.alive));
    uint32_t there = warp.atBarrier & warp.alive, counted = 0;
    for (uint32_t left = there; left; left &= left - 1) {
      int lane = std::countr_zero(left);
      const Code &code = program.code[warp.pcs[lane]];
      if (code.aligned && (there != warp.alive || warp.pcs[lane] != warp.pcs[std::countr_zero(there)]))
        reportDeadlock();
      uint32_t id = warp.at<uint32_t>(code.a)[lane];
      if (id > 15)
        warp.fail(Fault::Launch, lane, warp.pcs[lane], "barrier " + std::to_string(id) + " of 16");
      // A barrier that is told a number counts warps: one that has lost lanes counts whole.
      ++lanes[id];
      if (!(counted >> id & 1))
        arrived[id] += kWarpSize;
      counted |= 1u << id;
      if (code.b != kNowhere) {
        uint32_t count = warp.at<uint32_t>(code.b)[lane];
        if (count == 0 || count % kWarpSize || (wanted[id] && wanted[id] != count))
          warp.fail(Fault::Launch, lane, warp.pcs[lane],
                    "a barrier of " + std::to_string(count) +
                        " threads, which is no number of warps or not the others'");
        wanted[id] = count;
      }
    }
  }
  bool released = false;
  for (uint32_t id = 0; id < 16; ++id) {
    if (!arrived[id] || (wanted[id] ? arrived[id] + barriers[id].arrived < wanted[id] : lanes[id] < living))
      continue;
    for (Warp &warp : warps)
      for (uint32_t left = warp.atBarrier & warp.alive; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        if (warp.at<uint32_t>(program.code[warp.pcs[lane]].a)[lane] != id)
          continue;
        ++warp.pcs[lane];
        warp.waiting &= ~(1u << lane);
        warp.atBarrier &= ~(1u << lane);
      }
    barriers[id].arrived = 0;
    nextInterval();
    released = true;
  }
  return released;
}

void Block::reportDeadlock() {
  // One that waits, and one that is not where it waits.
  const Warp *first = nullptr;
  int firstLane = 0;
  for (const Warp &warp : warps)
    for (uint32_t left = warp.alive; left && !first; left &= left - 1) {
      first = &warp;
      firstLane = std::countr_zero(left);
    }
  uint32_t at = first->pcs[firstLane];
  std::string what = first->atBarrier >> firstLane & 1 ? "it waits at a barrier" : "it waits for its warp";
  std::string others = ", and all others have ended";
  for (const Warp &warp : warps)
    for (uint32_t left = warp.alive; left; left &= left - 1) {
      int lane = std::countr_zero(left);
      if (warp.pcs[lane] == at)
        continue;
      others = " where " + warp.nameOf(lane) + " waits at line " + std::to_string(program.code[warp.pcs[lane]].line);
      first->fail(Fault::Launch, firstLane, at, what + others + ": they never meet");
    }
  first->fail(Fault::Launch, firstLane, at, what + others);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Whether another warp touched one of `count` bytes since the last barrier, and one of the two writes.
template <unsigned count> static bool racing(const Block::Touches &touches, uint32_t mine, uint64_t first, bool write) {
  const uint32_t *writes = &touches.writes[first], *reads = &touches.reads[first];
  uint32_t found = 0;
  for (unsigned i = 0; i < count; ++i)
    found |= uint32_t(Block::isOfAnother(writes[i], mine)) | uint32_t(write && Block::isOfAnother(reads[i], mine));
  return found;
}

template <unsigned count> static void touch(Block::Touches &touches, uint32_t mine, uint64_t first, bool write) {
  uint32_t *stamps = write ? &touches.writes[first] : &touches.reads[first];
  for (unsigned i = 0; i < count; ++i)
    stamps[i] = Block::isOfAnother(stamps[i], mine) ? mine | Block::kMany : mine;
}

template <unsigned count>
void Block::noteShared(const Warp &warp, uint32_t lanes, const uint64_t *offsets, bool write) {
  const uint32_t mine = time << kWarpBits | uint32_t(warp.number);
  uint64_t noted = ~0ull;
  for (uint32_t left = lanes; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    // Lanes that read one place for all are alike.
    if (offsets[lane] == noted)
      continue;
    noted = offsets[lane];
    if (racing<count>(touches, mine, offsets[lane], write))
      reportRace(mine, lane, offsets[lane], write);
    touch<count>(touches, mine, offsets[lane], write);
  }
}

void Block::noteShared(const Warp &warp, uint32_t lanes, const uint64_t *offsets, unsigned bytes, bool write) {
  switch (bytes) {
  case 1:
    return noteShared<1>(warp, lanes, offsets, write);
  case 2:
    return noteShared<2>(warp, lanes, offsets, write);
  case 4:
    return noteShared<4>(warp, lanes, offsets, write);
  case 8:
    return noteShared<8>(warp, lanes, offsets, write);
  case 16:
    return noteShared<16>(warp, lanes, offsets, write);
  default:
    return noteShared<32>(warp, lanes, offsets, write);
  }
}

void Block::reportRace(uint32_t mine, int lane, uint64_t offset, bool write) const {
  for (uint64_t at = offset;; ++at) {
    bool written = isOfAnother(touches.writes[at], mine);
    if (!written && !(write && isOfAnother(touches.reads[at], mine)))
      continue;
    uint32_t other = (written ? touches.writes : touches.reads)[at] & kMany;
    throw LaneProblem{Fault::Launch, lane,
                      std::string(write ? "it writes" : "it reads") + " byte " + std::to_string(at) +
                          " of shared memory, which " +
                          (other == kMany ? "other warps" : "warp " + std::to_string(other)) + " " +
                          (written ? "wrote" : "read") + " since the last barrier"};
  }
}

void Block::nextInterval() {
  if (++time < 1u << (32 - kWarpBits))
    return;
  std::fill(touches.writes.begin(), touches.writes.end(), 0);
  std::fill(touches.reads.begin(), touches.reads.end(), 0);
  time = 1;
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

void Block::run(uint64_t block) {
  index[0] = uint32_t(block % launch.grid[0]);
  index[1] = uint32_t(block / launch.grid[0] % launch.grid[1]);
  index[2] = uint32_t(block / launch.grid[0] / launch.grid[1]);
  nextInterval();
  // Unwritten shared memory holds NaN.
  std::fill(shared.begin(), shared.end(), char(0xff));
  for (Barrier &barrier : barriers)
    barrier = {};
  for (Warp &warp : warps) {
    int left = threads - warp.number * kWarpSize;
    warp.alive = left >= kWarpSize ? ~0u : (1u << left) - 1;
    warp.waiting = warp.atBarrier = 0;
    std::fill(std::begin(warp.pcs), std::end(warp.pcs), program.start);
    warp.executed = 0;
    fillSpecials(warp);
  }
  size_t first = launch.seed % warps.size();
  bool backwards = launch.seed & 1;
  for (;;) {
    for (size_t i = 0; i < warps.size(); ++i) {
      size_t turn = (first + i) % warps.size();
      warps[backwards ? warps.size() - 1 - turn : turn].run();
    }
    if (std::all_of(warps.begin(), warps.end(), [](const Warp &warp) { return !warp.alive; }))
      break;
    if (!releaseBarriers())
      reportDeadlock();
  }
  for (const Warp &warp : warps)
    executed += warp.executed;
}

} // namespace dtcc::emulator
