//===- OptimizerTest.cpp - Updates and norms against their definitions -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Optimizer.h"
#include "runtime/core/HalfFloat.h"

#include "tests/unit/kernels/Fixture.h"

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

using Floats = std::vector<float>;

Floats randomFloats(size_t n, unsigned seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  Floats x(n);
  for (float &v : x)
    v = normal(random);
  return x;
}

/// Three parameters with gaps, none of whose ends falls on a vector's.
const std::vector<UpdateRange> ranges = {{3, 1000, 0.1, 1.0}, {1000, 1017, 0.0, 0.5}, {1100, 70001, 0.01, 2.0}};
constexpr size_t size = 70020;

/// The range of element i, or null.
const UpdateRange *rangeOf(size_t i) {
  for (const UpdateRange &r : ranges)
    if (static_cast<int64_t>(i) >= r.begin && static_cast<int64_t>(i) < r.end)
      return &r;
  return nullptr;
}

TEST(Adam, MatchesTorchOverSeveralSteps) {
  for (bool decoupled : {true, false})
    for (bool biasCorrection : {true, false})
      forEachInstructionSet([&](const VectorKernels &kernels) {
        AdamOptions options;
        options.beta1 = 0.9, options.beta2 = 0.95, options.eps = 1e-8;
        options.decay = decoupled ? AdamDecay::Before : AdamDecay::Gradient;
        options.correction = biasCorrection ? AdamCorrection::BeforeEps : AdamCorrection::None;
        Floats p = randomFloats(size, 1), m(size, 0), v(size, 0);
        std::vector<double> wp(p.begin(), p.end()), wm(size, 0), wv(size, 0);
        ThreadTeam team(2);
        const double lr = 3e-3, scale = 0.25;
        for (int64_t step = 1; step <= 4; ++step) {
          Floats grad = randomFloats(size, static_cast<unsigned>(step) + 10);
          adamUpdate(team, kernels, ranges, options, static_cast<float>(scale), lr, step, grad.data(), p.data(),
                     m.data(), v.data());
          for (size_t i = 0; i < size; ++i) {
            const UpdateRange *r = rangeOf(i);
            if (!r)
              continue;
            double g = grad[i] * scale, rate = lr * r->lrScale;
            if (decoupled)
              wp[i] *= 1 - rate * r->decay;
            else
              g += r->decay * wp[i];
            wm[i] = options.beta1 * wm[i] + (1 - options.beta1) * g;
            wv[i] = options.beta2 * wv[i] + (1 - options.beta2) * g * g;
            double mhat = wm[i], vhat = wv[i];
            if (biasCorrection) {
              mhat /= 1 - std::pow(options.beta1, static_cast<double>(step));
              vhat /= 1 - std::pow(options.beta2, static_cast<double>(step));
            }
            wp[i] -= rate * mhat / (std::sqrt(vhat) + options.eps);
          }
        }
        for (size_t i = 0; i < size; ++i) {
          ASSERT_NEAR(p[i], wp[i], 2e-6 * (1 + std::abs(wp[i]))) << i;
          ASSERT_NEAR(m[i], wm[i], 1e-6) << i;
          ASSERT_NEAR(v[i], wv[i], 1e-6) << i;
        }
      });
}

