//===- AttentionTest.cpp - Tiled attention against its definition -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Attention.h"

#include "tests/unit/kernels/Fixture.h"

#include <algorithm>
#include <limits>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

struct Case {
  const char *name;
  int64_t b = 1, t = 1, s = 1, h = 1, g = 1, d = 1, e = 1;
  bool causal = false;
  int64_t first = 0, offset = 0, left = -1, right = -1;
  float softcap = 0;
  int keyMask = 0; // 0 none; 1 random; 2 also one sample with no key
  EmptyRow empty = EmptyRow::Uniform;
  int segments = 0; // runs of equal numbers
  /// 0: q, k, v are views of one packed [b, t, 3, h, d] tensor (needs t = s, g = 1, d = e);
  /// 1: dense; 2: heads outermost with gaps; 3: sizes innermost strided
  int layout = 1;
};

std::vector<int> orderOf(size_t rank, int layout) {
  if (layout == 2)
    return rank == 5 ? std::vector<int>{0, 2, 3, 1, 4} : std::vector<int>{0, 2, 1, 3};
  if (layout == 3)
    return rank == 5 ? std::vector<int>{4, 0, 2, 1, 3} : std::vector<int>{3, 2, 0, 1};
  return rank == 5 ? std::vector<int>{0, 1, 2, 3, 4} : std::vector<int>{0, 1, 2, 3};
}

Box boxOf(std::vector<int64_t> sizes, int layout) {
  std::vector<int> order = orderOf(sizes.size(), layout);
  return Box(std::move(sizes), order, layout == 2 ? 3 : 0);
}

AttentionTensor view(Box &box) {
  AttentionTensor tensor;
  tensor.data = box.data();
  for (size_t i = 0; i < box.strides.size(); ++i)
    tensor.strides[i] = box.sizes[i] == 1 ? 0 : box.strides[i];
  return tensor;
}

/// Inputs, outputs and the definition's answers of one case.
struct Trial {
  Case c;
  Box q, k, v, dout, out, dq, dk, dv, lse;
  std::vector<uint8_t> mask;
  std::vector<int64_t> rowSegments, keySegments;
  AttentionProblem p;
  std::vector<double> wantOut, wantLse, wantDq, wantDk, wantDv;

