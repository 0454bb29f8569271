//===- Logic.cpp - PTX instructions on bits
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Apply.h"

namespace dtcc::emulator {
namespace {

template <int arity> struct Bits {
  static constexpr int kArity = arity;
};
struct And : Bits<2> {
  template <class T> T operator()(T a, T b) const { return a & b; }
};
struct Or : Bits<2> {
  template <class T> T operator()(T a, T b) const { return a | b; }
};
struct Xor : Bits<2> {
  template <class T> T operator()(T a, T b) const { return a ^ b; }
};
struct Not : Bits<1> {
  template <class T> T operator()(T a) const { return T(~a); }
};
struct LogicalNot : Bits<1> {
  template <class T> T operator()(T a) const { return a == 0; }
};
struct ShiftLeft {
  template <class T> T operator()(T a, uint32_t by) const { return by >= 8 * sizeof(T) ? T(0) : T(uint64_t(a) << by); }
};
struct ShiftRight {
  template <class T> T operator()(T a, uint32_t by) const {
    return T(a >> (by >= 8 * sizeof(T) ? (std::is_signed_v<T> ? 8 * sizeof(T) - 1 : 0) : by)) *
           T(std::is_signed_v<T> || by < 8 * sizeof(T));
  }
};
struct Population {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::popcount(a)); }
};
struct LeadingZeros {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::countl_zero(a)); }
};
struct Reverse : Bits<1> {
  template <class T> T operator()(T a) const {
    T made = 0;
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit)
      made |= T((a >> bit) & 1) << (8 * sizeof(T) - 1 - bit);
    return made;
  }
};
/// Index of the most significant bit that differs from the sign; ~0 if there is none.
struct FindBit {
  template <class T> uint32_t operator()(T a) const {
    std::make_unsigned_t<T> bits = a;
    if (std::is_signed_v<T> && a < 0)
      bits = T(~a);
    return bits ? uint32_t(std::bit_width(bits) - 1) : ~0u;
  }
};
struct ExtractField {
  template <class T> T operator()(T a, uint32_t position, uint32_t length) const {
    constexpr uint32_t top = 8 * sizeof(T) - 1;
    position &= 0xff;
    length &= 0xff;
    if (length == 0)
      return 0;
    T sign = std::is_signed_v<T> ? T(a >> std::min(position + length - 1, top) & 1) : T(0);
    T made = 0;
    for (uint32_t i = 0; i <= top; ++i) {
      T bit = i < length && position + i <= top ? T(std::make_unsigned_t<T>(a) >> (position + i) & 1) : sign;
      made |= T(std::make_unsigned_t<T>(bit) << i);
    }
    return made;
  }
};
struct InsertField {
  template <class T> T operator()(T a, T b, uint32_t position, uint32_t length) const {
    position &= 0xff;
    length &= 0xff;
    for (uint32_t i = 0; i < length && position + i < 8 * sizeof(T); ++i)
      b = T((b & ~(T(1) << (position + i))) | ((a >> i & 1) << (position + i)));
    return b;
  }
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

template <class Op> void onPredicates(Warp &warp, const Code &code, uint32_t lanes) {
  uint32_t made;
  if constexpr (Op::kArity == 1)
    made = Op()(*warp.at<uint32_t>(code.a));
  else
    made = Op()(*warp.at<uint32_t>(code.a), *warp.at<uint32_t>(code.b));
  uint32_t &d = *warp.at<uint32_t>(code.d);
  d = (d & ~lanes) | (made & lanes);
}

Type onlyType(Decoder &decoder, const Instruction &instruction) {
  std::vector<Type> types = instruction.types();
  if (types.size() != 1)
    decoder.unknown(instruction);
  return types[0];
}

template <class Op> void build(Decoder &decoder, const Instruction &instruction, Code &code) {
  Type type = onlyType(decoder, instruction);
  if constexpr (!std::is_same_v<Op, Reverse> && !std::is_same_v<Op, LogicalNot>)
    if (type == Type::Pred)
      code.handler = onPredicates<Op>;
  if (!code.handler)
    code.handler = forIntegers<Op>(type);
  if (!code.handler || instruction.words.size() != 2)
    decoder.unknown(instruction);
  placeAll(decoder, instruction, code, Op::kArity, bytesOf(type));
}

/// Op(T, u32), Op(T, u32, u32), T -> T.
template <class Op, int amounts> void buildShift(Decoder &decoder, const Instruction &instruction, Code &code) {
  Type type = onlyType(decoder, instruction);
  auto of = []<class T>(T) -> Handler {
    using U = Integer<uint32_t>;
    if constexpr (amounts == 1)
      return apply<Op, Integer<T>, Integer<T>, U>;
    else
      return apply<Op, Integer<T>, Integer<T>, U, U>;
  };
  unsigned width = bytesOf(type);
  bool isSigned = type == Type::S16 || type == Type::S32 || type == Type::S64;
  code.handler = width == 2   ? (isSigned ? of(int16_t()) : of(uint16_t()))
                 : width == 4 ? (isSigned ? of(int32_t()) : of(uint32_t()))
                 : width == 8 ? (isSigned ? of(int64_t()) : of(uint64_t()))
                              : nullptr;
  if (!code.handler || instruction.words.size() != 2)
    decoder.unknown(instruction);
  code.a = decoder.source(instruction, decoder.operand(instruction, 1), width);
  code.b = decoder.source(instruction, decoder.operand(instruction, 2), 4);
  if (amounts == 2)
    code.c = decoder.source(instruction, decoder.operand(instruction, 3), 4);
  code.d = decoder.destination(instruction, instruction.operands[0], width);
}

/// T -> u32.
template <class Op, bool isSigned> void buildCount(Decoder &decoder, const Instruction &instruction, Code &code) {
  using Small = std::conditional_t<isSigned, int32_t, uint32_t>;
  using Large = std::conditional_t<isSigned, int64_t, uint64_t>;
  unsigned width = bytesOf(onlyType(decoder, instruction));
  code.handler = width == 4 ? Handler(apply<Op, Integer<uint32_t>, Integer<Small>>)
                            : Handler(apply<Op, Integer<uint32_t>, Integer<Large>>);
  if (instruction.words.size() != 2 || (width != 4 && width != 8))
    decoder.unknown(instruction);
  code.a = decoder.source(instruction, decoder.operand(instruction, 1), width);
  code.d = decoder.destination(instruction, instruction.operands[0], 4);
}

void buildFindBit(Decoder &decoder, const Instruction &instruction, Code &code) {
  Type type = onlyType(decoder, instruction);
  (type == Type::S32 || type == Type::S64 ? buildCount<FindBit, true> : buildCount<FindBit, false>)(decoder,
                                                                                                    instruction, code);
}

template <class T> void insertField(Warp &warp, const Code &code, uint32_t lanes) {
  const uint32_t *length = warp.at<uint32_t>(code.list);
  forLanes(lanes, [&](int lane) {
    warp.at<T>(code.d)[lane] = InsertField()(warp.at<T>(code.a)[lane], warp.at<T>(code.b)[lane],
                                             warp.at<uint32_t>(code.c)[lane], length[lane]);
  });
}

void buildInsert(Decoder &decoder, const Instruction &instruction, Code &code) {
  unsigned width = bytesOf(onlyType(decoder, instruction));
  code.handler = width == 4 ? insertField<uint32_t> : insertField<uint64_t>;
  code.a = decoder.source(instruction, decoder.operand(instruction, 1), width);
  code.b = decoder.source(instruction, decoder.operand(instruction, 2), width);
  code.c = decoder.source(instruction, decoder.operand(instruction, 3), 4);
  code.list = decoder.source(instruction, decoder.operand(instruction, 4), 4);
  code.d = decoder.destination(instruction, instruction.operands[0], width);
}

/// value: the truth table.
void lookUp(Warp &warp, const Code &code, uint32_t lanes) {
  forLanes(lanes, [&](int lane) {
    uint32_t a = warp.at<uint32_t>(code.a)[lane], b = warp.at<uint32_t>(code.b)[lane],
             c = warp.at<uint32_t>(code.c)[lane], made = 0;
    for (int row = 0; row < 8; ++row)
      if (code.value >> row & 1)
        made |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    warp.at<uint32_t>(code.d)[lane] = made;
  });
}

void buildLop3(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (onlyType(decoder, instruction) != Type::B32 || decoder.operand(instruction, 4).kind != Operand::Integer ||
      instruction.operands.size() != 5)
    decoder.unknown(instruction);
  code.handler = lookUp;
  code.value = instruction.operands[4].value;
  code.a = decoder.source(instruction, instruction.operands[1], 4);
  code.b = decoder.source(instruction, instruction.operands[2], 4);
  code.c = decoder.source(instruction, instruction.operands[3], 4);
  code.d = decoder.destination(instruction, instruction.operands[0], 4);
}

template <bool left, bool wraps> struct Funnel : Bits<3> {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t by) const {
    by = wraps ? by & 31 : std::min(by, 32u);
    uint64_t both = uint64_t(b) << 32 | a;
    return left ? uint32_t(both << by >> 32) : uint32_t(both >> by);
  }
};

