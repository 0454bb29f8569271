//===- WarpOps.cpp - What lanes do together, and their way through a program
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Apply.h"

namespace dtcc::emulator {
namespace {

/// Result of a shuffle that reads a missing lane: a NaN that no program produces.
constexpr uint32_t kPoison = 0xffffdead;

enum class Shuffle : int64_t { Up, Down, Butterfly, Index };

/// list: the place of the predicate, or kNowhere.
void shuffle(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t brought[kWarpSize], got[kWarpSize], inRange = 0;
  std::memcpy(brought, warp.at<uint32_t>(code.a), sizeof brought);
  forLanes(lanes, [&](int lane) {
    uint32_t by = warp.at<uint32_t>(code.b)[lane] & 31, c = warp.at<uint32_t>(code.c)[lane];
    int clamp = int(c & 31), segment = int(c >> 8 & 31);
    int most = (lane & segment) | (clamp & ~segment), least = lane & segment, from = lane;
    bool fits = false;
    switch (Shuffle(code.value)) {
    case Shuffle::Up:
      from = lane - int(by);
      fits = from >= most;
      break;
    case Shuffle::Down:
      from = lane + int(by);
      fits = from <= most;
      break;
    case Shuffle::Butterfly:
      from = lane ^ int(by);
      fits = from <= most;
      break;
    case Shuffle::Index:
      from = least | (int(by) & ~segment);
      fits = from <= most;
      break;
    }
    from = fits ? from : lane;
    got[lane] = lanes >> from & 1 ? brought[from] : kPoison;
    inRange |= uint32_t(fits) << lane;
  });
  forLanes(lanes, [&](int lane) { warp.at<uint32_t>(code.d)[lane] = got[lane]; });
  if (code.list != kNowhere) {
    uint32_t &predicate = *warp.at<uint32_t>(code.list);
    predicate = (predicate & ~lanes) | (inRange & lanes);
  }
}

void buildShuffle(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (!instruction.has("sync") || instruction.operands.size() != 5)
    decoder.unknown(instruction);
  code.value = int64_t(instruction.has("up")     ? Shuffle::Up
                       : instruction.has("down") ? Shuffle::Down
                       : instruction.has("bfly") ? Shuffle::Butterfly
                                                 : Shuffle::Index);
  code.control = Control::Collective;
  code.handler = shuffle;
  const Operand &to = instruction.operands[0];
  bool pair = to.kind == Operand::Pair;
  code.d = decoder.destination(instruction, pair ? to.elements[0] : to, 4);
  if (pair)
    code.list = decoder.destination(instruction, to.elements[1], 0);
  code.a = decoder.source(instruction, instruction.operands[1], 4);
  code.b = decoder.source(instruction, instruction.operands[2], 4);
  code.c = decoder.source(instruction, instruction.operands[3], 4);
  code.members = decoder.source(instruction, instruction.operands[4], 4);
}

enum class Vote : int64_t { All, Any, Uniform, Ballot };

void vote(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t yes = (*warp.at<uint32_t>(code.a) ^ (code.flag ? ~0u : 0u)) & lanes;
  if (Vote(code.value) == Vote::Ballot) {
    forLanes(lanes, [&](int lane) { warp.at<uint32_t>(code.d)[lane] = yes; });
    return;
  }
  bool holds = Vote(code.value) == Vote::All   ? yes == lanes
               : Vote(code.value) == Vote::Any ? yes != 0
                                               : yes == 0 || yes == lanes;
  uint32_t &d = *warp.at<uint32_t>(code.d);
  d = (d & ~lanes) | (holds ? lanes : 0);
}

void buildVote(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (!instruction.has("sync") || instruction.operands.size() != 3)
    decoder.unknown(instruction);
  code.value = int64_t(instruction.has("all")   ? Vote::All
                       : instruction.has("any") ? Vote::Any
                       : instruction.has("uni") ? Vote::Uniform
                                                : Vote::Ballot);
  code.control = Control::Collective;
  code.handler = vote;
  code.a = decoder.source(instruction, instruction.operands[1], 0);
  code.flag = instruction.operands[1].negated;
  code.members = decoder.source(instruction, instruction.operands[2], 4);
  code.d = decoder.destination(instruction, instruction.operands[0], instruction.has("ballot") ? 4 : 0);
}

void activeLanes(Warp &warp, const Code &code, uint32_t lanes) {
  forLanes(lanes, [&](int lane) { warp.at<uint32_t>(code.d)[lane] = lanes; });
}
void buildActiveMask(Decoder &decoder, const Instruction &instruction, Code &code) {
  code.handler = activeLanes;
  code.d = decoder.destination(instruction, decoder.operand(instruction, 0), 4);
}

/// flag: all must be equal; then list is the place of a predicate or kNowhere.
template <class T> void match(Warp &warp, const Code &code, uint32_t lanes) {
  const T *a = warp.at<T>(code.a);
  uint32_t same[kWarpSize] = {}, all = ~0u;
  forLanes(lanes, [&](int lane) {
    forLanes(lanes, [&](int other) { same[lane] |= uint32_t(a[lane] == a[other]) << other; });
    all = same[lane] == lanes ? all : 0;
  });
  forLanes(lanes, [&](int lane) { warp.at<uint32_t>(code.d)[lane] = code.flag ? lanes & all : same[lane]; });
  if (code.list != kNowhere) {
    uint32_t &predicate = *warp.at<uint32_t>(code.list);
    predicate = (predicate & ~lanes) | (all & lanes);
  }
}
void buildMatch(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (!instruction.has("sync") || instruction.types().size() != 1 || instruction.operands.size() != 3)
    decoder.unknown(instruction);
  unsigned width = bytesOf(instruction.types()[0]);
  code.control = Control::Collective;
  code.handler = width == 8 ? match<uint64_t> : match<uint32_t>;
  code.flag = instruction.has("all");
  const Operand &to = instruction.operands[0];
  bool pair = to.kind == Operand::Pair;
  code.d = decoder.destination(instruction, pair ? to.elements[0] : to, 4);
  if (pair)
    code.list = decoder.destination(instruction, to.elements[1], 0);
  code.a = decoder.source(instruction, instruction.operands[1], width);
  code.members = decoder.source(instruction, instruction.operands[2], 4);
}

enum class Reduction : int64_t { Add, Min, Max, And, Or, Xor };

template <class T> void reduce(Warp &warp, const Code &code, uint32_t lanes) {
  const T *a = warp.at<T>(code.a);
  T sum = a[std::countr_zero(lanes)];
  forLanes(lanes & (lanes - 1), [&](int lane) {
    T x = a[lane];
    switch (Reduction(code.value)) {
    case Reduction::Add:
      sum = T(uint32_t(sum) + uint32_t(x));
      break;
    case Reduction::Min:
      sum = std::min(sum, x);
      break;
    case Reduction::Max:
      sum = std::max(sum, x);
      break;
    case Reduction::And:
      sum &= x;
      break;
    case Reduction::Or:
      sum |= x;
      break;
    case Reduction::Xor:
      sum ^= x;
      break;
    }
  });
  forLanes(lanes, [&](int lane) { warp.at<T>(code.d)[lane] = sum; });
}
void buildRedux(Decoder &decoder, const Instruction &instruction, Code &code) {
  static const std::string_view words[] = {"add", "min", "max", "and", "or", "xor"};
  if (!instruction.has("sync") || instruction.types().size() != 1 || instruction.operands.size() != 3)
    decoder.unknown(instruction);
  Type type = instruction.types()[0];
  code.control = Control::Collective;
  code.handler = type == Type::S32 ? Handler(reduce<int32_t>) : Handler(reduce<uint32_t>);
  code.value = -1;
  for (int64_t i = 0; i < 6; ++i)
    if (instruction.has(words[i]))
      code.value = i;
  if (code.value < 0 || bytesOf(type) != 4 || type == Type::F32)
    decoder.unknown(instruction);
  code.d = decoder.destination(instruction, instruction.operands[0], 4);
  code.a = decoder.source(instruction, instruction.operands[1], 4);
  code.members = decoder.source(instruction, instruction.operands[2], 4);
}

//===----------------------------------------------------------------------===//
// Barriers and branches
//===----------------------------------------------------------------------===//

void meet(Warp &, const Code &, uint32_t) {}

void buildBarrier(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (instruction.has("warp")) {
    code.control = Control::Collective;
    code.handler = meet;
    code.members = decoder.source(instruction, decoder.operand(instruction, 0), 4);
    return;
  }
  bool arrives = instruction.has("arrive");
  if (instruction.has("red") || instruction.has("cluster") || (!arrives && !instruction.has("sync")))
    decoder.unknown(instruction);
  code.control = arrives ? Control::Arrive : Control::Barrier;
  code.aligned = instruction.opcode() == "bar" || instruction.has("aligned");
  code.a = decoder.source(instruction, decoder.operand(instruction, 0), 4);
  if (instruction.operands.size() > 1)
    code.b = decoder.source(instruction, instruction.operands[1], 4);
  if (arrives && instruction.operands.size() != 2)
    decoder.unknown(instruction);
}

void buildBra(Decoder &decoder, const Instruction &instruction, Code &code) {
  code.control = Control::Branch;
  decoder.branchTo(instruction, decoder.operand(instruction, 0).name, code);
}
void buildBrx(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (!instruction.has("idx"))
    decoder.unknown(instruction);
  code.control = Control::BranchTo;
  code.a = decoder.source(instruction, decoder.operand(instruction, 0), 4);
  code.target = decoder.table(instruction, decoder.operand(instruction, 1).name);
}
void buildRet(Decoder &decoder, const Instruction &, Code &code) {
  code.control = decoder.inEntry() ? Control::Exit : Control::Return;
  if (!decoder.inEntry())
    code.a = decoder.returnPlace();
}
void buildExit(Decoder &, const Instruction &, Code &code) { code.control = Control::Exit; }
void buildTrap(Decoder &, const Instruction &, Code &code) { code.control = Control::Trap; }
/// The decoder itself makes calls: they are more than one Code.
void buildCall(Decoder &, const Instruction &, Code &) {}
} // namespace

const Rows &warpRows() {
  static const Rows rows = {{"shfl", buildShuffle},   {"vote", buildVote},   {"activemask", buildActiveMask},
                            {"match", buildMatch},    {"redux", buildRedux}, {"bar", buildBarrier},
                            {"barrier", buildBarrier}};
  return rows;
}

const Rows &controlRows() {
  static const Rows rows = {{"bra", buildBra},   {"brx", buildBrx},    {"ret", buildRet},  {"exit", buildExit},
                            {"trap", buildTrap}, {"brkpt", buildTrap}, {"call", buildCall}};
  return rows;
}

} // namespace dtcc::emulator
