//===- Conversions.cpp - PTX instructions that convert between types
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A number is on its way between types as one of three: an integer with or without a
// sign, or a double, which holds every smaller float.
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Apply.h"

namespace dtcc::emulator {
namespace {

enum class Round : uint8_t { Nearest, Zero, Down, Up, Away };

/// The conversion of a cvt, as Code::value holds it.
struct Conversion {
  Type to, from;
  Round round = Round::Nearest;
  bool whole = false; ///< rni, rzi, ..: to a whole number
  bool saturate = false, flush = false, rectify = false;
};

bool isFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 || type == Type::F64 || type == Type::TF32;
}
bool isSigned(Type type) { return type == Type::S8 || type == Type::S16 || type == Type::S32 || type == Type::S64; }

double toWhole(double x, Round round) {
  switch (round) {
  case Round::Nearest:
    return std::nearbyint(x);
  case Round::Zero:
    return std::trunc(x);
  case Round::Down:
    return std::floor(x);
  case Round::Up:
    return std::ceil(x);
  default:
    return std::round(x);
  }
}

/// The nearest of a format, as bits, moved by one place where the rounding asks for the other side.
template <class N, class Load> uint64_t directed(double x, Round round, Load load) {
  auto bits = N::store(x);
  double got = load(bits);
  if (std::isnan(x) || got == x || round == Round::Nearest)
    return bits;
  bool low = got < x;
  bool wantLow = round == Round::Down || (round == Round::Zero && x > 0);
  // Away from zero is up by one place, for both signs; a zero has the sign of x.
  if (low != wantLow)
    return uint64_t(low == (x > 0) ? bits + 1 : bits - 1);
  return bits;
}

uint64_t fromDouble(double x, const Conversion &c) {
  if (c.saturate)
    x = x > 0 ? std::min(x, 1.0) : 0.0;
  if (c.rectify && x < 0)
    x = 0;
  switch (c.to) {
  case Type::F64:
    return std::bit_cast<uint64_t>(x);
  case Type::F32: {
    float made = float(x);
    if (c.round != Round::Nearest && double(made) != x && !std::isnan(x)) {
      bool low = double(made) < x;
      bool wantLow = c.round == Round::Down || (c.round == Round::Zero && x > 0);
      if (low != wantLow)
        made = std::nextafter(made, low ? INFINITY : -INFINITY);
    }
    return std::bit_cast<uint32_t>(c.flush ? flush(made) : made);
  }
  case Type::TF32: {
    // The last 13 bits of an f32 are dropped; halves go away from zero, or to even.
    auto bits = std::bit_cast<uint32_t>(float(x));
    if (std::isnan(x) || std::isinf(x))
      return bits;
    uint32_t half = c.round == Round::Away ? 0x1000 : c.round == Round::Nearest ? 0xfff + (bits >> 13 & 1) : 0;
    return (bits + half) & ~0x1fffu;
  }
  case Type::F16:
    return directed<F16>(x, c.round, [](uint16_t bits) { return double(rt::fromF16(bits)); });
  default:
    return directed<BF16>(x, c.round, [](uint16_t bits) { return double(rt::fromBF16(bits)); });
  }
}

uint64_t toInteger(double x, const Conversion &c) {
  unsigned bits = 8 * bytesOf(c.to);
  if (std::isnan(x))
    return bits == 64 || c.from == Type::F64 ? 1ull << (bits - 1) : 0;
  x = toWhole(x, c.round);
  if (isSigned(c.to)) {
    double top = std::ldexp(1.0, int(bits) - 1);
    return uint64_t(x >= top   ? int64_t((1ull << (bits - 1)) - 1)
                    : x < -top ? -int64_t((1ull << (bits - 2))) * 2
                               : int64_t(x));
  }
  double top = std::ldexp(1.0, int(bits));
  return x >= top ? (bits == 64 ? ~0ull : (1ull << bits) - 1) : x <= 0 ? 0 : uint64_t(x);
}

/// The integer in the low bits of a cell, to 64 bits.
uint64_t widen(uint64_t bits, Type type) {
  unsigned unused = 64 - 8 * bytesOf(type);
  return isSigned(type) ? uint64_t(int64_t(bits << unused) >> unused) : bits << unused >> unused;
}

uint64_t integerToInteger(uint64_t value, const Conversion &c) {
  if (!c.saturate)
    return value;
  unsigned bits = 8 * bytesOf(c.to);
  bool negative = isSigned(c.from) && int64_t(value) < 0;
  if (!isSigned(c.to)) {
    uint64_t top = bits == 64 ? ~0ull : (1ull << bits) - 1;
    return negative ? 0 : std::min(value, top);
  }
  auto top = (1ull << (bits - 1)) - 1;
  if (negative)
    return uint64_t(std::max(int64_t(value), -int64_t(top) - 1));
  return std::min<uint64_t>(value, top);
}

double loadFloat(uint64_t bits, const Conversion &c) {
  switch (c.from) {
  case Type::F16:
    return rt::fromF16(uint16_t(bits));
  case Type::BF16:
    return rt::fromBF16(uint16_t(bits));
  case Type::F64:
    return std::bit_cast<double>(bits);
  default: {
    auto value = std::bit_cast<float>(uint32_t(bits));
    return c.flush ? flush(value) : value;
  }
  }
}

uint64_t convert(uint64_t bits, const Conversion &c) {
  if (isFloat(c.from)) {
    double x = loadFloat(bits, c);
    if (!isFloat(c.to))
      return toInteger(x, c);
    return fromDouble(c.whole ? toWhole(x, c.round) : x, c);
  }
  uint64_t value = widen(bits, c.from);
  if (!isFloat(c.to))
    return integerToInteger(value, c);
  if (c.to == Type::F32 && c.round == Round::Nearest && !c.saturate) // not by way of a double: that rounds twice
    return std::bit_cast<uint32_t>(isSigned(c.from) ? float(int64_t(value)) : float(value));
  return fromDouble(isSigned(c.from) ? double(int64_t(value)) : double(value), c);
}

Conversion unpack(int64_t value) {
  auto field = [&](int byte) { return value >> (8 * byte) & 0xff; };
  return {Type(field(0)), Type(field(1)), Round(field(2)), field(3) != 0, field(4) != 0, field(5) != 0, field(6) != 0};
}
int64_t pack(const Conversion &c) {
  int64_t fields[] = {int64_t(c.to), int64_t(c.from), int64_t(c.round), c.whole, c.saturate, c.flush, c.rectify};
  int64_t made = 0;
  for (int i = 0; i < 7; ++i)
    made |= fields[i] << (8 * i);
  return made;
}

uint64_t readCell(Warp &warp, uint32_t place, unsigned width, int lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, warp.at<char>(place) + lane * width, std::min<size_t>(width, 8));
  return bits;
}

