//===- InstructionTest.cpp - Instructions of PTX against C++
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every family on edge cases: least and greatest values, signs, denormals, infinities, NaN.
// Expectations are written from the PTX ISA, by other means than the emulator uses.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/HalfFloat.h"
#include "tests/emulator/ptx/Error.h"
#include "tests/unit/emulator/PtxRun.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

using namespace dtcc;
using test::Sources;

namespace {

template <class T> uint64_t bitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T> T fromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T> std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>)
    return {T(0),           T(-0.0),        T(1),     T(-1),       T(1.5),    T(2.5),          T(-3.7),
            T(1e10),        T(-8.5e9),      L::max(), L::lowest(), L::min(),  L::denorm_min(), L::infinity(),
            -L::infinity(), L::quiet_NaN(), T(0.1),   T(255.5),    T(65519.9)};
  else
    return {
        T(0),  T(1),  T(2),     T(3), T(7), T(31), T(32), T(100), L::max(), L::min(), T(L::max() - 1), T(L::min() + 1),
        T(-1), T(-5), T(0x5a5a)};
}

template <class... T> std::vector<Sources> allCases() {
  std::vector<Sources> cases = {{0, 0, 0}};
  size_t source = 0;
  auto extend = [&](auto values) {
    std::vector<Sources> more;
    for (const Sources &one : cases)
      for (auto value : values) {
        more.push_back(one);
        more.back()[source] = bitsOf(value);
      }
    cases = more;
    ++source;
  };
  (extend(edges<T>()), ...);
  return cases;
}

template <class T> constexpr char kLetter = sizeof(T) == 2 ? 'h' : sizeof(T) == 4 ? 'r' : 'd';

/// "add.s32 D, A, B" on all edge cases, against `expect`.
template <class R, class... T, class Expect> void check(std::string text, Expect expect) {
  SCOPED_TRACE(text);
  const char letters[] = {kLetter<R>, kLetter<T>...};
  const char *names[] = {"", "a", "b", "c"};
  for (size_t i = 0; i < sizeof...(T) + 1; ++i)
    if (size_t at = text.find(char('A' + int(i) - 1), text.find(' ')); i > 0 && at != text.npos)
      text.replace(at, 1, std::string("%") + letters[i] + names[i]);
  text.replace(text.find('D', text.find(' ')), 1, std::string("%") + letters[0]);
  std::vector<Sources> cases = allCases<T...>();
  std::vector<uint64_t> got = test::runCases(text + ";", 8 * sizeof(R), cases);
  for (size_t i = 0; i < cases.size(); ++i) {
    size_t source = 0;
    auto next = [&]<class S>(S) { return fromBits<S>(cases[i][source++]); };
    auto arguments = std::tuple<T...>{next(T())...};
    R want = R(std::apply(expect, arguments)), have = fromBits<R>(got[i]);
    bool same = bitsOf(want) == bitsOf(have);
    if constexpr (std::is_floating_point_v<R>)
      same = same || (std::isnan(want) && std::isnan(have));
    ASSERT_TRUE(same) << std::hex << cases[i][0] << " " << cases[i][1] << " " << cases[i][2] << ": " << bitsOf(have)
                      << ", not " << bitsOf(want);
  }
}

using U16 = uint16_t;
using U32 = uint32_t;
using U64 = uint64_t;
using S16 = int16_t;
using S32 = int32_t;
using S64 = int64_t;

