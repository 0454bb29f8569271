//===- Warp.h - 32 threads, and the block they are of ---------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every lane has its own place in the program, as since Volta. Lanes at the same place
// go on together, those that are least far first: so they meet again behind branches.
// Lanes wait in shuffles for the members they name, and at barriers for the block.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_WARP_H
#define DTCC_TESTS_EMULATOR_PTX_WARP_H

#include "tests/emulator/ptx/Error.h"
#include "tests/emulator/ptx/Machine.h"
#include "tests/emulator/ptx/Program.h"
#include <bit>
#include <functional>

namespace dtcc::emulator {

/// A problem that a handler finds. The warp adds the thread and the instruction.
struct LaneProblem {
  Fault fault;
  int lane;
  std::string what;
};

class Block;

class Warp {
public:
  Warp(Block &block, int number);

  /// Runs until no lane can go on.
  void run();
  bool canRun() const { return alive & ~waiting; }
  /// Name of lane `lane`, for messages.
  std::string nameOf(int lane) const;
  [[noreturn]] void fail(Fault fault, int lane, uint32_t at, const std::string &what) const;

  template <class T> T *at(uint32_t place) { return reinterpret_cast<T *>(frame + place); }
  /// The bytes behind the addresses that the lanes have, in `found`, or a LaneProblem.
  void memory(const Code &code, uint32_t lanes, unsigned bytes, bool write, char *(&found)[kWarpSize]);
  /// The bytes behind an address, or a LaneProblem.
  char *memory(const Code &code, int lane, uint64_t address, unsigned bytes, bool write);
  char *local(int lane);
  uint64_t addressOf(const Code &code, int lane) {
    return (code.from == 8 ? at<uint64_t>(code.a)[lane] : at<uint32_t>(code.a)[lane]) + uint64_t(code.value);
  }
  const Program &program() const;

  /// Copies that cp.async has begun and no lane has waited for, by lane and group.
  struct Copy {
    char *to;
    const char *from;
    unsigned bytes, filled;
  };
  struct Copies {
    std::vector<std::vector<Copy>> groups;
    std::vector<Copy> open;
    void finish(size_t left);
  };
  Copies &copies(int lane);

  Block &block;
  int number;
  char *frame = nullptr;
  std::vector<char> storage;
  uint32_t alive = 0, waiting = 0, atBarrier = 0;
  uint32_t pcs[kWarpSize] = {};
  uint64_t executed = 0;

private:
  uint32_t next(uint32_t &lanes, uint32_t &limit) const;
  void moveTo(uint32_t lanes, uint32_t pc) {
    for (; lanes; lanes &= lanes - 1)
      pcs[std::countr_zero(lanes)] = pc;
  }
  /// The lanes that do a collective now, or 0: they then wait.
  uint32_t gather(const Code &code, uint32_t pc, uint32_t lanes);
  bool releaseCollective();
  void go(uint32_t pc, uint32_t lanes, uint32_t limit);

  std::vector<Copies> asynchronous;
  Range lastRange{};
  /// Ranges of device memory that instructions of these numbers, modulo the size, met last.
  Range ranges[64] = {};
};

/// One block: its shared memory, warps and barriers.
class Block {
public:
  Block(const Program &program, const Launch &launch, DeviceMemory &memory, const char *parameters);
  /// Runs block `number` to its end.
  void run(uint64_t number);

  const Program &program;
  const Launch &launch;
  DeviceMemory &device;
  const char *parameters;
  std::vector<char> shared, locals;
  uint32_t index[3] = {};
  int threads;
  std::vector<Warp> warps;
  uint64_t executed = 0;
  struct Barrier {
    uint32_t arrived = 0;
  };
  Barrier barriers[16];
  /// Notes that the lanes of a warp touch `bytes` at `offsets` of shared memory; a LaneProblem if that is a race.
  void noteShared(const Warp &warp, uint32_t lanes, const uint64_t *offsets, unsigned bytes, bool write);

  /// Who wrote and read each byte of shared memory last: a stamp of the interval between two barriers, and below it
  /// the warp, or kMany.
  struct Touches {
    std::vector<uint32_t> writes, reads;
  };
  static constexpr unsigned kWarpBits = 6;
  static constexpr uint32_t kMany = (1u << kWarpBits) - 1;
  /// Whether another warp made a stamp in the interval of `mine`.
  static bool isOfAnother(uint32_t stamp, uint32_t mine) { return stamp != mine && (stamp ^ mine) <= kMany; }

private:
  bool releaseBarriers();
  [[noreturn]] void reportDeadlock();
  void fillSpecials(Warp &warp);

  template <unsigned count> void noteShared(const Warp &warp, uint32_t lanes, const uint64_t *offsets, bool write);
  [[noreturn]] void reportRace(uint32_t mine, int lane, uint64_t offset, bool write) const;
  /// Stamps of other intervals say nothing of the one that begins.
  void nextInterval();

  Touches touches;
  uint32_t time = 1;
};

/// Calls `each` for every lane of a mask.
template <class Each> inline void forLanes(uint32_t lanes, Each each) {
  if (lanes == ~0u) {
    for (int lane = 0; lane < kWarpSize; ++lane)
      each(lane);
    return;
  }
  for (; lanes; lanes &= lanes - 1)
    each(std::countr_zero(lanes));
}

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_WARP_H
