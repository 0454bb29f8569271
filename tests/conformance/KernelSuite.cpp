//===- KernelSuite.cpp - Every library op through the ABI -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small command of every row of LibraryOps.def, with answers worked out by
// hand or in f64: the order of operands and attributes, coordinates, slots. The
// unit tests of the kernels go through sizes and strides.
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/KernelSuite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

TEST(KernelSuite, MatmulAddsBiasAndAccumulates) {
  for (int64_t workspace : {0, 64})
    for (int64_t mode : {0, 1, 2})
      for (int64_t slot : {0, 1}) {
        OneCommand c(DTCC_LIB_MATMUL, 1, 2);
        c.floats({1, 2, 3}, {1, 2, 3, 4, 5, 6});
        c.floats({1, 3, 2}, {1, 0, 0, 1, 1, 1});
        c.floats({2}, {10, 20});
        size_t out = c.floats({1, 2, 2}, {100, 200, 300, 400});
        c.output({workspace});
        c.attribute(mode);
        c.attribute(int64_t{1});
        c.run(0, slot);
        bool adds = mode == 1 || (mode == 2 && slot == 1);
        expectNear(c.content(out), adds ? Floats{114, 225, 320, 431} : Floats{14, 25, 20, 31});
      }
}

TEST(KernelSuite, MatmulTakesTransposedViews) {
  OneCommand c(DTCC_LIB_MATMUL);
  // lhs[g,m,k] is stored [k,m], rhs[g,k,n] is stored [n,k].
  size_t lhs = c.floats({1, 2, 3}, {1, 4, 2, 5, 3, 6});
  c.view(lhs).strides[1] = 1, c.view(lhs).strides[2] = 2;
  size_t rhs = c.floats({1, 3, 2}, {1, 0, 1, 0, 1, 1});
  c.view(rhs).strides[1] = 1, c.view(rhs).strides[2] = 3;
  size_t out = c.output({1, 2, 2});
  c.attribute(int64_t{0});
  c.attribute(int64_t{0});
  c.run();
  expectNear(c.content(out), {4, 5, 10, 11});
}

/// Two queries, two keys, one head, causal, with a key mask that leaves query 0 nothing.
void attentionAttributes(OneCommand &c, int64_t emptyRow) {
  c.attribute(2.0); // scale
  c.attribute(0.0); // soft cap
  for (int64_t value : {1, 0, -1, -1, 1})
    c.attribute(value);
  c.attribute(emptyRow);
  c.attribute(int64_t{-1}); // whole queries
}

TEST(KernelSuite, AttentionAndItsGradient) {
  const Floats q = {1, 0, 0.5f, 1}, k = {1, 2, -1, 0.5f}, v = {3, 4, 5, 7}, dout = {1, -1, 2, 0.5f};
  const float infinity = std::numeric_limits<float>::infinity();
  for (int64_t emptyRow : {0, 1}) {
    OneCommand forward(DTCC_LIB_ATTENTION);
    forward.floats({1, 2, 1, 1, 2}, q);
    forward.floats({1, 2, 1, 2}, k);
    forward.floats({1, 2, 1, 2}, v);
    forward.operand<uint8_t>(DTCC_BOOL, {1, 2}, {0, 1});
    size_t out = forward.output({1, 2, 1, 1, 2}), lse = forward.output({1, 1, 1, 2});
    forward.output({0}); // no workspace is needed
    attentionAttributes(forward, emptyRow);
    forward.run();
    // Query 0 sees key 0 only, which is masked. Query 1 sees key 1 alone: weight 1.
    Floats empty = emptyRow == 0 ? Floats{4, 5.5f} : Floats{0, 0};
    expectNear(forward.content(out), {empty[0], empty[1], 5, 7});
    Floats gotLse = forward.content(lse);
    EXPECT_EQ(gotLse[0], infinity);
    EXPECT_NEAR(gotLse[1], 2 * (-0.5 + 0.5), 1e-6);

    OneCommand backward(DTCC_LIB_ATTENTION_GRAD);
    backward.floats({1, 2, 1, 1, 2}, q);
    backward.floats({1, 2, 1, 2}, k);
    backward.floats({1, 2, 1, 2}, v);
    backward.operand<uint8_t>(DTCC_BOOL, {1, 2}, {0, 1});
    backward.floats({1, 2, 1, 1, 2}, forward.content(out));
    backward.floats({1, 1, 1, 2}, gotLse);
    backward.floats({1, 2, 1, 1, 2}, dout);
    size_t dq = backward.output({1, 2, 1, 1, 2}), dk = backward.output({1, 2, 1, 2}),
           dv = backward.output({1, 2, 1, 2});
    attentionAttributes(backward, emptyRow);
    backward.run();
    // One key: the softmax is constant, so q and k get nothing.
    expectNear(backward.content(dq), {0, 0, 0, 0});
    expectNear(backward.content(dk), {0, 0, 0, 0});
    Floats mean = emptyRow == 0 ? Floats{0.5f, -0.5f} : Floats{0, 0};
    expectNear(backward.content(dv), {mean[0], mean[1], mean[0] + 2, mean[1] + 0.5f});
  }
}

