//===- Warp.cpp - Runs the 32 threads of a warp through a kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Warp.h"
#include <algorithm>
#include <cstring>
#include <sstream>

namespace dtcc::emulator {

Warp::Warp(Block &block, int number) : block(block), number(number) {
  storage.resize(block.program.frameBytes + 64);
  frame = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
  for (const Program::Constant &constant : block.program.constants)
    if (constant.bytes == 0)
      *at<uint32_t>(constant.place) = constant.bits ? ~0u : 0;
    else
      for (int lane = 0; lane < kWarpSize; ++lane)
        std::memcpy(at<char>(constant.place) + lane * constant.bytes, &constant.bits, constant.bytes);
}

const Program &Warp::program() const { return block.program; }

char *Warp::local(int lane) {
  return block.locals.data() + size_t(number * kWarpSize + lane) * block.program.localBytes;
}

Warp::Copies &Warp::copies(int lane) {
  asynchronous.resize(kWarpSize);
  return asynchronous[lane];
}

void Warp::Copies::finish(size_t left) {
  for (; groups.size() > left; groups.erase(groups.begin()))
    for (const Copy &copy : groups.front()) {
      if (copy.bytes)
        std::memcpy(copy.to, copy.from, copy.bytes);
      std::memset(copy.to + copy.bytes, 0, copy.filled - copy.bytes);
    }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string Warp::nameOf(int lane) const {
  uint32_t thread = uint32_t(number * kWarpSize + lane);
  const uint32_t *sizes = block.launch.block, *index = block.index;
  std::ostringstream name;
  name << "thread (" << thread % sizes[0] << ", " << thread / sizes[0] % sizes[1] << ", "
       << thread / sizes[0] / sizes[1] << ") of block (" << index[0] << ", " << index[1] << ", " << index[2] << ")";
  return name.str();
}

void Warp::fail(Fault fault, int lane, uint32_t at, const std::string &what) const {
  throw PtxError(fault, "kernel " + block.program.name + ", PTX line " + std::to_string(block.program.code[at].line) +
                            ", " + nameOf(lane) + ": " + what);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::string hex(uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

char *Warp::memory(const Code &code, int lane, uint64_t address, unsigned bytes, bool write) {
  auto describe = [&] { return (write ? "a write of " : "a read of ") + std::to_string(bytes) + " bytes at "; };
  if (address & (bytes - 1))
    throw LaneProblem{Fault::Misaligned, lane, describe() + hex(address) + ", which is no multiple of its size"};
  Space space = code.space;
  if (space == Space::Generic) {
    uint64_t window = address & kWindowMask;
    space = window == kSharedWindow  ? Space::Shared
            : window == kLocalWindow ? Space::Local
            : window == kParamWindow ? Space::Param
                                     : Space::Global;
    if (space != Space::Global)
      address &= ~kWindowMask;
  }
  switch (space) {
  case Space::Shared: {
    uint64_t offset = address - kSharedStart;
    if (address < kSharedStart || offset > block.shared.size() || bytes > block.shared.size() - offset)
      throw LaneProblem{Fault::Address, lane,
                        describe() + "offset " + std::to_string(int64_t(offset)) +
                            " of shared memory, of which the block has " + std::to_string(block.shared.size()) +
                            " bytes"};
    if (block.launch.checkRaces && !code.atomic) {
      uint64_t offsets[kWarpSize];
      offsets[lane] = offset;
      block.noteShared(*this, 1u << lane, offsets, bytes, write);
    }
    return block.shared.data() + offset;
  }
  case Space::Local: {
    uint64_t offset = address - kLocalStart;
    if (address < kLocalStart || offset > program().localBytes || bytes > program().localBytes - offset)
      throw LaneProblem{Fault::Address, lane,
                        describe() + "offset " + std::to_string(int64_t(offset)) + " of local memory"};
    return local(lane) + offset;
  }
  case Space::Param:
    if (write || address > program().parameterBytes || bytes > program().parameterBytes - address)
      throw LaneProblem{Fault::Address, lane, describe() + "offset " + std::to_string(address) + " of the parameters"};
    return const_cast<char *>(block.parameters) + address;
  default:
    break;
  }
  if (!lastRange.holds(address, bytes)) {
    Range range = block.device.find(address);
    if (!range.holds(address, bytes)) {
      Range before = range.bytes ? range : block.device.before(address);
      std::string near = before.bytes ? "; the allocation before it has " + std::to_string(before.bytes) +
                                            " bytes at " + hex(before.start) + ", this is " +
                                            std::to_string(address - before.start) + " bytes behind its start"
                                      : "";
      throw LaneProblem{Fault::Address, lane, describe() + hex(address) + ", outside of all device memory" + near};
    }
    lastRange = range;
  }
  return reinterpret_cast<char *>(address + lastRange.shift);
}

void Warp::memory(const Code &code, uint32_t lanes, unsigned bytes, bool write, char *(&found)[kWarpSize]) {
  uint64_t addresses[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane)
    addresses[lane] = addressOf(code, lane);
  // All lanes touch what the first one does, nearly always: one range of device memory, or shared memory.
  uint64_t first = addresses[std::countr_zero(lanes)];
  bool generic = code.space == Space::Generic;
  bool isShared = code.space == Space::Shared || (generic && (first & kWindowMask) == kSharedWindow);
  Range range;
  if (isShared) {
    uint64_t start = kSharedStart + (generic ? kSharedWindow : 0);
    range = {start, block.shared.size(), reinterpret_cast<uint64_t>(block.shared.data()) - start};
  } else if (generic || code.space == Space::Global) {
    Range &last = ranges[size_t(&code - program().code.data()) % std::size(ranges)];
    if (!last.holds(first, bytes))
      last = block.device.find(first);
    range = last;
  } else if (code.space == Space::Param && !write) {
    range = {0, program().parameterBytes, reinterpret_cast<uint64_t>(block.parameters)};
  }
  // A sign in `outside` is that of a lane before the range or behind it: vectors have no comparison of such numbers.
  uint64_t limit = range.bytes - bytes, outside = limit, low = 0;
  if (lanes == ~0u)
    for (uint64_t address : addresses) {
      uint64_t offset = address - range.start;
      outside |= offset | (limit - offset);
      low |= address;
    }
  else
    forLanes(lanes, [&](int lane) {
      uint64_t offset = addresses[lane] - range.start;
      outside |= offset | (limit - offset);
      low |= addresses[lane];
    });
  bool whole = int64_t(outside) >= 0 && (low & (bytes - 1)) == 0;
  if (!whole) {
    forLanes(lanes, [&](int lane) { found[lane] = memory(code, lane, addresses[lane], bytes, write); });
    return;
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    found[lane] = reinterpret_cast<char *>(addresses[lane] + range.shift);
  if (!isShared || !block.launch.checkRaces)
    return;
  for (uint64_t &address : addresses)
    address -= range.start;
  block.noteShared(*this, lanes, addresses, bytes, write);
}

//===----------------------------------------------------------------------===//
// The way through the program
//===----------------------------------------------------------------------===//

/// The place that is least far of lanes that can go on, which lanes are there, and where the next are.
uint32_t Warp::next(uint32_t &lanes, uint32_t &limit) const {
  uint32_t least = kNowhere;
  uint32_t ready = alive & ~waiting;
  for (uint32_t left = ready; left; left &= left - 1)
    least = std::min(least, pcs[std::countr_zero(left)]);
  lanes = 0;
  limit = kNowhere;
  for (uint32_t left = ready; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    if (pcs[lane] == least)
      lanes |= 1u << lane;
    else
      limit = std::min(limit, pcs[lane]);
  }
  return least;
}

uint32_t Warp::gather(const Code &code, uint32_t pc, uint32_t lanes) {
  const uint32_t *members = at<uint32_t>(code.members);
  uint32_t here = lanes;
  for (uint32_t left = waiting & alive & ~atBarrier; left; left &= left - 1)
    if (int lane = std::countr_zero(left); pcs[lane] == pc)
      here |= 1u << lane;
  for (uint32_t left = here; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    uint32_t named = members[lane];
    if (!(named >> lane & 1))
      fail(Fault::Launch, lane, pc, "it is not a member of the mask " + hex(named) + " that it names");
    if (code.aligned && alive != ~0u)
      fail(Fault::Launch, lane, pc, "a product of a warp needs all its 32 threads");
    uint32_t agreed = 0;
    for (uint32_t others = here; others; others &= others - 1)
      if (members[std::countr_zero(others)] == named)
        agreed |= others & -others;
    if ((named & alive & ~agreed) == 0)
      return named & alive;
  }
  return 0;
}

void Warp::go(uint32_t pc, uint32_t lanes, uint32_t limit) {
  const Code *const codes = program().code.data();
  while (pc < limit) {
    const Code &code = codes[pc];
    uint32_t active = code.guard == kNowhere ? lanes : lanes & (*at<uint32_t>(code.guard) ^ code.flip);
    executed += uint64_t(std::popcount(lanes));
    if (code.control == Control::None) {
      if (active) {
        try {
          code.handler(*this, code, active);
        } catch (const LaneProblem &problem) {
          fail(problem.fault, problem.lane, pc, problem.what);
        }
      }
      ++pc;
      continue;
    }
    if (!active) {
      ++pc;
      continue;
    }
    uint32_t rest = lanes & ~active;
    switch (code.control) {
    case Control::Branch:
      if (rest) {
        moveTo(rest, pc + 1);
        moveTo(active, code.target);
        return;
      }
      pc = code.target;
      continue;
    case Control::Call:
      for (uint32_t left = active; left; left &= left - 1)
        at<uint32_t>(code.d)[std::countr_zero(left)] = pc + 1;
      moveTo(rest, pc + 1);
      moveTo(active, code.target);
      return;
    case Control::Return:
      moveTo(rest, pc + 1);
      for (uint32_t left = active; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        pcs[lane] = at<uint32_t>(code.a)[lane];
      }
      return;
    case Control::BranchTo: {
      const std::vector<uint32_t> &table = program().tables[code.target];
      moveTo(rest, pc + 1);
      for (uint32_t left = active; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        uint32_t choice = at<uint32_t>(code.a)[lane];
        if (choice >= table.size())
          fail(Fault::Launch, lane, pc,
               "a branch to number " + std::to_string(choice) + " of " + std::to_string(table.size()));
        pcs[lane] = table[choice];
      }
      return;
    }
    case Control::Exit:
      alive &= ~active;
      moveTo(rest, pc + 1);
      return;
    case Control::Collective: {
      moveTo(rest, pc + 1);
      moveTo(active, pc);
      uint32_t together = gather(code, pc, active);
      if (!together) {
        waiting |= active;
        return;
      }
      try {
        code.handler(*this, code, together);
      } catch (const LaneProblem &problem) {
        fail(problem.fault, problem.lane, pc, problem.what);
      }
      waiting = (waiting | active) & ~together;
      moveTo(together, pc + 1);
      if (together == lanes) {
        ++pc;
        continue;
      }
      return;
    }
    case Control::Barrier:
      moveTo(rest, pc + 1);
      moveTo(active, pc);
      waiting |= active;
      atBarrier |= active;
      return;
    case Control::Arrive:
      block.barriers[at<uint32_t>(code.a)[std::countr_zero(active)] & 15].arrived += kWarpSize;
      ++pc;
      continue;
    default:
      fail(Fault::Launch, std::countr_zero(active), pc, "a trap");
    }
  }
  moveTo(lanes, pc);
}

/// Lanes that ended were waited for: those that are left go on without them.
bool Warp::releaseCollective() {
  for (uint32_t left = waiting & alive & ~atBarrier; left; left &= left - 1) {
    uint32_t pc = pcs[std::countr_zero(left)];
    const Code &code = program().code[pc];
    uint32_t together = gather(code, pc, 0);
    if (!together)
      continue;
    try {
      code.handler(*this, code, together);
    } catch (const LaneProblem &problem) {
      fail(problem.fault, problem.lane, pc, problem.what);
    }
    waiting &= ~together;
    moveTo(together, pc + 1);
    return true;
  }
  return false;
}

void Warp::run() {
  do
    while (canRun()) {
      uint32_t lanes, limit;
      uint32_t pc = next(lanes, limit);
      go(pc, lanes, limit);
    }
  while (releaseCollective());
}

} // namespace dtcc::emulator