void buildFunnel(Decoder &decoder, const Instruction &instruction, Code &code) {
  using W = Integer<uint32_t>;
  bool left = instruction.has("l"), wraps = instruction.has("wrap");
  if (onlyType(decoder, instruction) != Type::B32 || (!left && !instruction.has("r")))
    decoder.unknown(instruction);
  code.handler = left ? (wraps ? applied<Funnel<true, true>, W, W>() : applied<Funnel<true, false>, W, W>())
                      : (wraps ? applied<Funnel<false, true>, W, W>() : applied<Funnel<false, false>, W, W>());
  placeAll(decoder, instruction, code, 3, 4);
}

struct Permute : Bits<3> {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t choice) const {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t made = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t pick = choice >> (4 * i) & 15;
      auto byte = uint32_t(bytes >> (8 * (pick & 7)) & 0xff);
      if (pick & 8) // its sign instead
        byte = byte & 0x80 ? 0xff : 0;
      made |= byte << (8 * i);
    }
    return made;
  }
};

void buildPermute(Decoder &decoder, const Instruction &instruction, Code &code) {
  if (onlyType(decoder, instruction) != Type::B32 || instruction.words.size() != 2)
    decoder.unknown(instruction);
  code.handler = applied<Permute, Integer<uint32_t>, Integer<uint32_t>>();
  placeAll(decoder, instruction, code, 3, 4);
}
} // namespace

const Rows &logicRows() {
  static const Rows rows = {{"and", build<And>},
                            {"or", build<Or>},
                            {"xor", build<Xor>},
                            {"not", build<Not>},
                            {"cnot", build<LogicalNot>},
                            {"brev", build<Reverse>},
                            {"shl", buildShift<ShiftLeft, 1>},
                            {"shr", buildShift<ShiftRight, 1>},
                            {"bfe", buildShift<ExtractField, 2>},
                            {"bfi", buildInsert},
                            {"popc", buildCount<Population, false>},
                            {"clz", buildCount<LeadingZeros, false>},
                            {"bfind", buildFindBit},
                            {"lop3", buildLop3},
                            {"shf", buildFunnel},
                            {"prmt", buildPermute}};
  return rows;
}

} // namespace dtcc::emulator