TEST(Instruction, IntegerArithmetic) {
  check<U32, U32, U32>("add.s32 D, A, B", [](U32 a, U32 b) { return a + b; });
  check<U16, U16, U16>("sub.s16 D, A, B", [](U16 a, U16 b) { return U16(a - b); });
  check<U64, U64, U64>("mul.lo.s64 D, A, B", [](U64 a, U64 b) { return a * b; });
  check<U32, U32, U32>("mul.hi.u32 D, A, B", [](U32 a, U32 b) { return U32(U64(a) * b >> 32); });
  check<S32, S32, S32>("mul.hi.s32 D, A, B", [](S32 a, S32 b) { return S32(S64(a) * b >> 32); });
  check<U16, U16, U16>("mul.hi.u16 D, A, B", [](U16 a, U16 b) { return U16(U32(a) * b >> 16); });
  check<S64, S32, S32>("mul.wide.s32 D, A, B", [](S32 a, S32 b) { return S64(a) * b; });
  check<U64, U32, U32>("mul.wide.u32 D, A, B", [](U32 a, U32 b) { return U64(a) * b; });
  check<U64, U64, U64>("mul.hi.u64 D, A, B", [](U64 a, U64 b) {
    U64 al = U32(a), ah = a >> 32, bl = U32(b), bh = b >> 32, middle = (al * bl >> 32) + U32(ah * bl) + U32(al * bh);
    return ah * bh + (ah * bl >> 32) + (al * bh >> 32) + (middle >> 32);
  });
  check<U32, U32, U32, U32>("mad.lo.s32 D, A, B, C", [](U32 a, U32 b, U32 c) { return a * b + c; });
  check<S64, S32, S32, S64>("mad.wide.s32 D, A, B, C",
                            [](S32 a, S32 b, S64 c) { return S64(U64(S64(a) * b) + U64(c)); });
  check<S32, S32, S32>("div.s32 D, A, B", [](S32 a, S32 b) { return b == 0 ? -1 : S32(S64(a) / b); });
  check<U64, U64, U64>("div.u64 D, A, B", [](U64 a, U64 b) { return b == 0 ? ~U64(0) : a / b; });
  check<S32, S32, S32>("rem.s32 D, A, B", [](S32 a, S32 b) { return b == 0 ? a : S32(S64(a) % b); });
  check<S64, S64, S64>("min.s64 D, A, B", [](S64 a, S64 b) { return a < b ? a : b; });
  check<U32, U32, U32>("max.u32 D, A, B", [](U32 a, U32 b) { return a > b ? a : b; });
  check<U32, S32>("neg.s32 D, A", [](S32 a) { return 0u - U32(a); });
  check<U32, S32>("abs.s32 D, A", [](S32 a) { return a < 0 ? 0u - U32(a) : U32(a); });
}

TEST(Instruction, Bits) {
  check<U32, U32, U32>("and.b32 D, A, B", [](U32 a, U32 b) { return a & b; });
  check<U64, U64, U64>("or.b64 D, A, B", [](U64 a, U64 b) { return a | b; });
  check<U16, U16, U16>("xor.b16 D, A, B", [](U16 a, U16 b) { return U16(a ^ b); });
  check<U32, U32>("not.b32 D, A", [](U32 a) { return ~a; });
  check<U32, U32, U32>("shl.b32 D, A, B", [](U32 a, U32 by) { return by > 31 ? 0 : a << by; });
  check<U64, U64, U32>("shr.u64 D, A, B", [](U64 a, U32 by) { return by > 63 ? 0 : a >> by; });
  check<S32, S32, U32>("shr.s32 D, A, B", [](S32 a, U32 by) { return a >> (by > 31 ? 31 : by); });
  check<U16, U16, U32>("shr.u16 D, A, B", [](U16 a, U32 by) { return by > 15 ? 0 : a >> by; });
  check<U32, U32, U32, U32>("shf.l.wrap.b32 D, A, B, C",
                            [](U32 a, U32 b, U32 c) { return U32(((U64(b) << 32 | a) << (c & 31)) >> 32); });
  check<U32, U32, U32, U32>("shf.r.clamp.b32 D, A, B, C",
                            [](U32 a, U32 b, U32 c) { return U32((U64(b) << 32 | a) >> (c > 32 ? 32 : c)); });
  check<U32, U32, U32, U32>("lop3.b32 D, A, B, C, 0x96", [](U32 a, U32 b, U32 c) { return a ^ b ^ c; });
  check<U32, U32, U32, U32>("lop3.b32 D, A, B, C, 0xca", [](U32 a, U32 b, U32 c) { return (a & b) | (~a & c); });
  check<U32, U32, U32>("prmt.b32 D, A, B, 0x5410", [](U32 a, U32 b) { return (a & 0xffff) | b << 16; });
  check<U32, U32, U32>("prmt.b32 D, A, B, 0x7632", [](U32 a, U32 b) { return a >> 16 | (b & 0xffff0000); });
  check<U32, U32>("popc.b32 D, A", [](U32 a) { return U32(__builtin_popcount(a)); });
  check<U32, U64>("clz.b64 D, A", [](U64 a) { return a ? U32(__builtin_clzll(a)) : 64; });
  check<U32, U32>("brev.b32 D, A", [](U32 a) { return __builtin_bitreverse32(a); });
  check<U32, U32>("bfe.u32 D, A, 5, 9", [](U32 a) { return a >> 5 & 511; });
  check<S32, S32>("bfe.s32 D, A, 4, 8", [](S32 a) { return S32(int8_t(a >> 4)); });
  check<U32, U32, U32>("bfi.b32 D, A, B, 8, 8", [](U32 a, U32 b) { return (b & ~0xff00u) | (a & 255) << 8; });
}