TEST(KernelSuite, EmbeddingOfAShardedVocabulary) {
  for (int64_t rank : {0, 1}) {
    OneCommand c(DTCC_LIB_EMBEDDING, 2);
    c.floats({2, 2}, {1, 2, 3, 4});
    c.longs({4}, {0, 1, 2, 3});
    size_t out = c.output({4, 2});
    c.attribute(int64_t{0});
    c.run(rank);
    expectNear(c.content(out), rank == 0 ? Floats{1, 2, 3, 4, 0, 0, 0, 0} : Floats{0, 0, 0, 0, 1, 2, 3, 4});
  }
}

TEST(KernelSuite, EmbeddingGradient) {
  for (int64_t rank : {0, 1})
    for (int64_t mode : {0, 1, 2}) {
      OneCommand c(DTCC_LIB_SCATTER_ADD, 2, 2);
      c.floats({4, 1}, {1, 2, 4, 8});
      c.operand<int32_t>(DTCC_I32, {4}, {3, 0, 3, 1});
      size_t table = c.output({2, 1}, 100);
      c.output({0});
      c.attribute(int64_t{0});
      c.attribute(mode);
      c.attribute(int64_t{1}); // padding id
      c.run(rank, /*slot=*/0);
      float start = mode == 1 ? 100 : 0;
      expectNear(c.content(table), rank == 0 ? Floats{start + 2, start} : Floats{start, start + 5});
    }
}