/// Any type to any other; width, from: bytes of the registers, which may be wider.
void convertLanes(Warp &warp, const Code &code, uint32_t lanes) {
  Conversion c = unpack(code.value);
  forLanes(lanes, [&](int lane) {
    uint64_t made = convert(readCell(warp, code.a, code.from, lane), c);
    if (!isFloat(c.to))
      made = widen(made, c.to);
    std::memcpy(warp.at<char>(code.d) + lane * code.width, &made, code.width);
  });
}

/// Two f32 to the halves of a register: a goes up.
void convertPair(Warp &warp, const Code &code, uint32_t lanes) {
  Conversion c = unpack(code.value);
  forLanes(lanes, [&](int lane) {
    uint64_t high = convert(warp.at<uint32_t>(code.a)[lane], c), low = convert(warp.at<uint32_t>(code.b)[lane], c);
    warp.at<uint32_t>(code.d)[lane] = uint32_t(high << 16 | low);
  });
}

template <class To> struct Cast {
  template <class From> To operator()(From x) const { return To(x); }
};
template <class To, class From> constexpr Handler kCast = apply<Cast<To>, Integer<To>, Integer<From>>;
struct WidenF16 {
  float operator()(uint16_t bits) const { return rt::fromF16(bits); }
};
struct WidenBF16 {
  float operator()(uint16_t bits) const { return rt::fromBF16(bits); }
};