TEST(Instruction, FloatArithmetic) {
  check<float, float, float>("add.f32 D, A, B", [](float a, float b) { return a + b; });
  check<float, float, float>("mul.rn.f32 D, A, B", [](float a, float b) { return a * b; });
  check<double, double, double>("sub.f64 D, A, B", [](double a, double b) { return a - b; });
  check<float, float, float, float>("fma.rn.f32 D, A, B, C", [](float a, float b, float c) { return fmaf(a, b, c); });
  check<float, float, float>("div.rn.f32 D, A, B", [](float a, float b) { return a / b; });
  check<float, float>("rcp.rn.f32 D, A", [](float a) { return 1 / a; });
  check<float, float>("sqrt.rn.f32 D, A", [](float a) { return sqrtf(a); });
  check<float, float>("neg.f32 D, A", [](float a) { return -a; });
  check<float, float>("abs.f32 D, A", [](float a) { return fabsf(a); });
  auto flushed = [](float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; };
  check<float, float, float>("mul.ftz.f32 D, A, B", [=](float a, float b) { return flushed(flushed(a) * flushed(b)); });
  check<float, float, float>("add.sat.f32 D, A, B", [](float a, float b) {
    float sum = a + b;
    return std::isnan(sum) || sum <= 0 ? 0.0f : sum > 1 ? 1.0f : sum;
  });
  check<float, float, float>("max.f32 D, A, B", [](float a, float b) {
    if (a == 0 && b == 0)
      return std::signbit(a) ? b : a;
    return fmaxf(a, b);
  });
  check<float, float, float>("min.NaN.f32 D, A, B", [](float a, float b) {
    if (std::isnan(a) || std::isnan(b))
      return NAN;
    if (a == 0 && b == 0)
      return std::signbit(a) ? a : b;
    return fminf(a, b);
  });
  check<float, float>("ex2.approx.f32 D, A", [](float a) { return exp2f(a); });
  check<float, float>("lg2.approx.f32 D, A", [](float a) { return log2f(a); });
  check<float, float>("tanh.approx.f32 D, A", [](float a) { return tanhf(a); });
}

/// Two bf16 in a register: f32 whose lower bits are cut off.
TEST(Instruction, HalvesRoundOnce) {
  auto bf16 = [](float x) { return U16(std::bit_cast<U32>(x) >> 16); };
  auto toFloat = [](U16 x) { return std::bit_cast<float>(U32(x) << 16); };
  for (auto [a, b, c] : {std::array<float, 3>{1.0f, 1.0f, 0x1p-9f},
                         {1.0078125f, 1.0078125f, -1},
                         {-3, 0.5f, 100},
                         {7, 37, -0x1p-30f} /* less than a tie */}) {
    std::vector<uint64_t> got = test::runCases("fma.rn.bf16 %h, %ha, %hb, %hc;", 16, {{bf16(a), bf16(b), bf16(c)}});
    double exact = double(a) * b + c, value = toFloat(U16(got[0]));
    // No neighbour is nearer.
    for (int step : {-1, 1})
      EXPECT_LE(std::fabs(value - exact), std::fabs(toFloat(U16(got[0] + U64(step))) - exact));
  }
  std::vector<uint64_t> sum = test::runCases("add.bf16x2 %r, %ra, %rb;", 32,
                                             {{U64(bf16(2)) << 16 | bf16(1), U64(bf16(0.5f)) << 16 | bf16(-3), 0}});
  EXPECT_EQ(sum[0], U64(bf16(2.5f)) << 16 | bf16(-2));
  std::vector<uint64_t> halves = test::runCases("mul.f16 %h, %ha, %hb;", 16, {{0x4200 /*3*/, 0xc100 /*-2.5*/, 0}});
  EXPECT_EQ(halves[0], 0xc780u); // -7.5
}