TEST(KernelSuite, CrossEntropyOfShardedClasses) {
  // Classes 0..2 in two shards of two columns: the last is padding.
  const std::vector<Floats> shards = {{1, 2, 0, -1}, {3, 99, 0.5f, 99}};
  const std::vector<int64_t> labels = {2, -100};
  Floats gmax(2, -1e30f), sum(2, 0), target(2, 0);
  std::vector<Floats> maxes, sums;
  for (int64_t rank : {0, 1}) {
    OneCommand c(DTCC_LIB_CE_STATS, 2);
    c.floats({2, 2}, shards[static_cast<size_t>(rank)]);
    c.longs({2}, labels);
    size_t rowmax = c.output({2}), rowsum = c.output({2}), here = c.output({2});
    c.attribute(int64_t{0});
    c.attribute(int64_t{3});
    c.run(rank);
    maxes.push_back(c.content(rowmax));
    sums.push_back(c.content(rowsum));
    for (size_t i = 0; i < 2; ++i) {
      gmax[i] = std::max(gmax[i], maxes.back()[i]);
      target[i] += c.content(here)[i];
    }
  }
  expectNear(gmax, {3, 0.5f});
  expectNear(target, {3, 0});
  for (size_t rank : {0, 1}) {
    OneCommand c(DTCC_LIB_CE_MERGE);
    c.floats({2}, maxes[rank]);
    c.floats({2}, gmax);
    size_t merged = c.floats({2}, sums[rank]);
    c.run();
    for (size_t i = 0; i < 2; ++i)
      sum[i] += c.content(merged)[i];
  }
  double lse0 = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0));
  double lse1 = std::log(std::exp(0.0) + std::exp(-1.0) + std::exp(0.5));
  OneCommand loss(DTCC_LIB_CE_LOSS);
  loss.floats({2}, gmax);
  loss.floats({2}, sum);
  loss.floats({2}, target);
  loss.longs({2}, labels);
  size_t lse = loss.output({2}), lossSum = loss.floats({}, {5}), count = loss.floats({}, {1});
  loss.attribute(int64_t{-100});
  loss.attribute(int64_t{1});
  loss.attribute(int64_t{1});
  loss.run();
  expectNear(loss.content(lse), {static_cast<float>(lse0), static_cast<float>(lse1)});
  expectNear(loss.content(lossSum), {static_cast<float>(5 + lse0 - 3)}, 2e-6f);
  expectNear(loss.content(count), {2});
  for (int64_t rank : {0, 1}) {
    OneCommand c(DTCC_LIB_CE_GRAD, 2);
    c.floats({2, 2}, shards[static_cast<size_t>(rank)]);
    c.longs({2}, labels);
    c.floats({2}, loss.content(lse));
    size_t grad = c.output({2, 2});
    c.attribute(int64_t{0});
    c.attribute(int64_t{3});
    c.attribute(int64_t{-100});
    c.attribute(int64_t{1});
    c.run(rank);
    auto p = [&](double x) { return static_cast<float>(std::exp(x - lse0)); };
    expectNear(c.content(grad), rank == 0 ? Floats{p(1), p(2), 0, 0} : Floats{p(3) - 1, 0, 0, 0});
  }
}

TEST(KernelSuite, SumOfSquares) {
  for (int64_t mode : {0, 1}) {
    OneCommand c(DTCC_LIB_SUM_SQUARES);
    c.floats({3}, {1, -2, 3});
    size_t out = c.floats({}, {10});
    c.attribute(mode);
    c.run();
    expectNear(c.content(out), {mode ? 24.0f : 14.0f});
  }
}

TEST(KernelSuite, GradScale) {
  OneCommand c(DTCC_LIB_GRAD_SCALE);
  c.floats({}, {400});
  c.floats({}, {10});
  size_t norm = c.output({}), scale = c.output({});
  c.attribute(1.0);
  c.run();
  expectNear(c.content(norm), {2});
  expectNear(c.content(scale), {0.05f});
}

// Neither no label at all nor a gradient that is not finite reaches the parameters.
TEST(KernelSuite, GradScaleStopsUpdates) {
  for (auto [squares, count] : {std::pair{4.0f, 0.0f}, {INFINITY, 2.0f}, {NAN, 2.0f}})
    for (double clip : {0.0, 1.0}) {
      OneCommand c(DTCC_LIB_GRAD_SCALE);
      c.floats({}, {squares});
      c.floats({}, {count});
      c.output({});
      size_t scale = c.output({});
      c.attribute(clip);
      c.run();
      EXPECT_TRUE(std::isnan(c.content(scale)[0])) << squares << " " << count;
    }
}

// The norm is not known yet, so a loss that is not finite stops updates.
TEST(KernelSuite, MeanScale) {
  for (auto [sum, count, scale] : {std::tuple{-3.0f, 4.0f, 0.25f}, {INFINITY, 4.0f, NAN}, {0.0f, 0.0f, NAN}}) {
    OneCommand c(DTCC_LIB_MEAN_SCALE);
    c.floats({}, {sum});
    c.floats({}, {count});
    size_t out = c.output({});
    c.run();
    float found = c.content(out)[0];
    EXPECT_TRUE(std::isnan(scale) ? std::isnan(found) : found == scale) << sum << " " << count << ": " << found;
  }
}

