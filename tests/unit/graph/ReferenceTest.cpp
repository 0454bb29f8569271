//===- ReferenceTest.cpp - References against known values, and shards against wholes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "dialects/interfaces/Philox.h"
#include "mlir/Parser/Parser.h"
#include "passes/graph/Evaluator.h"
#include <cmath>
#include <gtest/gtest.h>
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {

TEST(Philox, GivesThePublishedVectors) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

class Reference : public testing::Test {
protected:
  Reference() : context(registry()) { context.loadAllAvailableDialects(); }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Runs the last op of a function with these arguments.
  SmallVector<HostTensor> run(const std::string &arguments, const std::string &op, ArrayRef<HostTensor> operands,
                              const EvaluationContext &evaluation = {}) {
    auto module = parseSourceString<ModuleOp>("func.func @f(" + arguments + ") {\n" + op + "\n return\n}", &context);
    EXPECT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    auto results = evaluateOp(function.front().getTerminator()->getPrevNode(), operands, evaluation);
    EXPECT_TRUE(succeeded(results));
    return *results;
  }
  HostTensor floats(ArrayRef<int64_t> shape, std::vector<double> values) {
    HostTensor tensor(shape, Float64Type::get(&context));
    tensor.floats = std::move(values);
    return tensor;
  }
  HostTensor ints(ArrayRef<int64_t> shape, std::vector<int64_t> values, unsigned bits = 64) {
    HostTensor tensor(shape, IntegerType::get(&context, bits));
    tensor.ints = std::move(values);
    return tensor;
  }

  MLIRContext context;
};

TEST_F(Reference, IntegerRemainderHasTheSignOfTheDivisor) {
  auto y =
      run("%x: tensor<4xi64>, %y: tensor<4xi64>", "graph.rem %x, %y : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>",
          {ints({4}, {7, -7, 7, -7}), ints({4}, {3, 3, -3, -3})});
  EXPECT_EQ(y[0].ints, (std::vector<int64_t>{1, 2, -2, -1}));
}

TEST_F(Reference, CastTruncatesTowardsZero) {
  auto y =
      run("%x: tensor<3xf64>", "graph.cast %x : (tensor<3xf64>) -> tensor<3xi32>", {floats({3}, {1.9, -1.9, 0.2})});
  EXPECT_EQ(y[0].ints, (std::vector<int64_t>{1, -1, 0}));
}

TEST_F(Reference, RoundingIsToNearestEvenOfTheElementType) {
  HostTensor tensor({2}, BFloat16Type::get(&context));
  tensor.floats = {1.00390625, 1.01171875}; // half way between neighbours
  tensor.round();
  EXPECT_EQ(tensor.floats, (std::vector<double>{1.0, 1.015625}));
}

TEST_F(Reference, AttributesRoundTrip) {
  HostTensor bools = ints({3}, {1, 0, 1}, 1), back = *HostTensor::fromAttribute(bools.toAttribute());
  EXPECT_EQ(back.ints, bools.ints);
  HostTensor numbers = floats({2, 1}, {1.5, -2});
  back = *HostTensor::fromAttribute(numbers.toAttribute());
  EXPECT_EQ(back.floats, numbers.floats);
  EXPECT_EQ(back.shape, numbers.shape);
}

TEST_F(Reference, ShiftFillsOutside) {
  auto y = run("%x: tensor<2x3xi64>",
               "graph.shift %x {dim = 1 : i64, amount = 1 : i64, fill = -100 : i64} : tensor<2x3xi64>",
               {ints({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(y[0].ints, (std::vector<int64_t>{2, 3, -100, 5, 6, -100}));
}

TEST_F(Reference, EmptyRowsOfAttentionMeanWhatTheySay) {
  // The second query sees no key.
  HostTensor q = floats({1, 2, 1, 1}, {1, 1}), k = floats({1, 2, 1, 1}, {1, 2}), v = floats({1, 2, 1, 1}, {10, 20});
  for (auto [meaning, expected] : {std::pair("uniform", 15.0), {"zero", 0.0}, {"nan", NAN}}) {
    auto y = run(
        "%q: tensor<1x2x1x1xf64>, %k: tensor<1x2x1x1xf64>, %v: tensor<1x2x1x1xf64>, %a: tensor<1x2xi64>, %b: "
        "tensor<1x2xi64>",
        std::string(
            "graph.attention %q, %k, %v mask(%a, %b) <segment = true> {scale = 1.0, empty_row = #graph<empty_row ") +
            meaning +
            ">} : (tensor<1x2x1x1xf64>, tensor<1x2x1x1xf64>, tensor<1x2x1x1xf64>, tensor<1x2xi64>, tensor<1x2xi64>) -> "
            "(tensor<1x2x1x1xf64>, tensor<1x1x2xf64>)",
        {q, k, v, ints({1, 2}, {1, 9}), ints({1, 2}, {1, 2})});
    EXPECT_EQ(y[0].floats[0], 10);
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(y[0].floats[1]) : y[0].floats[1] == expected);
    EXPECT_EQ(y[1].floats[1], INFINITY);
  }
}

/// Two shards along an axis "tp" together are the whole.
TEST_F(Reference, ShardsOfDropoutAreTheWhole) {
  EvaluationContext evaluation;
  evaluation.seed = 5;
  evaluation.step = 3;
  HostTensor x = floats({3, 4}, std::vector<double>(12, 1.0));
  auto whole =
      run("%x: tensor<3x4xf64>", "graph.dropout %x {ratio = 0.5, id = 9 : i64} : tensor<3x4xf64>", {x}, evaluation);
  int64_t coordinate = 0;
  auto axis = [&](StringRef) { return std::pair<int64_t, int64_t>(coordinate, 2); };
  evaluation.axis = axis;
  for (coordinate = 0; coordinate < 2; ++coordinate) {
    auto part = run("%x: tensor<3x2xf64>",
                    "graph.dropout %x {ratio = 0.5, id = 9 : i64, global_shape = array<i64: 3, 4>, offset_axes = [[], "
                    "[\"tp\"]]} : tensor<3x2xf64>",
                    {floats({3, 2}, std::vector<double>(6, 1.0))}, evaluation);
    for (int64_t cell = 0; cell < 6; ++cell)
      EXPECT_EQ(part[0].floats[cell], whole[0].floats[cell / 2 * 4 + coordinate * 2 + cell % 2]);
  }
}

TEST_F(Reference, ShardsOfAnEmbeddingAddUp) {
  HostTensor ids = ints({3}, {0, 3, 2});
  double sum[3] = {0, 0, 0};
  int64_t coordinate = 0;
  auto axis = [&](StringRef) { return std::pair<int64_t, int64_t>(coordinate, 2); };
  EvaluationContext evaluation;
  evaluation.axis = axis;
  for (coordinate = 0; coordinate < 2; ++coordinate) {
    auto part =
        run("%t: tensor<2x1xf64>, %i: tensor<3xi64>",
            "graph.embedding %t, %i {row_axes = [\"tp\"]} : (tensor<2x1xf64>, tensor<3xi64>) -> tensor<3x1xf64>",
            {floats({2, 1}, {10.0 + 2 * coordinate, 11.0 + 2 * coordinate}), ids}, evaluation);
    for (int i = 0; i < 3; ++i)
      sum[i] += part[0].floats[i];
  }
  EXPECT_EQ(sum[0], 10);
  EXPECT_EQ(sum[1], 13);
  EXPECT_EQ(sum[2], 12);
}

TEST_F(Reference, ShardsOfCrossEntropyMakeTheWholeLoss) {
  // Three classes over two shards: the last local class of the second is padding, poisoned.
  std::vector<double> logits = {0.3, -1, 2, 1.5, 0.1, -0.4};
  HostTensor labels = ints({2}, {2, 0});
  auto whole =
      run("%l: tensor<2x3xf64>, %t: tensor<2xi64>",
          "graph.cross_entropy %l, %t : (tensor<2x3xf64>, tensor<2xi64>) -> (tensor<f64>, tensor<f64>, tensor<2xf64>)",
          {floats({2, 3}, logits), labels});
  int64_t coordinate = 0;
  auto axis = [&](StringRef) { return std::pair<int64_t, int64_t>(coordinate, 2); };
  EvaluationContext evaluation;
  evaluation.axis = axis;
  HostTensor parts[2] = {floats({2, 2}, {0.3, -1, 1.5, 0.1}), floats({2, 2}, {2, NAN, -0.4, NAN})};
  SmallVector<HostTensor> stats[2];
  HostTensor maximum = floats({2}, {-INFINITY, -INFINITY}), sum = floats({2}, {0, 0}), target = sum;
  for (coordinate = 0; coordinate < 2; ++coordinate) {
    stats[coordinate] = run("%l: tensor<2x2xf64>, %t: tensor<2xi64>",
                            "graph.cross_entropy_stats %l, %t {classes = 3 : i64, class_axes = [\"tp\"]} : "
                            "(tensor<2x2xf64>, tensor<2xi64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)",
                            {parts[coordinate], labels}, evaluation);
    for (int i = 0; i < 2; ++i) {
      maximum.floats[i] = std::max(maximum.floats[i], stats[coordinate][0].floats[i]);
      target.floats[i] += stats[coordinate][2].floats[i];
    }
  }
  for (auto &part : stats) {
    auto merged =
        run("%m: tensor<2xf64>, %g: tensor<2xf64>, %s: tensor<2xf64>",
            "graph.cross_entropy_merge %m, %g, %s : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>",
            {part[0], maximum, part[1]});
    for (int i = 0; i < 2; ++i)
      sum.floats[i] += merged[0].floats[i];
  }
  auto loss = run("%m: tensor<2xf64>, %s: tensor<2xf64>, %t: tensor<2xf64>, %l: tensor<2xi64>",
                  "graph.cross_entropy_loss %m, %s, %t, %l : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, "
                  "tensor<2xi64>) -> (tensor<f64>, tensor<f64>, tensor<2xf64>)",
                  {maximum, sum, target, labels});
  EXPECT_NEAR(loss[0].floats[0], whole[0].floats[0], 1e-12);
  EXPECT_EQ(loss[1].floats[0], 2);
  for (int i = 0; i < 2; ++i)
    EXPECT_NEAR(loss[2].floats[i], whole[2].floats[i], 1e-12);
}

} // namespace
