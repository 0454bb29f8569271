//===- HalfTest.cpp - Kernels over bf16 and f16 against those over f32 -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/HalfFloat.h"
#include "runtime/kernels/Attention.h"
#include "runtime/kernels/Embedding.h"
#include "runtime/kernels/HalfAttention.h"
#include "runtime/kernels/Matmul.h"

#include "tests/unit/kernels/Fixture.h"
#include <array>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

using Halves = std::vector<uint16_t>;

float wide(dtcc_dtype type, uint16_t bits) { return type == DTCC_BF16 ? fromBF16(bits) : fromF16(bits); }
uint16_t narrow(dtcc_dtype type, float value) { return type == DTCC_BF16 ? toBF16(value) : toF16(value); }
/// Half a unit in the last place, relative.
double rounding(dtcc_dtype type) { return type == DTCC_BF16 ? 1.0 / 256 : 1.0 / 2048; }

/// The halves of a box, which is rounded to them.
Halves halvesOf(dtcc_dtype type, Box &box) {
  Halves halves(box.memory.size());
  for (size_t i = 0; i < halves.size(); ++i)
    box.memory[i] = wide(type, halves[i] = narrow(type, box.memory[i]));
  return halves;
}

template <typename Fn> void forBothTypes(Fn fn) {
  for (dtcc_dtype type : {DTCC_BF16, DTCC_F16}) {
    SCOPED_TRACE(type == DTCC_BF16 ? "bf16" : "f16");
    fn(type);
  }
}

TEST(Halves, HaveTheBitsOfTheScalarFormulas) {
  forBothTypes([](dtcc_dtype type) {
    Halves all(65536);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<uint16_t>(i);
    std::mt19937 random(3);
    std::vector<float> floats(70001);
    for (float &value : floats)
      value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    forEachInstructionSet([&](const VectorKernels &kernels) {
      std::vector<float> widened(all.size());
      kernels.widen(type, all.data(), 65536, widened.data());
      for (size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(widened[i]), std::bit_cast<uint32_t>(wide(type, all[i]))) << i;
      Halves narrowed(floats.size() + 1, 0xabcd);
      kernels.narrow(type, floats.data(), static_cast<int64_t>(floats.size()), narrowed.data());
      for (size_t i = 0; i < floats.size(); ++i)
        ASSERT_EQ(narrowed[i], narrow(type, floats[i])) << floats[i];
      EXPECT_EQ(narrowed.back(), 0xabcd);
    });
  });
}

TEST(Halves, MultiplyAsTheirF32) {
  struct Layout {
    std::vector<int> lhs, rhs;
  };
  forBothTypes([](dtcc_dtype type) {
    std::mt19937 random(5);
    for (const Layout &layout :
         {Layout{{0, 1, 2}, {0, 1, 2}}, Layout{{0, 2, 1}, {0, 1, 2}}, Layout{{0, 1, 2}, {0, 2, 1}}})
      for (auto [g, m, n, k] : {std::array{1, 1, 1, 1}, {2, 70, 33, 17}, {1, 40, 130, 300}, {1, 64, 64, 64}})
        for (bool wideOut : {true, false})
          for (bool accumulate : {false, true}) {
            SCOPED_TRACE(testing::Message()
                         << m << "x" << n << "x" << k << " wide " << wideOut << " adds " << accumulate);
            Box lhs({g, m, k}, layout.lhs), rhs({g, k, n}, layout.rhs), out = Box::dense({g, m, n});
            lhs.fillRandom(random), rhs.fillRandom(random), out.fillRandom(random);
            Halves left = halvesOf(type, lhs), right = halvesOf(type, rhs), result = halvesOf(type, out);
            ProductProblem p;
            p.g = g, p.m = m, p.n = n, p.k = k, p.accumulate = accumulate;
            p.type = type, p.outType = wideOut ? DTCC_F32 : type;
            std::copy(lhs.strides.begin(), lhs.strides.end(), p.lhsStrides);
            std::copy(rhs.strides.begin(), rhs.strides.end(), p.rhsStrides);
            std::copy(out.strides.begin(), out.strides.end(), p.outStrides);
            Box before = out;
            p.lhs = left.data(), p.rhs = right.data();
            p.out = wideOut ? static_cast<void *>(out.data()) : result.data();
            ThreadTeam team(2);
            TeamScratch scratch(2);
            Matmul(p, vectorKernels(), scratch).run(team, scratch, p);
            for (int b = 0; b < g; ++b)
              for (int i = 0; i < m; ++i)
                for (int j = 0; j < n; ++j) {
                  double want = accumulate ? before.at(b, i, j) : 0;
                  for (int x = 0; x < k; ++x)
                    want += static_cast<double>(lhs.at(b, i, x)) * rhs.at(b, x, j);
                  size_t at = static_cast<size_t>((b * m + i) * n + j);
                  double got = wideOut ? out.memory[at] : wide(type, result[at]);
                  double slack = (wideOut ? 1e-5 : rounding(type)) * (std::abs(want) + 1) + 1e-5 * std::sqrt(k);
                  ASSERT_NEAR(got, want, slack) << b << " " << i << " " << j;
                }
          }
  });
}