/// A share of 4 of the 8 elements of bucket 1; its segments cover 1..2 and 3..6.
void bindShare(OneCommand &c) {
  c.bucket(100);
  c.bucket(8);
  c.segment(1, 3, 4, 0.5, 2.0);
  c.segment(1, 1, 2, 0.0, 1.0);
  c.segment(0, 0, 100, 9.0, 9.0);
  c.attribute(int64_t{1});
  c.attribute(int64_t{0});
}

TEST(KernelSuite, AdamWReadsTheSegmentsOfItsShare) {
  for (int64_t rank : {0, 1}) {
    OneCommand c(DTCC_LIB_ADAMW, 2);
    c.floats({4}, {1, 2, -3, 4});
    c.floats({}, {0.5f});
    c.floats({}, {0.1f});
    c.longs({}, {1});
    size_t p = c.floats({4}, {1, 1, 1, 1}), m = c.output({4}, 0), v = c.output({4}, 0);
    bindShare(c);
    c.attribute(0.9);
    c.attribute(0.999);
    c.attribute(1e-8);
    c.attribute(0.0);
    c.attribute(int64_t{1});
    c.attribute(int64_t{1});
    c.attribute(int64_t{0});
    c.run(rank);
    // The first step moves by lr * lr_scale against the gradient's sign.
    float far = 1 * (1 - 0.1f * 2 * 0.5f);
    expectNear(c.content(p),
               rank == 0 ? Floats{1, 1 - 0.1f, 1 + 0.1f, far - 0.2f} : Floats{far - 0.2f, far - 0.2f, far + 0.2f, 1});
    expectNear(c.content(m), rank == 0 ? Floats{0, 0.1f, -0.15f, 0.2f} : Floats{0.05f, 0.1f, -0.15f, 0});
    expectNear(c.content(v), rank == 0 ? Floats{0, 1e-3f, 2.25e-3f, 4e-3f} : Floats{2.5e-4f, 1e-3f, 2.25e-3f, 0});
  }
}

TEST(KernelSuite, NothingIsUpdatedByAScaleThatIsNotANumber) {
  OneCommand c(DTCC_LIB_SGD, 2);
  c.floats({4}, {1, NAN, -3, INFINITY});
  c.floats({}, {NAN});
  c.floats({}, {0.1f});
  c.longs({}, {2});
  size_t p = c.floats({4}, {1, 2, 3, 4}), buffer = c.floats({4}, {5, 6, 7, 8});
  bindShare(c);
  c.attribute(0.9);
  c.attribute(0.25);
  c.attribute(int64_t{0});
  c.attribute(int64_t{0});
  c.run(0);
  expectNear(c.content(p), {1, 2, 3, 4});
  expectNear(c.content(buffer), {5, 6, 7, 8});
}

TEST(KernelSuite, SgdWithAndWithoutMomentum) {
  for (double momentum : {0.0, 0.9}) {
    OneCommand c(DTCC_LIB_SGD, 2);
    c.floats({4}, {1, 2, -3, 4});
    c.floats({}, {0.5f});
    c.floats({}, {0.1f});
    c.longs({}, {2});
    size_t p = c.floats({4}, {1, 1, 1, 1});
    size_t buffer = momentum != 0 ? c.output({4}, 10) : 0;
    bindShare(c);
    c.attribute(momentum);
    c.attribute(0.25);
    c.attribute(int64_t{0});
    c.attribute(int64_t{0});
    c.run(0);
    if (momentum == 0) {
      expectNear(c.content(p), {1, 0.9f, 1.15f, 1 - 0.2f * 2.5f});
      continue;
    }
    Floats b = {10, 9.75f, 9 - 0.75f * 1.5f, 9 + 0.75f * 2.5f};
    expectNear(c.content(buffer), b);
    expectNear(c.content(p), {1, 1 - 0.1f * b[1], 1 - 0.1f * b[2], 1 - 0.2f * b[3]});
  }
}

} // namespace