  explicit Trial(const Case &c) : c(c) {
    std::mt19937 random(static_cast<unsigned>(c.t * 31 + c.s * 7 + c.d));
    q = boxOf({c.b, c.t, c.h, c.g, c.d}, c.layout);
    k = boxOf({c.b, c.s, c.h, c.d}, c.layout);
    v = boxOf({c.b, c.s, c.h, c.e}, c.layout);
    dout = boxOf({c.b, c.t, c.h, c.g, c.e}, c.layout);
    out = boxOf({c.b, c.t, c.h, c.g, c.e}, c.layout);
    dq = boxOf({c.b, c.t, c.h, c.g, c.d}, c.layout);
    dk = boxOf({c.b, c.s, c.h, c.d}, c.layout);
    dv = boxOf({c.b, c.s, c.h, c.e}, c.layout);
    lse = Box::dense({c.b, c.h, c.g, c.t});
    for (Box *box : {&q, &k, &v, &dout})
      box->fillRandom(random);
    mask.assign(static_cast<size_t>(c.b * c.s), 1);
    if (c.keyMask)
      for (uint8_t &m : mask)
        m = random() % 3 != 0;
    if (c.keyMask == 2)
      std::fill(mask.begin(), mask.begin() + c.s, 0);
    // Numbers of the second sample differ in their upper halves alone.
    auto numbersOf = [&](int64_t rows) {
      std::vector<int64_t> numbers;
      for (int64_t i = 0; i < c.b * rows; ++i)
        numbers.push_back((i % rows * c.segments / rows - 1) * (i / rows == 1 ? int64_t{1} << 32 : 1));
      return numbers;
    };
    rowSegments = numbersOf(c.t), keySegments = numbersOf(c.s);
    p.batch = c.b, p.queries = c.t, p.keys = c.s, p.kvHeads = c.h, p.groups = c.g, p.qkSize = c.d, p.vSize = c.e;
    p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.d)));
    p.softcap = c.softcap, p.causal = c.causal, p.firstQuery = c.first, p.causalOffset = c.offset;
    p.windowLeft = c.left, p.windowRight = c.right, p.emptyRow = c.empty;
    if (c.keyMask)
      p.keyMask = mask.data(), p.keyMaskStrides[0] = c.s, p.keyMaskStrides[1] = 1;
    if (c.segments)
      p.segments = {rowSegments.data(), keySegments.data(), {c.t, 1}, {c.s, 1}};
    define();
    attach();
  }

  /// Points the problem at this trial's own boxes.
  void attach() {
    p.q = view(q), p.k = view(k), p.v = view(v), p.dout = view(dout), p.out = view(out);
    p.dq = view(dq), p.dk = view(dk), p.dv = view(dv), p.lse = view(lse);
    if (p.keyMask)
      p.keyMask = mask.data();
    if (p.segments.rows)
      p.segments.rows = rowSegments.data(), p.segments.keys = keySegments.data();
  }

  bool allowed(int64_t b, int64_t row, int64_t j) const {
    int64_t i = row + c.first;
    return (!c.causal || j <= i + c.offset) && (c.left < 0 || i - j < c.left) && (c.right < 0 || j - i <= c.right) &&
           mask[static_cast<size_t>(b * c.s + j)] &&
           rowSegments[static_cast<size_t>(b * c.t + row)] == keySegments[static_cast<size_t>(b * c.s + j)];
  }

  /// The definition in f64, one query at a time.
  void define() {
    auto at = [](int64_t a, int64_t n, int64_t x) { return static_cast<size_t>(a * n + x); };
    wantOut.assign(static_cast<size_t>(c.b * c.t * c.h * c.g * c.e), 0);
    wantDq.assign(static_cast<size_t>(c.b * c.t * c.h * c.g * c.d), 0);
    wantLse.assign(static_cast<size_t>(c.b * c.h * c.g * c.t), 0);
    wantDk.assign(static_cast<size_t>(c.b * c.s * c.h * c.d), 0);
    wantDv.assign(static_cast<size_t>(c.b * c.s * c.h * c.e), 0);
    const double nan = std::nan("");
    for (int64_t b = 0; b < c.b; ++b)
      for (int64_t h = 0; h < c.h; ++h)
        for (int64_t g = 0; g < c.g; ++g)
          for (int64_t i = 0; i < c.t; ++i) {
            size_t row = static_cast<size_t>(((b * c.t + i) * c.h + h) * c.g + g);
            std::vector<double> score(static_cast<size_t>(c.s)), weight(static_cast<size_t>(c.s), 0);
            double largest = -std::numeric_limits<double>::infinity(), sum = 0;
            for (int64_t j = 0; j < c.s; ++j) {
              double dot = 0;
              for (int64_t x = 0; x < c.d; ++x)
                dot += static_cast<double>(q.at(b, i, h, g, x)) * k.at(b, j, h, x);
              dot *= p.scale;
              score[static_cast<size_t>(j)] = c.softcap > 0 ? c.softcap * std::tanh(dot / c.softcap) : dot;
              if (allowed(b, i, j))
                largest = std::max(largest, score[static_cast<size_t>(j)]);
            }
            for (int64_t j = 0; j < c.s; ++j)
              if (allowed(b, i, j))
                sum += weight[static_cast<size_t>(j)] = std::exp(score[static_cast<size_t>(j)] - largest);
            bool none = sum == 0;
            for (double &w : weight)
              w = !none                          ? w / sum
                  : c.empty == EmptyRow::Uniform ? 1.0 / static_cast<double>(c.s)
                  : c.empty == EmptyRow::Zero    ? 0
                                                 : nan;
            wantLse[at((b * c.h + h) * c.g + g, c.t, i)] =
                none ? std::numeric_limits<double>::infinity() : largest + std::log(sum);
            double dot = 0; // of out and dout
            for (int64_t x = 0; x < c.e; ++x) {
              double o = 0;
              for (int64_t j = 0; j < c.s; ++j)
                o += weight[static_cast<size_t>(j)] * v.at(b, j, h, x);
              wantOut[row * static_cast<size_t>(c.e) + static_cast<size_t>(x)] = o;
              dot += o * dout.at(b, i, h, g, x);
            }
            for (int64_t j = 0; j < c.s; ++j) {
              double w = weight[static_cast<size_t>(j)], grad = 0;
              for (int64_t x = 0; x < c.e; ++x) {
                wantDv[at((b * c.s + j) * c.h + h, c.e, x)] += w * dout.at(b, i, h, g, x);
                grad += static_cast<double>(dout.at(b, i, h, g, x)) * v.at(b, j, h, x);
              }
              double ds = none && c.empty != EmptyRow::NaN ? 0 : w * (grad - dot) * p.scale;
              if (c.softcap > 0)
                ds *= 1 - std::pow(score[static_cast<size_t>(j)] / c.softcap, 2);
              for (int64_t x = 0; x < c.d; ++x) {
                wantDq[row * static_cast<size_t>(c.d) + static_cast<size_t>(x)] += ds * k.at(b, j, h, x);
                wantDk[at((b * c.s + j) * c.h + h, c.d, x)] += ds * q.at(b, i, h, g, x);
              }
            }
          }
  }

  void run(const VectorKernels &kernels, int threads) {
    for (Box *box : {&out, &dq, &dk, &dv, &lse})
      box->fill(Box::guard);
    ThreadTeam team(threads);
    TeamScratch scratch(threads);
    scratch.reserve(attentionScratchBytes(c.d, c.e));
    attention(team, kernels, p, scratch);
    attentionGrad(team, kernels, p, scratch);
  }

  /// Compares in row-major order, relative to the largest value that is meant or, as inputs are, 1.
  static void expectNear(const Box &box, const std::vector<double> &want, const char *what) {
    double size = 1;
    for (double w : want)
      if (std::isfinite(w))
        size = std::max(size, std::abs(w));
    size_t i = 0, wrong = 0;
    box.forEach([&](size_t offset) {
      double got = box.memory[offset], w = want[i];
      bool same = std::isnan(w) ? std::isnan(got) : std::isinf(w) ? got == w : std::abs(got - w) <= 2e-6 * size;
      if (!same && wrong++ < 3)
        ADD_FAILURE() << what << " element " << i << ": " << got << " instead of " << w;
      ++i;
    });
    EXPECT_EQ(i, want.size());
    EXPECT_TRUE(box.guarded()) << what << " was written outside its elements";
  }
  void check() const {
    expectNear(out, wantOut, "out");
    expectNear(lse, wantLse, "lse");
    expectNear(dq, wantDq, "dq");
    expectNear(dk, wantDk, "dk");
    expectNear(dv, wantDv, "dv");
  }
};

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](const char *name, auto change) {
    Case c;
    c.name = name;
    change(c);
    list.push_back(c);
  };
  add("one element", [](Case &) {});
  add("plain", [](Case &c) { c.b = 2, c.t = 70, c.s = 70, c.h = 2, c.d = c.e = 64; });
  add("causal", [](Case &c) { c.t = c.s = 200, c.h = 2, c.d = c.e = 64, c.causal = true; });
  add("small heads", [](Case &c) { c.t = c.s = 33, c.h = 3, c.d = c.e = 8, c.causal = true; });
  add("large heads", [](Case &c) { c.t = c.s = 40, c.d = c.e = 128, c.causal = true; });
  add("odd sizes", [](Case &c) { c.b = 2, c.t = 37, c.s = 91, c.h = 1, c.d = 19, c.e = 23; });
  add("one query", [](Case &c) { c.t = 1, c.s = 130, c.h = 2, c.d = c.e = 64, c.causal = true, c.offset = 129; });
  add("one key", [](Case &c) { c.t = 70, c.s = 1, c.d = 5, c.e = 7; });
  add("grouped", [](Case &c) { c.b = 2, c.t = c.s = 67, c.h = 2, c.g = 3, c.d = c.e = 16, c.causal = true; });
  add("window", [](Case &c) { c.t = c.s = 210, c.d = c.e = 32, c.left = 20, c.right = 5; });
  add("causal window", [](Case &c) { c.t = c.s = 210, c.d = c.e = 32, c.causal = true, c.left = 64; });
  add("offset", [](Case &c) { c.t = 50, c.s = 120, c.d = c.e = 32, c.causal = true, c.offset = 70; });
  add("part of the queries",
      [](Case &c) { c.t = 50, c.s = 150, c.d = c.e = 32, c.causal = true, c.first = 50, c.left = 64, c.right = 40; });
  add("soft cap", [](Case &c) { c.t = c.s = 80, c.d = c.e = 32, c.causal = true, c.softcap = 1.5f; });
  add("key mask", [](Case &c) { c.b = 3, c.t = c.s = 90, c.h = 2, c.d = c.e = 16, c.keyMask = 1; });
  add("segments", [](Case &c) { c.b = 2, c.t = c.s = 200, c.h = 2, c.d = c.e = 16, c.causal = true, c.segments = 5; });
  add("one segment", [](Case &c) { c.t = c.s = 150, c.d = c.e = 16, c.segments = 1; });
  add("segments, key mask and cap", [](Case &c) {
    c.b = 2, c.t = 90, c.s = 140, c.g = 2, c.d = c.e = 12, c.keyMask = 1, c.softcap = 2, c.segments = 3, c.left = 30;
  });
  for (EmptyRow empty : {EmptyRow::Uniform, EmptyRow::Zero, EmptyRow::NaN}) {
    add("empty rows by offset", [&](Case &c) {
      c.t = 100, c.s = 80, c.h = 2, c.d = c.e = 16, c.causal = true, c.offset = -30, c.empty = empty;
    });
    add("empty rows by key mask", [&](Case &c) {
      c.b = 2, c.t = 70, c.s = 40, c.g = 2, c.d = c.e = 12, c.keyMask = 2, c.softcap = 2, c.empty = empty;
    });
  }
  for (int layout : {2, 3})
    for (int64_t d : {16, 21})
      add("strides",
          [&](Case &c) { c.b = 2, c.t = c.s = 70, c.h = 2, c.d = c.e = d, c.causal = true, c.layout = layout; });
  return list;
}

