//===- Arithmetic.cpp - Sums, products, quotients, functions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Apply.h"
#include <algorithm>
#include <limits>

namespace dtcc::emulator {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

template <class T> constexpr bool kIsInteger = std::is_integral_v<T>;
template <class T> using WiderThan = std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>;

/// Arity and types that an op supports.
template <int arity, bool integers = true, bool floats = true> struct Op {
  static constexpr int kArity = arity;
  static constexpr bool kIntegers = integers, kFloats = floats;
};

struct Add : Op<2> {
  template <class T> T operator()(T a, T b) const {
    if constexpr (kIsInteger<T>)
      return T(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  }
};
struct Subtract : Op<2> {
  template <class T> T operator()(T a, T b) const {
    if constexpr (kIsInteger<T>)
      return T(uint64_t(a) - uint64_t(b));
    else
      return a - b;
  }
};
struct Multiply : Op<2> {
  template <class T> T operator()(T a, T b) const {
    if constexpr (kIsInteger<T>)
      return T(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  }
};
struct MultiplyHigh : Op<2, true, false> {
  template <class T> T operator()(T a, T b) const { return T((WiderThan<T>(a) * WiderThan<T>(b)) >> (8 * sizeof(T))); }
};
struct MultiplyAdd : Op<3> {
  template <class T> T operator()(T a, T b, T c) const {
    if constexpr (kIsInteger<T>)
      return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
    else
      return std::fma(a, b, c);
  }
};
struct MultiplyHighAdd : Op<3, true, false> {
  template <class T> T operator()(T a, T b, T c) const { return Add()(MultiplyHigh()(a, b), c); }
};
struct MultiplyWide {
  template <class T> auto operator()(T a, T b) const { return WiderThan<T>(a) * WiderThan<T>(b); }
  template <class T, class C> C operator()(T a, T b, C c) const {
    return C(UnsignedWide(WiderThan<T>(a) * WiderThan<T>(b)) + UnsignedWide(c));
  }
};
struct Divide : Op<2> {
  template <class T> T operator()(T a, T b) const {
    if constexpr (!kIsInteger<T>)
      return a / b;
    else if (b == 0)
      return T(~T(0));
    else
      return T(WiderThan<T>(a) / WiderThan<T>(b));
  }
};
struct Remainder : Op<2, true, false> {
  template <class T> T operator()(T a, T b) const { return b == 0 ? a : T(WiderThan<T>(a) % WiderThan<T>(b)); }
};
struct Negate : Op<1> {
  template <class T> T operator()(T a) const {
    if constexpr (kIsInteger<T>)
      return T(0 - uint64_t(a));
    else
      return -a;
  }
};
struct Absolute : Op<1> {
  template <class T> T operator()(T a) const {
    if constexpr (kIsInteger<T>)
      return a < 0 ? Negate()(a) : a;
    else
      return std::fabs(a);
  }
};
/// The other one of a number and a NaN; -0 is less than +0.
struct Least : Op<2> {
  template <class T> T operator()(T a, T b) const {
    if constexpr (kIsInteger<T>)
      return a < b ? a : b;
    else
      return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
  }
};
struct Greatest : Op<2> {
  template <class T> T operator()(T a, T b) const {
    if constexpr (kIsInteger<T>)
      return a > b ? a : b;
    else
      return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
  }
};
/// A NaN wins.
template <class Other> struct NanOr : Op<2, false, true> {
  template <class T> T operator()(T a, T b) const {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : Other()(a, b);
  }
};
template <class Other> struct Saturated : Op<Other::kArity, false, true> {
  template <class... T> auto operator()(T... x) const {
    auto value = Other()(x...);
    using V = decltype(value);
    return value > V(0) ? (value < V(1) ? value : V(1)) : V(0);
  }
};
template <class Other> struct Rectified : Op<Other::kArity, false, true> {
  template <class... T> auto operator()(T... x) const {
    auto value = Other()(x...);
    return value < 0 ? decltype(value)(0) : value;
  }
};

template <auto function> struct Function : Op<1, false, true> {
  template <class T> T operator()(T a) const { return function(a); }
};
// Exact values of functions that hardware approximates.
using Exponential = Function<[](auto a) { return std::exp2(a); }>;
using Logarithm = Function<[](auto a) { return std::log2(a); }>;
using Reciprocal = Function<[](auto a) { return decltype(a)(1) / a; }>;
using Root = Function<[](auto a) { return std::sqrt(a); }>;
using ReciprocalRoot = Function<[](auto a) { return decltype(a)(1) / std::sqrt(a); }>;
using Sine = Function<[](auto a) { return std::sin(a); }>;
using Cosine = Function<[](auto a) { return std::cos(a); }>;
using Tangent = Function<[](auto a) { return std::tanh(a); }>;

struct CopySign : Op<2, false, true> {
  template <class T> T operator()(T a, T b) const { return std::copysign(b, a); }
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Refuses what is not one of `words` or a type: other roundings, carries, ..
void onlyWords(Decoder &decoder, const Instruction &instruction, std::initializer_list<std::string_view> words) {
  for (size_t i = 1; i < instruction.words.size(); ++i)
    if (!findType(instruction.words[i]) && std::find(words.begin(), words.end(), instruction.words[i]) == words.end())
      decoder.unknown(instruction);
}

template <class Op> Handler pick(Type type, bool flushed) {
  Handler found = nullptr;
  if constexpr (Op::kIntegers)
    found = forIntegers<Op>(type);
  if constexpr (Op::kFloats)
    found = found ? found : forFloats<Op>(type, flushed);
  return found;
}

void finish(Decoder &decoder, const Instruction &instruction, Code &code, Handler handler, unsigned arity, Type type) {
  if (!handler)
    decoder.unknown(instruction);
  code.handler = handler;
  placeAll(decoder, instruction, code, arity, bytesOf(type));
}

/// Roundings to the nearest, and what hardware approximates.
template <class Op> void build(Decoder &decoder, const Instruction &instruction, Code &code) {
  onlyWords(decoder, instruction, {"rn", "ftz", "sat", "lo", "approx", "full", "relu"});
  if (instruction.types().size() != 1)
    decoder.unknown(instruction);
  Type type = instruction.types()[0];
  bool flushed = instruction.has("ftz");
  Handler handler = pick<Op>(type, flushed);
  if constexpr (Op::kFloats) {
    if (instruction.has("sat"))
      handler = forFloats<Saturated<Op>>(type, flushed);
    if (instruction.has("relu"))
      handler = forFloats<Rectified<Op>>(type, flushed);
  }
  finish(decoder, instruction, code, handler, Op::kArity, type);
}

template <class Op> void buildExtreme(Decoder &decoder, const Instruction &instruction, Code &code) {
  onlyWords(decoder, instruction, {"ftz", "NaN"});
  if (instruction.types().size() != 1)
    decoder.unknown(instruction);
  Type type = instruction.types()[0];
  bool flushed = instruction.has("ftz");
  finish(decoder, instruction, code,
         instruction.has("NaN") ? forFloats<NanOr<Op>>(type, flushed) : pick<Op>(type, flushed), 2, type);
}

/// The handler that multiplies two integers of a type into one of twice its size.
template <bool adds> Handler widening(Type type, unsigned &width) {
  auto of = [&]<class T, class D>(T, D) -> Handler {
    width = sizeof(T);
    struct Product {
      D operator()(T a, T b) const { return D(MultiplyWide()(a, b)); }
      D operator()(T a, T b, D c) const { return MultiplyWide()(a, b, c); }
    };
    if constexpr (adds)
      return apply<Product, Integer<D>, Integer<T>, Integer<T>, Integer<D>>;
    else
      return apply<Product, Integer<D>, Integer<T>, Integer<T>>;
  };
  switch (type) {
  case Type::U16:
    return of(uint16_t(), uint32_t());
  case Type::S16:
    return of(int16_t(), int32_t());
  case Type::U32:
    return of(uint32_t(), uint64_t());
  case Type::S32:
    return of(int32_t(), int64_t());
  default:
    return nullptr;
  }
}

template <bool adds> void buildProduct(Decoder &decoder, const Instruction &instruction, Code &code) {
  using Low = std::conditional_t<adds, MultiplyAdd, Multiply>;
  using High = std::conditional_t<adds, MultiplyHighAdd, MultiplyHigh>;
  if (!instruction.has("wide") && !instruction.has("hi")) {
    build<Low>(decoder, instruction, code);
    return;
  }
  onlyWords(decoder, instruction, {"wide", "hi"});
  Type type = instruction.types().empty() ? Type::Pred : instruction.types()[0];
  if (instruction.has("hi")) {
    finish(decoder, instruction, code, forIntegers<High>(type), High::kArity, type);
    return;
  }
  unsigned width = 0;
  code.handler = widening<adds>(type, width);
  if (!code.handler || instruction.operands.size() != (adds ? 4 : 3))
    decoder.unknown(instruction);
  code.a = decoder.source(instruction, instruction.operands[1], width);
  code.b = decoder.source(instruction, instruction.operands[2], width);
  if (adds)
    code.c = decoder.source(instruction, instruction.operands[3], 2 * width);
  code.d = decoder.destination(instruction, instruction.operands[0], 2 * width);
}
} // namespace

const Rows &arithmeticRows() {
  static const Rows rows = {{"add", build<Add>},
                            {"sub", build<Subtract>},
                            {"mul", buildProduct<false>},
                            {"mad", buildProduct<true>},
                            {"fma", build<MultiplyAdd>},
                            {"div", build<Divide>},
                            {"rem", build<Remainder>},
                            {"neg", build<Negate>},
                            {"abs", build<Absolute>},
                            {"min", buildExtreme<Least>},
                            {"max", buildExtreme<Greatest>},
                            {"ex2", build<Exponential>},
                            {"lg2", build<Logarithm>},
                            {"rcp", build<Reciprocal>},
                            {"sqrt", build<Root>},
                            {"rsqrt", build<ReciprocalRoot>},
                            {"sin", build<Sine>},
                            {"cos", build<Cosine>},
                            {"tanh", build<Tangent>},
                            {"copysign", build<CopySign>}};
  return rows;
}

} // namespace dtcc::emulator