/// A tensor of an attention problem, in halves, and its f32.
struct Both {
  Box box;
  Halves halves;
  Both(dtcc_dtype type, std::vector<int64_t> sizes, std::mt19937 &random) : box(Box::dense(std::move(sizes))) {
    box.fillRandom(random);
    halves = halvesOf(type, box);
  }
  AttentionTensor tensor(bool half) {
    AttentionTensor x;
    x.data = half ? reinterpret_cast<float *>(halves.data()) : box.data();
    std::copy(box.strides.begin(), box.strides.end(), x.strides);
    return x;
  }
};

TEST(Halves, AttendAsTheirF32) {
  forBothTypes([](dtcc_dtype type) {
    std::mt19937 random(7);
    const int64_t b = 2, t = 70, h = 2, g = 3, d = 20, s = 70, e = 24;
    Both q(type, {b, t, h, g, d}, random), k(type, {b, s, h, d}, random), v(type, {b, s, h, e}, random);
    Both out(type, {b, t, h, g, e}, random), dout(type, {b, t, h, g, e}, random);
    Both dq(type, {b, t, h, g, d}, random), dk(type, {b, s, h, d}, random), dv(type, {b, s, h, e}, random);
    Box lse = Box::dense({b, h, g, t}), lseOfHalves = lse;
    ThreadTeam team(2);
    auto run = [&](bool half, Box &rows) {
      AttentionProblem p;
      p.batch = b, p.queries = t, p.keys = s, p.kvHeads = h, p.groups = g, p.qkSize = d, p.vSize = e;
      p.q = q.tensor(half), p.k = k.tensor(half), p.v = v.tensor(half), p.out = out.tensor(half);
      p.dout = dout.tensor(half), p.dq = dq.tensor(half), p.dk = dk.tensor(half), p.dv = dv.tensor(half);
      p.lse.data = rows.data();
      std::copy(rows.strides.begin(), rows.strides.end(), p.lse.strides);
      p.scale = 0.25f, p.causal = true;
      TeamScratch scratch(2);
      scratch.reserve(attentionScratchBytes(d, e) + halfAttentionScratchBytes(p, true));
      if (half) {
        halfAttention(team, vectorKernels(), type, false, p, scratch);
        halfAttentionGrad(team, vectorKernels(), type, false, p, scratch);
      } else {
        attention(team, vectorKernels(), p, scratch);
        attentionGrad(team, vectorKernels(), p, scratch);
      }
    };
    run(false, lse);
    run(true, lseOfHalves);
    auto near = [&](Both &x, const char *name, double slack) {
      for (size_t i = 0; i < x.box.memory.size() - 1; ++i)
        ASSERT_NEAR(wide(type, x.halves[i]), x.box.memory[i], slack * rounding(type) * (1 + std::abs(x.box.memory[i])))
            << name << " " << i;
    };
    near(out, "out", 1);
    // The gradients read the rounded output.
    near(dq, "dq", 8), near(dk, "dk", 8), near(dv, "dv", 8);
    EXPECT_TRUE(lse.sameBits(lseOfHalves));
  });
}

TEST(Halves, AddTableRowsInF32) {
  forBothTypes([](dtcc_dtype type) {
    std::mt19937 random(9);
    Box dout = Box::dense({5, 40});
    dout.fillRandom(random);
    Halves halves = halvesOf(type, dout);
    const int64_t ids[] = {3, 1, 3, 9, 3};
    Box want = Box::dense({4, 40}), got = want;
    want.fill(0.5f), got.fill(0.5f);
    ThreadTeam team(2);
    Integers numbers{ids, 5, 1, true};
    scatterAdd(team, vectorKernels(), Matrix<const float>{dout.data(), 5, 40, 40, 1}, numbers, 0, true, -1,
               {want.data(), 4, 40, 40, 1});
    scatterAdd(team, vectorKernels(), type, Matrix<const uint16_t>{halves.data(), 5, 40, 40, 1}, numbers, 0, true, -1,
               {got.data(), 4, 40, 40, 1});
    EXPECT_TRUE(got.sameBits(want));
  });
}

} // namespace