TEST(Attention, MatchesItsDefinition) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Trial trial(c);
    forEachInstructionSet([&](const VectorKernels &kernels) {
      trial.run(kernels, 2);
      trial.check();
    });
  }
}

/// The keys of `p` from `first` on, after those before them.
AttentionProblem partOf(const AttentionProblem &p, int64_t first, int64_t count, int64_t before) {
  AttentionProblem part = p;
  part.keys = count, part.firstQuery = p.firstQuery - first;
  for (AttentionTensor *tensor : {&part.k, &part.v, &part.dk, &part.dv})
    tensor->data += first * tensor->strides[1];
  if (part.keyMask)
    part.keyMask += first;
  if (part.segments.keys)
    part.segments.keys += first;
  part.keysBefore = before, part.keysElsewhere = p.keys - count;
  return part;
}

// In any order, of any length: 64 keys and more are whole blocks.
TEST(Attention, IsTheSumOfItsParts) {
  for (const Case &c : cases())
    for (bool backwards : {false, true}) {
      SCOPED_TRACE(c.name);
      std::vector<std::pair<int64_t, int64_t>> parts;
      for (int64_t first = 0, count = 1; first < c.s; first += count, count = count * 3 + 1)
        parts.push_back({first, std::min(count, c.s - first)});
      if (backwards)
        std::reverse(parts.begin(), parts.end());
      Trial trial(c);
      forEachInstructionSet([&](const VectorKernels &kernels) {
        for (Box *box : {&trial.out, &trial.lse})
          box->fill(Box::guard);
        for (Box *box : {&trial.dq, &trial.dk, &trial.dv})
          box->forEach([&](size_t offset) { box->memory[offset] = 0; });
        ThreadTeam team(2);
        TeamScratch scratch(2);
        scratch.reserve(attentionScratchBytes(c.d, c.e));
        int64_t before = 0;
        for (auto [first, count] : parts) {
          AttentionProblem part = partOf(trial.p, first, count, before);
          part.continues = before > 0;
          attention(team, kernels, part, scratch);
          before += count;
        }
        for (auto [first, count] : parts) {
          AttentionProblem part = partOf(trial.p, first, count, 0);
          part.continues = true;
          attentionGrad(team, kernels, part, scratch);
        }
        trial.check();
      });
    }
}