TEST(Instruction, Comparisons) {
  auto with = [](const char *setp) { return std::string(setp) + ";\nselp.b32 D, 1, 0, %p"; };
  // A packed comparison of two f16 in a register sets %p by the lower one and %q by the upper one.
  check<U32, U32, U32>(
      "setp.gt.f16x2 %p|%q, %ra, %rb;\nselp.b32 %ra, 1, 0, %p;\nselp.b32 %rb, 2, 0, %q;\nadd.u32 D, %ra, %rb",
      [](U32 a, U32 b) {
        auto half = [](U32 pair, int shift) { return rt::fromF16(uint16_t(pair >> shift)); };
        return U32(half(a, 0) > half(b, 0)) + 2 * U32(half(a, 16) > half(b, 16));
      });
  check<U32, S32, S32>(with("setp.lt.s32 %p, %ra, %rb"), [](S32 a, S32 b) { return a < b; });
  check<U32, U32, U32>(with("setp.hs.u32 %p, %ra, %rb"), [](U32 a, U32 b) { return a >= b; });
  check<U32, U64, U64>(with("setp.ne.b64 %p, %da, %db"), [](U64 a, U64 b) { return a != b; });
  check<U32, float, float>(with("setp.le.f32 %p, %ra, %rb"), [](float a, float b) { return a <= b; });
  check<U32, float, float>(with("setp.ne.f32 %p, %ra, %rb"), [](float a, float b) { return a < b || a > b; });
  check<U32, float, float>(with("setp.neu.f32 %p, %ra, %rb"), [](float a, float b) { return a != b; });
  check<U32, float, float>(with("setp.gtu.f32 %p, %ra, %rb"), [](float a, float b) { return !(a <= b); });
  check<U32, float, float>(with("setp.nan.f32 %p, %ra, %rb"), [](float a, float b) { return a != a || b != b; });
  check<U32, U32, U32>("setp.lt.u32 %p|%q, %ra, %rb;\nnot.pred %p, %q;\nselp.b32 D, 1, 0, %p",
                       [](U32 a, U32 b) { return a < b; });
  check<U32, U32, U32>("setp.eq.u32 %q, %ra, 7;\nsetp.lt.or.u32 %p, %ra, %rb, %q;\nselp.b32 D, 5, 6, %p",
                       [](U32 a, U32 b) { return a < b || a == 7 ? 5 : 6; });
  check<U32, S32, S32>("set.gt.u32.s32 D, A, B", [](S32 a, S32 b) { return a > b ? ~0u : 0; });
}

