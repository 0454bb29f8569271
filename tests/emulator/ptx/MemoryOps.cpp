//===- MemoryOps.cpp - Loads, stores, atomics, asynchronous copies
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Apply.h"
#include <algorithm>

namespace dtcc::emulator {
namespace {

/// Whether a word is a modifier: an order, scope or cache. A word with "::" is a modifier or a space.
bool isHow(std::string_view word) {
  static const std::string_view words[] = {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "gpu",
                                           "cta",  "sys",      "cluster", "ca",      "cg",      "cs",      "lu",
                                           "cv",   "wb",       "wt",      "nc",      "mmio",    "noftz",   "sync"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words) || word.starts_with("L1::") ||
         word.starts_with("L2::") || word.starts_with("level::");
}

std::optional<Space> spaceOf(std::string_view word) {
  static const std::unordered_map<std::string_view, Space> spaces = {
      {"global", Space::Global},      {"shared", Space::Shared},    {"shared::cta", Space::Shared},
      {"local", Space::Local},        {"const", Space::Const},      {"param", Space::Param},
      {"param::entry", Space::Param}, {"param::func", Space::Param}};
  auto found = spaces.find(word);
  return found == spaces.end() ? std::nullopt : std::optional(found->second);
}

/// Fills in the space, bytes and count. Returns the type.
Type fillAccess(Decoder &decoder, const Instruction &instruction, Code &code, std::string_view operation = {}) {
  std::optional<Type> type;
  for (size_t i = 1; i < instruction.words.size(); ++i) {
    std::string_view word = instruction.words[i];
    if (std::optional<Space> space = spaceOf(word))
      code.space = *space;
    else if (std::optional<Type> found = findType(word))
      type = found;
    else if (word.size() == 2 && word[0] == 'v' && (word[1] == '2' || word[1] == '4' || word[1] == '8'))
      code.count = uint8_t(word[1] - '0');
    else if (word != operation && !isHow(word))
      decoder.unknown(instruction);
  }
  if (!type || *type == Type::Pred)
    decoder.unknown(instruction);
  code.bytes = uint8_t(bytesOf(*type));
  return *type;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// width: bytes of the registers. flag: fill them with the sign.
template <class T> void load(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *places = &warp.program().places[code.list];
  char *from[kWarpSize];
  warp.memory(code, lanes, code.bytes * code.count, false, from);
  for (unsigned i = 0; i < code.count; ++i) {
    T *to = warp.at<T>(places[i]);
    forLanes(lanes, [&](int lane) { std::memcpy(to + lane, from[lane] + i * sizeof(T), sizeof(T)); });
  }
}
void loadWider(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *places = &warp.program().places[code.list];
  char *all[kWarpSize];
  warp.memory(code, lanes, code.bytes * code.count, false, all);
  forLanes(lanes, [&](int lane) {
    const char *from = all[lane];
    for (unsigned i = 0; i < code.count; ++i) {
      bool negative = code.flag && from[(i + 1) * code.bytes - 1] < 0;
      char cell[16];
      std::memset(cell, negative ? -1 : 0, sizeof cell);
      std::memcpy(cell, from + i * code.bytes, code.bytes);
      std::memcpy(warp.at<char>(places[i]) + lane * code.width, cell, code.width);
    }
  });
}

template <class T> void store(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *places = &warp.program().places[code.list];
  char *to[kWarpSize];
  warp.memory(code, lanes, code.bytes * code.count, true, to);
  // Lanes one after the other: the last one's bytes stay where several write to one place.
  forLanes(lanes, [&](int lane) {
    for (unsigned i = 0; i < code.count; ++i)
      std::memcpy(to[lane] + i * sizeof(T), warp.at<T>(places[i]) + lane, sizeof(T));
  });
}
void storeNarrower(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *places = &warp.program().places[code.list];
  char *to[kWarpSize];
  warp.memory(code, lanes, code.bytes * code.count, true, to);
  forLanes(lanes, [&](int lane) {
    for (unsigned i = 0; i < code.count; ++i)
      std::memcpy(to[lane] + i * code.bytes, warp.at<char>(places[i]) + lane * code.width, code.bytes);
  });
}

struct Quad {
  uint64_t words[2];
};

template <bool loads> void buildAccess(Decoder &decoder, const Instruction &instruction, Code &code) {
  Type type = fillAccess(decoder, instruction, code);
  const Operand &data = decoder.operand(instruction, loads ? 0 : 1);
  if (instruction.operands.size() != 2)
    decoder.unknown(instruction);
  std::vector<Operand> parts = data.kind == Operand::Vector ? data.elements : std::vector{data};
  if (parts.size() != code.count)
    decoder.wrong(instruction.line, "'" + instruction.text() + "' has another number of registers");
  code.flag = type == Type::S8 || type == Type::S16 || type == Type::S32;
  // Numbers, and what is loaded for nobody, are as wide as the registers beside them.
  unsigned width = code.bytes;
  for (const Operand &part : parts)
    width = decoder.widthOf(part).value_or(width);
  code.width = uint8_t(width);
  std::vector<uint32_t> places;
  for (const Operand &part : parts) {
    std::optional<unsigned> own = decoder.widthOf(part);
    if (own && *own != width)
      decoder.wrong(instruction.line, "'" + instruction.text() + "' has registers of several sizes");
    unsigned needed = own ? code.bytes : width;
    places.push_back(loads ? decoder.destination(instruction, part, needed, true)
                           : decoder.source(instruction, part, needed, true));
  }
  code.list = decoder.list(places);
  decoder.address(instruction, instruction.operands[loads ? 1 : 0], code);
  if (code.width != code.bytes) {
    code.handler = loads ? loadWider : storeNarrower;
    return;
  }
  auto of = []<class T>(T) -> Handler { return loads ? load<T> : store<T>; };
  code.handler = code.bytes == 1   ? of(uint8_t())
                 : code.bytes == 2 ? of(uint16_t())
                 : code.bytes == 4 ? of(uint32_t())
                 : code.bytes == 8 ? of(uint64_t())
                                   : of(Quad());
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

struct AtomicAdd {
  template <class T> T operator()(T old, T b, T) const {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(old) + uint64_t(b));
    else
      return old + b;
  }
};
struct AtomicMin {
  template <class T> T operator()(T old, T b, T) const { return b < old ? b : old; }
};
struct AtomicMax {
  template <class T> T operator()(T old, T b, T) const { return b > old ? b : old; }
};
struct AtomicAnd {
  template <class T> T operator()(T old, T b, T) const { return old & b; }
};
struct AtomicOr {
  template <class T> T operator()(T old, T b, T) const { return old | b; }
};
struct AtomicXor {
  template <class T> T operator()(T old, T b, T) const { return old ^ b; }
};
struct AtomicExchange {
  template <class T> T operator()(T, T b, T) const { return b; }
};
struct AtomicCompare {
  template <class T> T operator()(T old, T b, T c) const { return old == b ? c : old; }
};
struct AtomicIncrement {
  template <class T> T operator()(T old, T b, T) const { return old >= b ? 0 : old + 1; }
};
struct AtomicDecrement {
  template <class T> T operator()(T old, T b, T) const { return old == 0 || old > b ? b : old - 1; }
};

/// d: the old value, or kNowhere. list: the places of `count` operands b; c: of the only c.
template <class Op, class N> void atomic(Warp &warp, const Code &code, uint32_t lanes) {
  using T = typename N::Stored;
  constexpr unsigned cells = N::kCount;
  const uint32_t *places = &warp.program().places[code.list];
  forLanes(lanes, [&](int lane) {
    char *at = warp.memory(code, lane, warp.addressOf(code, lane), code.bytes * code.count, true);
    for (unsigned i = 0; i < code.count * cells; ++i) {
      auto *cell = reinterpret_cast<T *>(at) + i;
      T b = warp.at<T>(places[i / cells])[lane * cells + i % cells];
      T c = code.c == kNowhere ? b : warp.at<T>(code.c)[lane * cells + i % cells];
      T old, made;
      __atomic_load(cell, &old, __ATOMIC_SEQ_CST);
      do
        made = N::store(Op()(N::load(old), N::load(b), N::load(c)));
      while (!__atomic_compare_exchange(cell, &old, &made, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
      if (code.d != kNowhere)
        warp.at<T>(code.d)[lane * cells + i % cells] = old;
    }
  });
}

template <class Op> Handler atomicOf(Type type) {
  constexpr bool bits = std::is_same_v<Op, AtomicAnd> || std::is_same_v<Op, AtomicOr> ||
                        std::is_same_v<Op, AtomicXor> || std::is_same_v<Op, AtomicExchange> ||
                        std::is_same_v<Op, AtomicCompare> || std::is_same_v<Op, AtomicIncrement> ||
                        std::is_same_v<Op, AtomicDecrement>;
  switch (type) {
  case Type::B16:
    return atomic<Op, Integer<uint16_t>>;
  case Type::B32:
  case Type::U32:
    return atomic<Op, Integer<uint32_t>>;
  case Type::S32:
    return atomic<Op, Integer<int32_t>>;
  case Type::B64:
  case Type::U64:
    return atomic<Op, Integer<uint64_t>>;
  case Type::S64:
    return atomic<Op, Integer<int64_t>>;
  default:
    break;
  }
  if constexpr (!bits)
    switch (type) {
    case Type::F32:
      return atomic<Op, F32>;
    case Type::F64:
      return atomic<Op, F64>;
    case Type::F16:
      return atomic<Op, F16>;
    case Type::BF16:
      return atomic<Op, BF16>;
    case Type::F16x2:
      return atomic<Op, Twice<F16>>;
    case Type::BF16x2:
      return atomic<Op, Twice<BF16>>;
    default:
      break;
    }
  return nullptr;
}

template <bool returns> void buildAtomic(Decoder &decoder, const Instruction &instruction, Code &code) {
  static const std::unordered_map<std::string_view, Handler (*)(Type)> operations = {
      {"add", atomicOf<AtomicAdd>},       {"min", atomicOf<AtomicMin>},     {"max", atomicOf<AtomicMax>},
      {"and", atomicOf<AtomicAnd>},       {"or", atomicOf<AtomicOr>},       {"xor", atomicOf<AtomicXor>},
      {"exch", atomicOf<AtomicExchange>}, {"cas", atomicOf<AtomicCompare>}, {"inc", atomicOf<AtomicIncrement>},
      {"dec", atomicOf<AtomicDecrement>}};
  for (size_t i = 1; i < instruction.words.size(); ++i) {
    auto operation = operations.find(instruction.words[i]);
    if (operation == operations.end())
      continue;
    Type type = fillAccess(decoder, instruction, code, instruction.words[i]);
    code.handler = operation->second(type);
    unsigned first = returns ? 1 : 0;
    const Operand &data = decoder.operand(instruction, first + 1);
    std::vector<Operand> parts = data.kind == Operand::Vector ? data.elements : std::vector{data};
    std::vector<uint32_t> places;
    for (const Operand &part : parts)
      places.push_back(decoder.source(instruction, part, code.bytes));
    if (parts.size() != code.count || (returns && code.count > 1) || !code.handler)
      decoder.unknown(instruction);
    code.list = decoder.list(places);
    code.atomic = true;
    if (instruction.words[i] == "cas")
      code.c = decoder.source(instruction, decoder.operand(instruction, first + 2), code.bytes);
    if (returns)
      code.d = decoder.destination(instruction, instruction.operands[0], code.bytes);
    decoder.address(instruction, instruction.operands[first], code);
    return;
  }
  decoder.unknown(instruction);
}

//===----------------------------------------------------------------------===//
// Asynchronous copies: done as late as a wait allows
//===----------------------------------------------------------------------===//

/// a + value: to; list: places of the source's address, the bytes to read.
void copyLater(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *places = &warp.program().places[code.list];
  forLanes(lanes, [&](int lane) {
    uint32_t read = std::min<uint32_t>(warp.at<uint32_t>(places[1])[lane], code.bytes);
    char *to = warp.memory(code, lane, warp.addressOf(code, lane), code.bytes, true);
    Code source = code;
    source.space = Space::Global;
    uint64_t from = warp.at<uint64_t>(places[0])[lane] + uint64_t(int64_t(int32_t(places[2])));
    const char *bytes = read ? warp.memory(source, lane, from, code.bytes, false) : nullptr;
    warp.copies(lane).open.push_back({to, bytes, read, code.bytes});
  });
}
void commitCopies(Warp &warp, const Code &, uint32_t lanes) {
  forLanes(lanes, [&](int lane) {
    Warp::Copies &copies = warp.copies(lane);
    copies.groups.push_back(std::move(copies.open));
    copies.open.clear();
  });
}
/// value: the groups that may be on their way; all, and what is in none, if negative.
void waitForCopies(Warp &warp, const Code &code, uint32_t lanes) {
  if (code.value < 0)
    commitCopies(warp, code, lanes);
  forLanes(lanes, [&](int lane) { warp.copies(lane).finish(code.value < 0 ? 0 : size_t(code.value)); });
}

void buildCp(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (!instruction.has("async") || instruction.has("bulk") || instruction.has("mbarrier"))
    decoder.unknown(instruction);
  if (instruction.has("commit_group")) {
    code.handler = commitCopies;
  } else if (instruction.has("wait_group") || instruction.has("wait_all")) {
    code.handler = waitForCopies;
    code.value = instruction.has("wait_all") ? -1 : decoder.operand(instruction, 0).value;
  } else {
    const Operand &bytes = decoder.operand(instruction, 2);
    if (bytes.kind != Operand::Integer || (bytes.value != 4 && bytes.value != 8 && bytes.value != 16))
      decoder.unknown(instruction);
    code.handler = copyLater;
    code.space = Space::Shared;
    Code source = code;
    source.space = Space::Global;
    decoder.address(instruction, instruction.operands[1], source);
    decoder.address(instruction, instruction.operands[0], code);
    code.bytes = uint8_t(bytes.value);
    uint32_t read = instruction.operands.size() > 3 ? decoder.source(instruction, instruction.operands[3], 4)
                                                    : decoder.constant(4, code.bytes);
    code.list = decoder.list({source.a, read, uint32_t(source.value)});
  }
}

/// Orders and hints: a warp of the emulator does all in order.
void nothing(Warp &, const Code &, uint32_t) {}
void buildNothing(Decoder &, const Instruction &, Code &code) { code.handler = nothing; }
} // namespace

const Rows &memoryRows() {
  static const Rows rows = {
      {"ld", buildAccess<true>},   {"ldu", buildAccess<true>},     {"st", buildAccess<false>},
      {"atom", buildAtomic<true>}, {"red", buildAtomic<false>},    {"cp", buildCp},
      {"membar", buildNothing},    {"fence", buildNothing},        {"prefetch", buildNothing},
      {"prefetchu", buildNothing}, {"nanosleep", buildNothing},    {"griddepcontrol", buildNothing},
      {"discard", buildNothing},   {"applypriority", buildNothing}};
  return rows;
}

} // namespace dtcc::emulator
