//===- Comparison.cpp - Predicates, and choices by them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Apply.h"
#include <algorithm>

namespace dtcc::emulator {
namespace {

enum class Join : int64_t { None, And, Or, Xor };

/// How two compare; unordered if one is a NaN.
enum Outcome { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };

/// code.list: the place of the negation, or kNowhere; c: what it is joined with (`flag`: negated);
/// count: the outcomes that hold.
template <class N> uint32_t compare(Warp &warp, const Code &code, uint32_t lanes) {
  const auto *a = warp.at<typename N::Stored>(code.a), *b = warp.at<typename N::Stored>(code.b);
  uint32_t holds = 0;
  forLanes(lanes, [&](int lane) {
    auto x = N::load(a[lane]), y = N::load(b[lane]);
    int outcome = x < y ? kLess : x > y ? kGreater : x == y ? kEqual : kUnordered;
    holds |= uint32_t((outcome & code.count) != 0) << lane;
  });
  return holds;
}

uint32_t joined(Warp &warp, const Code &code, uint32_t holds) {
  if (Join(code.value) == Join::None)
    return holds;
  uint32_t other = *warp.at<uint32_t>(code.c) ^ (code.flag ? ~0u : 0u);
  switch (Join(code.value)) {
  case Join::And:
    return holds & other;
  case Join::Or:
    return holds | other;
  default:
    return holds ^ other;
  }
}

void write(uint32_t &predicate, uint32_t lanes, uint32_t value) { predicate = (predicate & ~lanes) | (value & lanes); }

template <class N> void setPredicate(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t holds = compare<N>(warp, code, lanes);
  uint32_t negation = joined(warp, code, ~holds);
  write(*warp.at<uint32_t>(code.d), lanes, joined(warp, code, holds));
  if (code.list != kNowhere)
    write(*warp.at<uint32_t>(code.list), lanes, negation);
}

/// Two halves in a register: d is told of the lower, list of the upper.
template <class N> void setPackedPredicates(Warp &warp, const Code &code, uint32_t lanes) {
  const auto *a = warp.at<uint32_t>(code.a), *b = warp.at<uint32_t>(code.b);
  uint32_t holds[2] = {0, 0};
  forLanes(lanes, [&](int lane) {
    for (int half = 0; half < 2; ++half) {
      auto x = N::load(uint16_t(a[lane] >> 16 * half)), y = N::load(uint16_t(b[lane] >> 16 * half));
      int outcome = x < y ? kLess : x > y ? kGreater : x == y ? kEqual : kUnordered;
      holds[half] |= uint32_t((outcome & code.count) != 0) << lane;
    }
  });
  uint32_t upper = joined(warp, code, holds[1]);
  write(*warp.at<uint32_t>(code.d), lanes, joined(warp, code, holds[0]));
  if (code.list != kNowhere)
    write(*warp.at<uint32_t>(code.list), lanes, upper);
}

/// list: the bits that stand for true.
template <class N> void setNumber(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t holds = joined(warp, code, compare<N>(warp, code, lanes));
  forLanes(lanes, [&](int lane) { warp.at<uint32_t>(code.d)[lane] = holds >> lane & 1 ? code.list : 0; });
}

struct Predicate {
  template <class N> static Handler of() { return setPredicate<N>; }
};
struct Number {
  template <class N> static Handler of() { return setNumber<N>; }
};

template <class To> Handler ofType(Type type, bool flushed) {
  switch (type) {
  case Type::S16:
    return To::template of<Integer<int16_t>>();
  case Type::U16:
  case Type::B16:
    return To::template of<Integer<uint16_t>>();
  case Type::S32:
    return To::template of<Integer<int32_t>>();
  case Type::U32:
  case Type::B32:
    return To::template of<Integer<uint32_t>>();
  case Type::S64:
    return To::template of<Integer<int64_t>>();
  case Type::U64:
  case Type::B64:
    return To::template of<Integer<uint64_t>>();
  case Type::F16:
    return To::template of<F16>();
  case Type::BF16:
    return To::template of<BF16>();
  case Type::F32:
    return flushed ? To::template of<F32Flushed>() : To::template of<F32>();
  case Type::F64:
    return To::template of<F64>();
  default:
    return nullptr;
  }
}

/// Operand 0 is left to the caller.
void fillComparison(Decoder &decoder, const Instruction &instruction, Code &code, Type type) {
  static const std::unordered_map<std::string_view, int> outcomes = {
      {"eq", kEqual},
      {"ne", kLess | kGreater},
      {"lt", kLess},
      {"le", kLess | kEqual},
      {"gt", kGreater},
      {"ge", kGreater | kEqual},
      {"lo", kLess},
      {"ls", kLess | kEqual},
      {"hi", kGreater},
      {"hs", kGreater | kEqual},
      {"equ", kEqual | kUnordered},
      {"neu", kLess | kGreater | kUnordered},
      {"ltu", kLess | kUnordered},
      {"leu", kLess | kEqual | kUnordered},
      {"gtu", kGreater | kUnordered},
      {"geu", kGreater | kEqual | kUnordered},
      {"num", kLess | kEqual | kGreater},
      {"nan", kUnordered},
  };
  auto outcome = outcomes.find(instruction.words.size() > 1 ? instruction.words[1] : "");
  if (outcome == outcomes.end())
    decoder.unknown(instruction);
  code.count = uint8_t(outcome->second);
  code.a = decoder.source(instruction, decoder.operand(instruction, 1), bytesOf(type));
  code.b = decoder.source(instruction, decoder.operand(instruction, 2), bytesOf(type));
  Join join = instruction.has("and")   ? Join::And
              : instruction.has("or")  ? Join::Or
              : instruction.has("xor") ? Join::Xor
                                       : Join::None;
  code.value = int64_t(join);
  if (join != Join::None) {
    code.c = decoder.source(instruction, decoder.operand(instruction, 3), 0);
    code.flag = instruction.operands[3].negated;
  }
}

void buildSetp(Decoder &decoder, const Instruction &instruction, Code &code) {
  std::vector<Type> types = instruction.types();
  if (types.size() != 1)
    decoder.unknown(instruction);
  code.handler = types[0] == Type::F16x2    ? setPackedPredicates<F16>
                 : types[0] == Type::BF16x2 ? setPackedPredicates<BF16>
                                            : ofType<Predicate>(types[0], instruction.has("ftz"));
  if (!code.handler)
    decoder.unknown(instruction);
  fillComparison(decoder, instruction, code, types[0]);
  const Operand &to = instruction.operands[0];
  bool pair = to.kind == Operand::Pair;
  code.d = decoder.destination(instruction, pair ? to.elements[0] : to, 0);
  if (pair)
    code.list = decoder.destination(instruction, to.elements[1], 0);
}

void buildSet(Decoder &decoder, const Instruction &instruction, Code &code) {
  std::vector<Type> types = instruction.types();
  if (types.size() != 2 || bytesOf(types[0]) != 4)
    decoder.unknown(instruction);
  code.handler = ofType<Number>(types[1], instruction.has("ftz"));
  if (!code.handler)
    decoder.unknown(instruction);
  fillComparison(decoder, instruction, code, types[1]);
  code.list = types[0] == Type::F32 ? std::bit_cast<uint32_t>(1.0f) : ~0u;
  code.d = decoder.destination(instruction, instruction.operands[0], 4);
}

template <class T> void select(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t chosen = *warp.at<uint32_t>(code.c);
  T *d = warp.at<T>(code.d), *a = warp.at<T>(code.a), *b = warp.at<T>(code.b);
  forLanes(lanes, [&](int lane) { d[lane] = chosen >> lane & 1 ? a[lane] : b[lane]; });
}

void buildSelp(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (instruction.types().size() != 1)
    decoder.unknown(instruction);
  unsigned width = bytesOf(instruction.types()[0]);
  code.handler = width == 2   ? select<uint16_t>
                 : width == 4 ? select<uint32_t>
                 : width == 8 ? select<uint64_t>
                              : nullptr;
  if (!code.handler)
    decoder.unknown(instruction);
  code.a = decoder.source(instruction, decoder.operand(instruction, 1), width);
  code.b = decoder.source(instruction, decoder.operand(instruction, 2), width);
  code.c = decoder.source(instruction, decoder.operand(instruction, 3), 0);
  code.d = decoder.destination(instruction, instruction.operands[0], width);
}

/// The predicate of testp, by its word.
void testNumber(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t holds = 0;
  forLanes(lanes, [&](int lane) {
    double x = code.from == 4 ? double(warp.at<float>(code.a)[lane]) : warp.at<double>(code.a)[lane];
    int kind = code.from == 4 ? std::fpclassify(warp.at<float>(code.a)[lane]) : std::fpclassify(x);
    bool answers[] = {std::isfinite(x), std::isinf(x),     !std::isnan(x),
                      std::isnan(x),    kind == FP_NORMAL, kind == FP_SUBNORMAL};
    holds |= uint32_t(answers[code.value]) << lane;
  });
  write(*warp.at<uint32_t>(code.d), lanes, holds);
}

void buildTestp(Decoder &decoder, const Instruction &instruction, Code &code) {
  static const std::string_view words[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  const auto *word =
      std::find(std::begin(words), std::end(words), instruction.words.size() > 1 ? instruction.words[1] : "");
  if (word == std::end(words) || instruction.types().size() != 1)
    decoder.unknown(instruction);
  code.value = word - words;
  code.from = uint8_t(bytesOf(instruction.types()[0]));
  code.handler = testNumber;
  code.a = decoder.source(instruction, decoder.operand(instruction, 1), code.from);
  code.d = decoder.destination(instruction, instruction.operands[0], 0);
}
} // namespace

const Rows &comparisonRows() {
  static const Rows rows = {{"setp", buildSetp}, {"set", buildSet}, {"selp", buildSelp}, {"testp", buildTestp}};
  return rows;
}

} // namespace dtcc::emulator