TEST(Instruction, Conversions) {
  check<S64, S32>("cvt.s64.s32 D, A", [](S32 a) { return S64(a); });
  check<U32, U32>("cvt.u32.u8 D, A", [](U32 a) { return a & 255; });
  check<S32, U32>("cvt.s32.s8 D, A", [](U32 a) { return S32(int8_t(a)); });
  check<U16, U64>("cvt.u16.u64 D, A", [](U64 a) { return U16(a); });
  check<S16, S32>("cvt.sat.s16.s32 D, A", [](S32 a) { return a > 32767 ? 32767 : a < -32768 ? -32768 : a; });
  check<float, S32>("cvt.rn.f32.s32 D, A", [](S32 a) { return float(a); });
  check<float, U64>("cvt.rn.f32.u64 D, A", [](U64 a) { return float(a); });
  check<double, float>("cvt.f64.f32 D, A", [](float a) { return double(a); });
  check<float, double>("cvt.rn.f32.f64 D, A", [](double a) { return float(a); });
  check<float, double>("cvt.rz.f32.f64 D, A", [](double a) {
    auto near = float(a);
    return std::fabs(double(near)) > std::fabs(a) ? nextafterf(near, 0) : near;
  });
  auto clamp = [](double x) {
    return std::isnan(x) ? 0 : x >= 2147483647.0 ? 2147483647 : x <= -2147483648.0 ? INT32_MIN : S32(x);
  };
  check<S32, float>("cvt.rzi.s32.f32 D, A", [=](float a) { return clamp(std::trunc(double(a))); });
  check<S32, float>("cvt.rmi.s32.f32 D, A", [=](float a) { return clamp(std::floor(double(a))); });
  check<S32, float>("cvt.rni.s32.f32 D, A", [=](float a) { return clamp(std::nearbyint(double(a))); });
  check<U32, float>("cvt.rzi.u32.f32 D, A", [](float a) {
    return std::isnan(a) || a <= 0 ? 0u : a >= 0x1p32f ? ~0u : U32(a);
  });
  check<float, float>("cvt.rmi.f32.f32 D, A", [](float a) { return std::floor(a); });
  // To the nearest bf16, ties to even, by hand: add half of the last place and cut.
  auto bf16 = [](float a) {
    auto bits = std::bit_cast<U32>(a);
    return std::isnan(a) ? U32(0x7fff) : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  check<U16, float>("cvt.rn.bf16.f32 D, A", [=](float a) { return U16(bf16(a)); });
  check<U16, float>("cvt.rz.bf16.f32 D, A",
                    [](float a) { return std::isnan(a) ? U16(0x7fff) : U16(std::bit_cast<U32>(a) >> 16); });
  check<U32, float, float>("cvt.rn.bf16x2.f32 D, A, B", [=](float a, float b) { return bf16(a) << 16 | bf16(b); });
  check<float, U16>("cvt.f32.bf16 D, A", [](U16 a) { return std::bit_cast<float>(U32(a) << 16); });
  check<U16, float>("cvt.rn.f16.f32 D, A", [](float a) { return std::isnan(a) ? 0x7fff : bitsOf(_Float16(a)); });
  // The greatest half that is no more, the least that is no less.
  auto below = [](float a) {
    if (std::isnan(a))
      return U64(0x7fff);
    auto near = _Float16(a);
    U64 bits = bitsOf(near);
    return float(near) <= a ? bits : bits == 0 ? 0x8001 : bits & 0x8000 ? bits + 1 : bits - 1;
  };
  check<U16, float>("cvt.rm.f16.f32 D, A", below);
  check<U16, float>("cvt.rp.f16.f32 D, A", [=](float a) { return std::isnan(a) ? 0x7fff : below(-a) ^ 0x8000; });
  check<float, U16>("cvt.f32.f16 D, A", [](U16 a) { return float(fromBits<_Float16>(a)); });
}

TEST(Instruction, Moves) {
  check<U64, U32, U32>("mov.b64 D, {A, B}", [](U32 a, U32 b) { return U64(b) << 32 | a; });
  check<U32, U64>("mov.b64 {_, %r}, A;\nmov.b32 D, %r", [](U64 a) { return U32(a >> 32); });
  check<U32, U32>("{ .reg .b16 %h<2>; mov.b32 {%h0, %h1}, A; mov.b32 D, {%h1, %h0}; }\nmov.b32 %r, %r",
                  [](U32 a) { return a >> 16 | a << 16; });
}

TEST(Instruction, UnknownOnesAreNamedWithTheirLine) {
  auto messageOf = [](const std::string &text) -> std::string {
    emulator::DeviceMemory memory;
    return emulator::problemOf(text, memory, "k", {});
  };
  EXPECT_EQ(
      messageOf(".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<2>;\nwgmma.go %r1;\n}"),
      "PTX line 7: the emulator does not know 'wgmma.go'");
  EXPECT_EQ(messageOf(".entry k()\n{\n.reg .b32 %r<2>;\nadd.s64 %r1, %r0, 1;\n}"),
            "PTX line 4: 'add.s64' needs a register of 64 bits, got: %r0");
  EXPECT_EQ(messageOf(".entry k()\n{\nbra nowhere;\n}"), "PTX line 3: no label 'nowhere'");
  EXPECT_EQ(messageOf(".entry k()\n{\n.reg .b32 %r<2>;\nmul.rz.f32 %r0, %r1, %r1;\n}"),
            "PTX line 4: the emulator does not know 'mul.rz.f32'");
  EXPECT_EQ(messageOf("int main() {}"), "PTX line 1: unknown directive 'int'");
}
} // namespace