/// The handlers of conversions that kernels are full of.
Handler quick(const Conversion &c) {
  if (c.saturate || c.flush || c.rectify || c.whole || c.round != Round::Nearest)
    return nullptr;
  struct Row {
    Type to, from;
    Handler handler;
  };
  static const Row rows[] = {
      {Type::U64, Type::U32, kCast<uint64_t, uint32_t>},
      {Type::S64, Type::S32, kCast<int64_t, int32_t>},
      {Type::U32, Type::U64, kCast<uint32_t, uint64_t>},
      {Type::U32, Type::U16, kCast<uint32_t, uint16_t>},
      {Type::U16, Type::U32, kCast<uint16_t, uint32_t>},
      {Type::F32, Type::S32, kCast<float, int32_t>},
      {Type::F32, Type::U32, kCast<float, uint32_t>},
      {Type::F32, Type::F16, apply<WidenF16, F32, Integer<uint16_t>>},
      {Type::F32, Type::BF16, apply<WidenBF16, F32, Integer<uint16_t>>},
  };
  for (const Row &row : rows)
    if (row.to == c.to && row.from == c.from)
      return row.handler;
  return nullptr;
}

void buildCvt(Decoder &decoder, const Instruction &instruction, Code &code) {
  static const std::unordered_map<std::string_view, std::pair<Round, bool>> rounds = {
      {"rn", {Round::Nearest, false}}, {"rz", {Round::Zero, false}},  {"rm", {Round::Down, false}},
      {"rp", {Round::Up, false}},      {"rna", {Round::Away, false}}, {"rni", {Round::Nearest, true}},
      {"rzi", {Round::Zero, true}},    {"rmi", {Round::Down, true}},  {"rpi", {Round::Up, true}}};
  std::vector<Type> types = instruction.types();
  if (types.size() != 2)
    decoder.unknown(instruction);
  Conversion c{types[0], types[1]};
  for (size_t i = 1; i < instruction.words.size(); ++i) {
    const std::string &word = instruction.words[i];
    if (auto round = rounds.find(word); round != rounds.end()) {
      c.round = round->second.first;
      c.whole = round->second.second;
    } else if (word == "sat") {
      c.saturate = true;
    } else if (word == "ftz") {
      c.flush = true;
    } else if (word == "relu") {
      c.rectify = true;
    } else if (!findType(word)) {
      decoder.unknown(instruction);
    }
  }
  if (c.to == Type::F16x2 || c.to == Type::BF16x2) {
    if (c.from != Type::F32)
      decoder.unknown(instruction);
    c.to = c.to == Type::F16x2 ? Type::F16 : Type::BF16;
    code.handler = convertPair;
    code.value = pack(c);
    placeAll(decoder, instruction, code, 2, 4);
    return;
  }
  unsigned to = bytesOf(c.to), from = bytesOf(c.from);
  if (!to || !from || c.from == Type::F16x2 || c.from == Type::BF16x2 || instruction.operands.size() != 2)
    decoder.unknown(instruction);
  code.value = pack(c);
  code.width = uint8_t(decoder.widthOf(instruction.operands[0]).value_or(to));
  code.from = uint8_t(decoder.widthOf(instruction.operands[1]).value_or(from));
  code.d = decoder.destination(instruction, instruction.operands[0], to, true);
  code.a = decoder.source(instruction, instruction.operands[1], from, true);
  code.handler = code.width == to && code.from == from ? quick(c) : nullptr;
  if (!code.handler)
    code.handler = convertLanes;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

template <class T> void move(Warp &warp, const Code &code, uint32_t lanes) {
  T *d = warp.at<T>(code.d), *a = warp.at<T>(code.a);
  forLanes(lanes, [&](int lane) { d[lane] = a[lane]; });
}
void movePredicate(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t &d = *warp.at<uint32_t>(code.d);
  d = (d & ~lanes) | (*warp.at<uint32_t>(code.a) & lanes);
}
/// The `count` places of `list`, `from` bytes each, to d or from a of `width` bytes.
void packCells(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *parts = &warp.program().places[code.list];
  forLanes(lanes, [&](int lane) {
    char made[16];
    for (unsigned i = 0; i < code.count; ++i)
      std::memcpy(made + i * code.from, warp.at<char>(parts[i]) + lane * code.from, code.from);
    std::memcpy(warp.at<char>(code.d) + lane * code.width, made, code.width);
  });
}
void unpackCells(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *parts = &warp.program().places[code.list];
  forLanes(lanes, [&](int lane) {
    char cell[16];
    std::memcpy(cell, warp.at<char>(code.a) + lane * code.width, code.width);
    for (unsigned i = 0; i < code.count; ++i)
      std::memcpy(warp.at<char>(parts[i]) + lane * code.from, cell + i * code.from, code.from);
  });
}
/// Instructions so far stand for cycles.
void readClock(Warp &warp, const Code &code, uint32_t lanes) {
  uint64_t now = warp.executed;
  forLanes(lanes, [&](int lane) { std::memcpy(warp.at<char>(code.d) + lane * code.width, &now, code.width); });
}

void buildMov(Decoder &decoder, const Instruction &instruction, Code &code) {
  std::vector<Type> types = instruction.types();
  if (types.size() != 1 || instruction.operands.size() != 2)
    decoder.unknown(instruction);
  unsigned width = bytesOf(types[0]);
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  code.width = uint8_t(width);
  if (to.kind == Operand::Vector || from.kind == Operand::Vector) {
    bool packs = from.kind == Operand::Vector;
    const std::vector<Operand> &parts = packs ? from.elements : to.elements;
    code.count = uint8_t(parts.size());
    code.from = uint8_t(width / parts.size());
    if (code.from * code.count != width)
      decoder.unknown(instruction);
    std::vector<uint32_t> places;
    for (const Operand &part : parts)
      places.push_back(packs ? decoder.source(instruction, part, code.from)
                             : decoder.destination(instruction, part, code.from));
    code.list = decoder.list(places);
    code.handler = packs ? packCells : unpackCells;
    (packs ? code.d : code.a) =
        packs ? decoder.destination(instruction, to, width) : decoder.source(instruction, from, width);
    return;
  }
  code.d = decoder.destination(instruction, to, width);
  if (from.name == "%clock" || from.name == "%clock64" || from.name == "%globaltimer") {
    code.handler = readClock;
    return;
  }
  code.a = decoder.source(instruction, from, width);
  switch (width) {
  case 0:
    code.handler = movePredicate;
    break;
  case 2:
    code.handler = move<uint16_t>;
    break;
  case 4:
    code.handler = move<uint32_t>;
    break;
  case 8:
    code.handler = move<uint64_t>;
    break;
  default:
    struct Quad {
      uint64_t words[2];
    };
    code.handler = width == 16 ? move<Quad> : nullptr;
  }
  if (!code.handler)
    decoder.unknown(instruction);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

uint64_t windowOf(const Instruction &instruction) {
  if (instruction.has("shared") || instruction.has("shared::cta"))
    return kSharedWindow;
  if (instruction.has("local"))
    return kLocalWindow;
  return instruction.has("param") || instruction.has("param::entry") ? kParamWindow : 0;
}

void addWindow(Warp &warp, const Code &code, uint32_t lanes) {
  forLanes(lanes, [&](int lane) {
    uint64_t moved = readCell(warp, code.a, code.from, lane) + uint64_t(code.value);
    std::memcpy(warp.at<char>(code.d) + lane * code.width, &moved, code.width);
  });
}

void buildCvta(Decoder &decoder, const Instruction &instruction, Code &code) {
  uint64_t window = windowOf(instruction);
  code.handler = addWindow;
  code.value = int64_t(instruction.has("to") ? -window : window);
  code.width = 8;
  code.from = uint8_t(decoder.widthOf(decoder.operand(instruction, 1)).value_or(8));
  code.a = decoder.source(instruction, instruction.operands[1], 4, true);
  code.d = decoder.destination(instruction, instruction.operands[0], 4, true);
  code.width = uint8_t(decoder.widthOf(instruction.operands[0]).value_or(8));
}

void isInSpace(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t holds = 0;
  forLanes(lanes, [&](int lane) {
    uint64_t window = warp.at<uint64_t>(code.a)[lane] & kWindowMask;
    bool elsewhere = window == kSharedWindow || window == kLocalWindow || window == kParamWindow;
    holds |= uint32_t(code.value ? window == uint64_t(code.value) : !elsewhere) << lane;
  });
  uint32_t &d = *warp.at<uint32_t>(code.d);
  d = (d & ~lanes) | (holds & lanes);
}

void buildIsspacep(Decoder &decoder, const Instruction &instruction, Code &code) {
  code.handler = isInSpace;
  code.value = int64_t(windowOf(instruction));
  code.a = decoder.source(instruction, decoder.operand(instruction, 1), 8);
  code.d = decoder.destination(instruction, instruction.operands[0], 0);
}
} // namespace

const Rows &conversionRows() {
  static const Rows rows = {{"cvt", buildCvt}, {"mov", buildMov}, {"cvta", buildCvta}, {"isspacep", buildIsspacep}};
  return rows;
}

} // namespace dtcc::emulator