TEST(Attention, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Trial one(c), more(c);
    one.run(vectorKernels(), 1);
    // With 7 threads few heads are cut into blocks of keys and of queries.
    for (int threads : {2, 3, 7}) {
      more.run(vectorKernels(), threads);
      EXPECT_TRUE(one.out.sameBits(more.out));
      EXPECT_TRUE(one.dq.sameBits(more.dq));
      EXPECT_TRUE(one.dk.sameBits(more.dk));
      EXPECT_TRUE(one.dv.sameBits(more.dv));
    }
  }
}

TEST(Attention, ReadsAndWritesViewsOfAPackedProjection) {
  const int64_t b = 2, t = 75, h = 3, d = 32;
  Case c{"packed"};
  c.b = b, c.t = c.s = t, c.h = h, c.d = c.e = d, c.causal = true;
  Trial dense(c), packed(c);
  dense.run(vectorKernels(), 1);
  // [b, t, 3, h, d]: the three parts as views, and the gradients alike.
  Box qkv = Box::dense({b, t, 3, h, d}), grads = Box::dense({b, t, 3, h, d});
  for (int64_t i = 0; i < b * t; ++i)
    for (int64_t x = 0; x < h * d; ++x) {
      qkv.at(i / t, i % t, 0, x / d, x % d) = dense.q.at(i / t, i % t, x / d, 0, x % d);
      qkv.at(i / t, i % t, 1, x / d, x % d) = dense.k.at(i / t, i % t, x / d, x % d);
      qkv.at(i / t, i % t, 2, x / d, x % d) = dense.v.at(i / t, i % t, x / d, x % d);
    }
  auto part = [&](Box &box, int64_t which, bool query) {
    AttentionTensor tensor;
    tensor.data = box.data() + which * h * d;
    int64_t q[] = {t * 3 * h * d, 3 * h * d, d, 0, 1}, kv[] = {t * 3 * h * d, 3 * h * d, d, 1, 0};
    std::copy_n(query ? q : kv, 5, tensor.strides);
    return tensor;
  };
  packed.p.q = part(qkv, 0, true), packed.p.k = part(qkv, 1, false), packed.p.v = part(qkv, 2, false);
  packed.p.dq = part(grads, 0, true), packed.p.dk = part(grads, 1, false), packed.p.dv = part(grads, 2, false);
  packed.run(vectorKernels(), 2);
  EXPECT_TRUE(dense.out.sameBits(packed.out));
  for (int64_t i = 0; i < b * t; ++i)
    for (int64_t x = 0; x < h * d; ++x) {
      ASSERT_EQ(grads.at(i / t, i % t, 0, x / d, x % d), dense.dq.at(i / t, i % t, x / d, 0, x % d));
      ASSERT_EQ(grads.at(i / t, i % t, 1, x / d, x % d), dense.dk.at(i / t, i % t, x / d, x % d));
      ASSERT_EQ(grads.at(i / t, i % t, 2, x / d, x % d), dense.dv.at(i / t, i % t, x / d, x % d));
    }
}

TEST(Attention, SurvivesLargeScores) {
  Case c{"large"};
  c.t = c.s = 70, c.d = c.e = 16, c.causal = true;
  Trial trial(c);
  for (Box *box : {&trial.q, &trial.k})
    box->forEach([&](size_t offset) { box->memory[offset] *= 30; });
  trial.define();
  trial.run(vectorKernels(), 1);
  trial.out.forEach([&](size_t offset) { EXPECT_TRUE(std::isfinite(trial.out.memory[offset])); });
  Trial::expectNear(trial.lse, trial.wantLse, "lse");
}

} // namespace
