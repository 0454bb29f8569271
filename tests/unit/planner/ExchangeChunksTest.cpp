//===- ExchangeChunksTest.cpp - Products and exchanges in parts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cost/ExchangeChunks.h"
#include "planner/cost/Step.h"
#include <gtest/gtest.h>

using namespace dtcc;
using namespace dtcc::cost;

namespace {
class ExchangeChunksTest : public testing::Test {
protected:
  /// Rows of 16 samples by a share of a wide layer, whose sum over eight ranks takes about as long as the product.
  ChunkedProducts sum(int64_t rows = 16) const {
    ChunkedProducts given;
    given.products = {{21504, 16384, 2048, 1, Width::B16}};
    given.products.front().together = true;
    given.exchange = {CollectiveKind::ReduceScatter, 2.0 * 21504 * 16384, {8, 1}};
    given.rows = rows;
    return given;
  }
  double whole(const ChunkedProducts &given) const {
    return kernels.seconds(given.products.front()) + collectives.seconds(given.exchange);
  }

  Constants constants;
  Device device = *findDevice("h100-sxm");
  Kernels kernels{device, constants};
  Fabric fabric = fabricOf(device, 8);
  Collectives collectives{fabric, constants};
};
} // namespace

TEST_F(ExchangeChunksTest, SaveLessThanEither) {
  ChunkedProducts given = sum();
  ExchangeChunks chunks = chunkExchange(given, kernels, collectives, constants);
  EXPECT_GT(chunks.parts, 2);
  EXPECT_GT(chunks.saved, 0.15 * whole(given));
  EXPECT_LT(chunks.saved, kernels.seconds(given.products.front()));
  EXPECT_LT(chunks.saved, collectives.seconds(given.exchange));
}

TEST_F(ExchangeChunksTest, DivideTheRows) {
  EXPECT_EQ(chunkExchange(sum(1), kernels, collectives, constants).parts, 1);
  EXPECT_EQ(chunkExchange(sum(11), kernels, collectives, constants).parts, 1);
  EXPECT_EQ(chunkExchange(sum(3), kernels, collectives, constants).parts, 3);
  EXPECT_EQ(chunkExchange(sum(7), kernels, collectives, constants).parts, 7);
}

/// A kernel of its own for a bias, and products of one tile, leave nothing to win.
TEST_F(ExchangeChunksTest, StayWholeWhereNothingIsSaved) {
  ChunkedProducts biased = sum();
  biased.apart = chunkExchange(biased, kernels, collectives, constants).saved;
  EXPECT_EQ(chunkExchange(biased, kernels, collectives, constants).parts, 1);
  ChunkedProducts small = sum();
  small.products.front() = {128, 256, 512, 1, Width::B16};
  small.exchange.bytes = 2.0 * 128 * 256;
  EXPECT_EQ(chunkExchange(small, kernels, collectives, constants).saved, 0);
}

/// Where only the time of an exchange is known, and how it starts, parts save about as much, also between nodes.
TEST_F(ExchangeChunksTest, AgreeWithTheTimeAlone) {
  for (int64_t ranks : {8, 16}) {
    ChunkedProducts given = sum();
    given.exchange.group.ranks = ranks;
    double saved = chunkExchange(given, kernels, collectives, constants).saved;
    double seconds = collectives.seconds(given.exchange);
    Transfer half = given.exchange;
    half.bytes /= 2;
    ChunkedExchange alone{given.products.front(), seconds, 2 * collectives.seconds(half) - seconds};
    alone.rows = given.rows;
    EXPECT_NEAR(savedByChunks(alone, kernels, constants), saved, 0.1 * saved) << ranks;
  }
}

/// Parts of one row need no copies that bring the pieces of the whole together, and parts that are no ranges of the
/// whole are copied themselves.
TEST_F(ExchangeChunksTest, CopyWhatIsNoRange) {
  ChunkedProducts given = sum();
  ChunkedExchange alone{given.products.front(), collectives.seconds(given.exchange)};
  alone.rows = 2;
  const double saved = savedByChunks(alone, kernels, constants), copies = 1e-4;
  alone.seconds += copies;
  alone.copies = copies;
  EXPECT_NEAR(savedByChunks(alone, kernels, constants), saved + copies, 1e-12);
  given.rows = 2;
  const ExchangeChunks parts = chunkExchange(given, kernels, collectives, constants);
  given.copies = copies;
  EXPECT_NEAR(chunkExchange(given, kernels, collectives, constants).saved, parts.saved + copies, 1e-12);
  alone.apartBytes = 1e9;
  EXPECT_LT(savedByChunks(alone, kernels, constants), saved + copies - 1e-4);
}

/// Gradients of weights run beside 0.9 of the exchanges of a backward pass, as long as there are such gradients, unless
/// the schedule computes them apart; what may not be filled stays.
TEST_F(ExchangeChunksTest, GradientsFillExchanges) {
  StepProblem problem;
  problem.device = device;
  problem.fabric = fabricOf(device, 8);
  problem.software.host = HostMode::Commands;
  problem.layers.resize(1);
  problem.layers[0].weightGradient.gemms = {{8192, 8192, 8192, 1, Width::B16}};
  problem.layers[0].inputGradient.exchangeSeconds = 1e-3;
  problem.layers[0].inputGradient.fillableSeconds = 0.8e-3;
  auto input = [&] { return priceLayers(problem, constants)[0].inputGradient; };
  EXPECT_DOUBLE_EQ(input(), 1e-3);
  problem.software.filledExchanges = 0.9;
  EXPECT_DOUBLE_EQ(input(), 1e-3 - (1 - constants.contended) * 0.9 * 0.8e-3);
  problem.layers[0].weightGradient.gemms = {{1024, 1024, 1024, 1, Width::B16}};
  double beside = priceLayers(problem, constants)[0].weightGradient;
  EXPECT_DOUBLE_EQ(input(), 1e-3 - (1 - constants.contended) * beside);
  problem.parallel.pp = 2;
  problem.parallel.schedule = PipelineKind::ZeroBubble;
  EXPECT_DOUBLE_EQ(input(), 1e-3);
}