/// The operator Adam of ONNX, with its count T from 0, and ONNX Runtime's AdamWOptimizer of adam_mode 1: as their
/// definitions are written.
TEST(Adam, MatchesOnnxAndItsRuntime) {
  for (bool runtime : {false, true})
    forEachInstructionSet([&](const VectorKernels &kernels) {
      AdamOptions options;
      options.beta1 = 0.8, options.beta2 = 0.95, options.eps = 1e-2;
      options.correction = AdamCorrection::BehindEps;
      if (runtime)
        options.decay = AdamDecay::Behind, options.start = 2;
      else
        options.decay = AdamDecay::Gradient, options.start = -1, options.postDecay = 1e-2;
      Floats p = randomFloats(size, 1), m = randomFloats(size, 2), v(size, 0.1f);
      std::vector<double> wp(p.begin(), p.end()), wm(m.begin(), m.end()), wv(v.begin(), v.end());
      ThreadTeam team(2);
      const double lr = 3e-2;
      for (int64_t step = 1; step <= 4; ++step) {
        Floats grad = randomFloats(size, static_cast<unsigned>(step) + 10);
        adamUpdate(team, kernels, ranges, options, 1.0f, lr, step, grad.data(), p.data(), m.data(), v.data());
        for (size_t i = 0; i < size; ++i) {
          const UpdateRange *r = rangeOf(i);
          if (!r)
            continue;
          double rate = lr * r->lrScale, count = static_cast<double>(runtime ? step + 2 : step - 1);
          double g = grad[i] + (runtime ? 0 : r->decay * wp[i]);
          wm[i] = 0.8 * wm[i] + (1 - 0.8) * g;
          wv[i] = 0.95 * wv[i] + (1 - 0.95) * g * g;
          double corrected =
              count > 0 ? rate * std::sqrt(1 - std::pow(0.95, count)) / (1 - std::pow(0.8, count)) : rate;
          wp[i] -= corrected * wm[i] / (std::sqrt(wv[i]) + 1e-2);
          wp[i] *= runtime ? 1 - rate * r->decay : 1 - 1e-2;
        }
      }
      for (size_t i = 0; i < size; ++i) {
        ASSERT_NEAR(p[i], wp[i], 4e-6 * (1 + std::abs(wp[i]))) << i;
        ASSERT_NEAR(m[i], wm[i], 2e-6) << i;
        ASSERT_NEAR(v[i], wv[i], 1e-6 * (1 + wv[i])) << i;
      }
    });
}

TEST(Adagrad, MatchesTorchOverSeveralSteps) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    const AdagradOptions options{0.5, 1e-3, 2};
    Floats p = randomFloats(size, 1), sum(size, 0.1f);
    std::vector<double> wp(p.begin(), p.end()), ws(sum.begin(), sum.end());
    ThreadTeam team(2);
    const double lr = 0.1;
    for (int64_t step = 1; step <= 3; ++step) {
      Floats grad = randomFloats(size, static_cast<unsigned>(step) + 20);
      adagradUpdate(team, kernels, ranges, options, 0.5f, lr, step, grad.data(), p.data(), sum.data());
      for (size_t i = 0; i < size; ++i)
        if (const UpdateRange *r = rangeOf(i)) {
          double g = grad[i] * 0.5 + r->decay * wp[i];
          ws[i] += g * g;
          double rate = lr * r->lrScale / (1 + static_cast<double>(step + 1) * 0.5);
          wp[i] -= rate * g / (std::sqrt(ws[i]) + 1e-3);
        }
    }
    for (size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(p[i], wp[i], 2e-6 * (1 + std::abs(wp[i]))) << i;
      ASSERT_NEAR(sum[i], ws[i], 2e-6 * (1 + ws[i])) << i;
    }
  });
}

TEST(Sgd, MatchesTorchOverSeveralSteps) {
  struct {
    double momentum, dampening;
    bool nesterov;
    int64_t start = 0;
  } variants[] = {{0, 0, false}, {0.9, 0, false}, {0.9, 0.3, false}, {0.9, 0, true}, {0.9, 0.3, true, 1}};
  for (auto variant : variants)
    forEachInstructionSet([&](const VectorKernels &kernels) {
      SgdOptions options{variant.momentum, variant.dampening, variant.nesterov, variant.start};
      Floats p = randomFloats(size, 1), buffer(size, 0);
      std::vector<double> wp(p.begin(), p.end()), wb(size, 0);
      ThreadTeam team(2);
      const double lr = 0.1;
      for (int64_t step = 1; step <= 3; ++step) {
        Floats grad = randomFloats(size, static_cast<unsigned>(step) + 20);
        sgdUpdate(team, kernels, ranges, options, 0.5f, lr, step, grad.data(), p.data(),
                  variant.momentum != 0 ? buffer.data() : nullptr);
        for (size_t i = 0; i < size; ++i) {
          const UpdateRange *r = rangeOf(i);
          if (!r)
            continue;
          double g = grad[i] * 0.5 + r->decay * wp[i];
          if (variant.momentum != 0) {
            wb[i] = variant.momentum * wb[i] + (step + variant.start <= 1 ? 1 : 1 - variant.dampening) * g;
            g = variant.nesterov ? g + variant.momentum * wb[i] : wb[i];
          }
          wp[i] -= lr * r->lrScale * g;
        }
      }
      for (size_t i = 0; i < size; ++i)
        ASSERT_NEAR(p[i], wp[i], 2e-6 * (1 + std::abs(wp[i]))) << i;
    });
}

TEST(Updates, GiveTheSameBitsOnAnyNumberOfThreads) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    Floats first;
    for (int threads : {1, 2, 3}) {
      ThreadTeam team(threads);
      Floats grad = randomFloats(size, 5), p = randomFloats(size, 6), m(size, 0.5f), v(size, 0.25f);
      adamUpdate(team, kernels, ranges, {}, 0.3f, 1e-2, 5, grad.data(), p.data(), m.data(), v.data());
      sgdUpdate(team, kernels, ranges, {0.9, 0.1, true, 0}, 0.3f, 1e-2, 5, grad.data(), p.data(), m.data());
      if (threads == 1)
        first = p;
      EXPECT_EQ(first, p);
    }
  });
}

/// One pass writes p and its copy: what p then holds, rounded, in the ranges alone; and p is what it is without one.
TEST(Updates, WriteTheCopyInTheNarrowType) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    for (dtcc_dtype half : {DTCC_BF16, DTCC_F16})
      for (int rule = 0; rule < 4; ++rule) {
        ThreadTeam team(2);
        Floats grad = randomFloats(size, 5), p = randomFloats(size, 6), m(size, 0.5f), v(size, 0.25f);
        Floats plain = p, plainM = m, plainV = v;
        constexpr uint16_t untouched = 0x1234;
        std::vector<uint16_t> copy(size, untouched);
        auto update = [&](Floats &to, Floats &first, Floats &second, HalfCopy where) {
          if (rule == 0)
            adamUpdate(team, kernels, ranges, {}, 0.3f, 1e-2, 5, grad.data(), to.data(), first.data(), second.data(),
                       where);
          else if (rule == 1)
            sgdUpdate(team, kernels, ranges, {0.9, 0.1, true, 0}, 0.3f, 1e-2, 5, grad.data(), to.data(), first.data(),
                      where);
          else if (rule == 2)
            adagradUpdate(team, kernels, ranges, {}, 0.3f, 1e-2, 5, grad.data(), to.data(), first.data(), where);
          else
            lionUpdate(team, kernels, ranges, {}, 0.3f, 1e-2, grad.data(), to.data(), first.data(), where);
        };
        update(p, m, v, {half, copy.data()});
        update(plain, plainM, plainV, {});
        ASSERT_EQ(p, plain);
        for (size_t i = 0; i < size; ++i)
          ASSERT_EQ(copy[i], !rangeOf(i) ? untouched : half == DTCC_BF16 ? toBF16(p[i]) : toF16(p[i])) << i;
      }
  });
}

/// Gradients in halves update as the f32 that they stand for, bit for bit.
TEST(Updates, WidenHalfGradients) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    for (dtcc_dtype half : {DTCC_BF16, DTCC_F16})
      for (int rule = 0; rule < 4; ++rule) {
        ThreadTeam team(2);
        Floats wide = randomFloats(size, 5);
        std::vector<uint16_t> halves(size);
        for (size_t i = 0; i < size; ++i) {
          halves[i] = half == DTCC_BF16 ? toBF16(wide[i]) : toF16(wide[i]);
          wide[i] = half == DTCC_BF16 ? fromBF16(halves[i]) : fromF16(halves[i]);
        }
        auto update = [&](GradientCells grad) {
          Floats p = randomFloats(size, 6), m(size, 0.5f), v(size, 0.25f);
          if (rule == 0)
            adamUpdate(team, kernels, ranges, {}, 0.3f, 1e-2, 5, grad, p.data(), m.data(), v.data());
          else if (rule == 1)
            sgdUpdate(team, kernels, ranges, {0.9, 0.1, true, 0}, 0.3f, 1e-2, 5, grad, p.data(), m.data());
          else if (rule == 2)
            adagradUpdate(team, kernels, ranges, {}, 0.3f, 1e-2, 5, grad, p.data(), m.data());
          else
            lionUpdate(team, kernels, ranges, {}, 0.3f, 1e-2, grad, p.data(), m.data());
          p.insert(p.end(), m.begin(), m.end());
          return p;
        };
        ASSERT_EQ(update({halves.data(), half}), update(wide.data())) << rule;
      }
  });
}

TEST(SumSquares, OfHalves) {
  Floats x = randomFloats(100003, 9);
  std::vector<uint16_t> halves;
  long double want = 0;
  for (float value : x) {
    halves.push_back(toBF16(value));
    want += static_cast<long double>(fromBF16(halves.back())) * fromBF16(halves.back());
  }
  forEachInstructionSet([&](const VectorKernels &kernels) {
    std::vector<double> partial(sumSquaresBlocks);
    for (int threads : {1, 3}) {
      ThreadTeam team(threads);
      double sum = sumSquares(team, kernels, {halves.data(), DTCC_BF16}, static_cast<int64_t>(x.size()), partial);
      EXPECT_NEAR(sum, static_cast<double>(want), 1e-13 * static_cast<double>(want));
    }
  });
}

TEST(SumSquares, IsExactAndIndependentOfTheThreads) {
  for (size_t n : {size_t(0), size_t(1), size_t(31), size_t(8192), size_t(100003), size_t(9000001)}) {
    Floats x = randomFloats(n, 9, 1e-3f);
    long double want = 0;
    for (float value : x)
      want += static_cast<long double>(value) * value;
    forEachInstructionSet([&](const VectorKernels &kernels) {
      std::vector<double> partial(sumSquaresBlocks);
      double first = 0;
      for (int threads : {1, 2, 3}) {
        ThreadTeam team(threads);
        double sum = sumSquares(team, kernels, x.data(), static_cast<int64_t>(n), partial);
        EXPECT_NEAR(sum, static_cast<double>(want), 1e-13 * static_cast<double>(want));
        if (threads == 1)
          first = sum;
        EXPECT_EQ(first, sum);
      }
    });
  }
}

TEST(GradScale, ClipsTheMeanGradient) {
  GradScale off = gradScale(400, 10, 0);
  EXPECT_FLOAT_EQ(off.norm, 2);
  EXPECT_FLOAT_EQ(off.scale, 0.1f);
  GradScale clipped = gradScale(400, 10, 1);
  EXPECT_FLOAT_EQ(clipped.norm, 2);
  EXPECT_FLOAT_EQ(clipped.scale, static_cast<float>(0.1 / (2 + 1e-6)));
  EXPECT_FLOAT_EQ(gradScale(400, 10, 5).scale, 0.1f);
}

TEST(GradScale, IsNoUpdateWithoutAMeanGradient) {
  GradScale nothing = gradScale(0, 0, 1);
  EXPECT_EQ(nothing.norm, 0);
  EXPECT_TRUE(std::isnan(nothing.scale));
  for (double squares : {double(INFINITY), double(NAN)})
    for (double clip : {0.0, 1.0}) {
      GradScale bad = gradScale(squares, 10, clip);
      EXPECT_FALSE(std::isfinite(bad.norm));
      EXPECT_TRUE(std::isnan(bad.scale));
    }
  EXPECT_TRUE(std::isnan(gradUnscale(NAN, 10, 1, 2).scale.scale));
}

TEST(Updates, LeaveEverythingByNoUpdate) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    const Floats start = randomFloats(size, 1), grad(size, NAN);
    Floats p = start, m = start, v = start;
    ThreadTeam team(2);
    adamUpdate(team, kernels, ranges, {}, noUpdate, 1e-3, 1, grad.data(), p.data(), m.data(), v.data());
    sgdUpdate(team, kernels, ranges, {0.9}, noUpdate, 1e-3, 1, grad.data(), p.data(), m.data());
    adagradUpdate(team, kernels, ranges, {}, noUpdate, 1e-3, 1, grad.data(), p.data(), m.data());
    lionUpdate(team, kernels, ranges, {}, noUpdate, 1e-3, grad.data(), p.data(), m.data());
    EXPECT_EQ(p, start);
    EXPECT_EQ(m, start);
    EXPECT_EQ(v, start);
  });
}

TEST(Lion, MatchesTheAlgorithmOverSeveralSteps) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    Floats p = randomFloats(size, 1), m(size, 0);
    std::vector<double> wp(p.begin(), p.end()), wm(size, 0);
    ThreadTeam team(2);
    const LionOptions options{0.9, 0.98};
    const double lr = 3e-3, scale = 0.25;
    for (unsigned step = 1; step <= 4; ++step) {
      Floats grad = randomFloats(size, step + 10);
      grad[500] = 0; // the sign of nothing
      lionUpdate(team, kernels, ranges, options, static_cast<float>(scale), lr, grad.data(), p.data(), m.data());
      for (size_t i = 0; i < size; ++i)
        if (const UpdateRange *r = rangeOf(i)) {
          double g = grad[i] * scale, rate = lr * r->lrScale, mixed = options.beta1 * wm[i] + (1 - options.beta1) * g;
          // A value this small may have either sign in f32, so the test accepts the sign that the kernel chose.
          double sign = std::abs(mixed) < 1e-8 ? (wp[i] * (1 - rate * r->decay) - p[i]) / rate : mixed > 0 ? 1 : -1;
          wp[i] = wp[i] * (1 - rate * r->decay) - rate * sign;
          wm[i] = options.beta2 * wm[i] + (1 - options.beta2) * g;
        }
    }
    for (size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(p[i], wp[i], 2e-6 * (1 + std::abs(wp[i]))) << i;
      ASSERT_NEAR(m[i], wm[i], 1e-6) << i;
    }
    EXPECT_EQ(p[0], randomFloats(size, 1)[0]); // in no range
  });
}

TEST(GradUnscale, TakesTheScaleOutAndSeesWhatIsNotFinite) {
  GradUnscale half = gradUnscale(400.0 * 4, 10, 1, 2);
  EXPECT_TRUE(half.finite);
  EXPECT_FLOAT_EQ(half.scale.norm, 2);
  EXPECT_FLOAT_EQ(half.scale.scale, static_cast<float>(0.05 / (2 + 1e-6)));
  EXPECT_FALSE(gradUnscale(INFINITY, 10, 0, 2).finite);
  EXPECT_FALSE(gradUnscale(NAN, 10, 0, 2).finite);
}

TEST(LossScale, BacksOffAndGrowsAsTorch) {
  LossScale state{65536, 0, 0};
  adjustLossScale(state, false, 2, 0.5, 3);
  EXPECT_EQ(state.scale, 32768);
  EXPECT_EQ(state.skipped, 1);
  for (bool finite : {true, true, false, true, true})
    adjustLossScale(state, finite, 2, 0.5, 3);
  EXPECT_EQ(state.scale, 16384); // three in a row, never
  EXPECT_EQ(state.streak, 2);
  adjustLossScale(state, true, 2, 0.5, 3);
  EXPECT_EQ(state.scale, 32768);
  EXPECT_EQ(state.streak, 0);
  EXPECT_EQ(state.skipped, 2);
  LossScale top{3e38f, 2, 0};
  adjustLossScale(top, true, 2, 0.5, 3);
  EXPECT_EQ(top.scale, 3e38f);
}

} // namespace
