//===- ReshardTest.cpp - Any layout from any other, on simulated ranks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/spmd/evaluate/Shards.h"
#include "passes/spmd/reshard/ReshardPlanner.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <random>

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

struct ReshardTest : testing::Test {
  mlir::MLIRContext context;
  std::mt19937 random{7};
  int64_t pick(int64_t count) { return std::uniform_int_distribution<int64_t>(0, count - 1)(random); }

  /// A layout that uses each axis in a dimension, as partial, or not at all.
  Layout randomLayout(const Mesh &mesh, size_t rank, Reduction kind, bool timePartial) {
    Layout layout = Layout::replicated(rank);
    std::vector<MeshAxis> axes = mesh.axes;
    std::shuffle(axes.begin(), axes.end(), random);
    for (const MeshAxis &axis : axes) {
      int64_t place = pick(rank + 2);
      if (place < static_cast<int64_t>(rank))
        layout.dims[place].push_back(axis.name);
      else if (place == static_cast<int64_t>(rank) && (!axis.time || timePartial))
        layout.partial.push_back(axis.name);
    }
    layout.reduction = kind;
    return layout;
  }

  HostTensor randomTensor(std::vector<int64_t> shape) {
    HostTensor tensor(shape, mlir::Builder(&context).getF64Type());
    for (double &cell : tensor.floats)
      cell = pick(41) - 20;
    return tensor;
  }

  /// One random pair; false if the planner knows no way.
  bool tryPair(const Mesh &mesh, std::vector<int64_t> shape, Reduction kind) {
    Layout from = randomLayout(mesh, shape.size(), kind, true);
    Layout to = randomLayout(mesh, shape.size(), kind, true);
    std::vector<int64_t> padded = shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t all = mesh.ranks() * mesh.slots();
      padded[i] = (shape[i] + all - 1) / all * all;
    }
    from.padded = to.padded = padded;
    from.normalize(shape);
    to.normalize(shape);
    ReshardPlanner planner(mesh);
    const auto &plan = planner.plan(from, to, shape, 4);
    if (!plan)
      return false;
    HostTensor whole = randomTensor(shape);
    Shards parts = scatter(whole, from, mesh, std::nan(""), pick(1000));
    Layout layout = from;
    for (const Move &move : plan->moves) {
      parts = moveShards(parts, move, mesh);
      layout = applyMove(move, layout);
    }
    EXPECT_EQ(layout.str(), to.str());
    llvm::Expected<HostTensor> result = gather(parts, to, mesh, shape);
    if (!result) {
      ADD_FAILURE() << from.str() << " to " << to.str() << ": " << llvm::toString(result.takeError());
      return true;
    }
    EXPECT_EQ(result->floats, whole.floats) << from.str() << " to " << to.str();
    return true;
  }
};

TEST_F(ReshardTest, RandomPairsAreTheIdentity) {
  const Mesh meshes[] = {
      {{{"a", 2}}}, {{{"a", 3}}}, {{{"a", 2}, {"b", 2}}}, {{{"a", 2}, {"b", 3}}}, {{{"a", 2}, {"b", 2}, {"c", 2}}}};
  const std::vector<std::vector<int64_t>> shapes = {{5}, {12, 12}, {5, 1}, {3, 4, 2}, {}};
  // Pairs of layouts for each: 2,250 in all, more by the environment.
  const char *given = std::getenv("DTCC_RANDOM_RESHARDS");
  const int64_t pairs = given ? std::atoll(given) : 90;
  for (const Mesh &mesh : meshes)
    for (const auto &shape : shapes)
      for (int64_t i = 0; i < pairs; ++i)
        EXPECT_TRUE(tryPair(mesh, shape, Reduction::Sum));
}

TEST_F(ReshardTest, MaximaAreReducedButNeverMade) {
  Mesh mesh{{{"a", 2}, {"b", 2}}};
  int ways = 0;
  for (int i = 0; i < 200; ++i)
    ways += tryPair(mesh, {4, 6}, Reduction::Max);
  EXPECT_GT(ways, 50);
  Layout whole = Layout::replicated(1), maximum = whole;
  maximum.partial = {"a"};
  maximum.reduction = Reduction::Max;
  ReshardPlanner planner(mesh);
  EXPECT_FALSE(planner.plan(whole, maximum, {4}, 4));
  EXPECT_TRUE(planner.plan(maximum, whole, {4}, 4));
}

TEST_F(ReshardTest, NothingIsCommunicatedOverTime) {
  Mesh mesh{{{"mb", 2, true}, {"a", 2}}};
  int ways = 0;
  for (int i = 0; i < 300; ++i)
    ways += tryPair(mesh, {4, 8}, Reduction::Sum);
  EXPECT_GT(ways, 50);
  ReshardPlanner planner(mesh);
  Layout whole = Layout::replicated(1), split = whole, partial = whole;
  split.dims[0] = {"mb"};
  partial.partial = {"mb"};
  EXPECT_TRUE(planner.plan(whole, split, {4}, 4));
  EXPECT_FALSE(planner.plan(split, whole, {4}, 4));
  EXPECT_FALSE(planner.plan(partial, whole, {4}, 4));
  EXPECT_TRUE(planner.plan(whole, partial, {4}, 4));
}

/// The moves between two layouts of a matrix, as text.
std::string movesOf(const Mesh &mesh, const Layout &from, const Layout &to, std::vector<int64_t> shape = {64, 64}) {
  ReshardPlanner planner(mesh);
  std::string text;
  for (const Move &move : planner.plan(from, to, shape, 4)->moves) {
    text += (text.empty() ? "" : " ") + std::string(Move::name(move.kind));
    for (const std::string &axis : move.axes)
      text += "." + axis;
  }
  return text;
}

TEST_F(ReshardTest, TakesTheExpectedCollectives) {
  Mesh mesh{{{"a", 2}, {"b", 4}}};
  Layout whole = Layout::replicated(2), rows = whole, columns = whole, partial = whole, both = whole, summed = whole;
  rows.dims[0] = {"a"};
  columns.dims[1] = {"a"};
  partial.partial = {"a"};
  both.dims[0] = {"a", "b"};
  summed.partial = {"a", "b"};
  EXPECT_EQ(movesOf(mesh, partial, whole), "all_reduce.a");
  EXPECT_EQ(movesOf(mesh, partial, rows), "reduce_scatter.a");
  EXPECT_EQ(movesOf(mesh, rows, columns), "all_to_all.a");
  EXPECT_EQ(movesOf(mesh, rows, whole), "all_gather.a");
  EXPECT_EQ(movesOf(mesh, whole, rows), "local_slice.a");
  EXPECT_EQ(movesOf(mesh, whole, partial), "zero_fill.a");
  EXPECT_EQ(movesOf(mesh, both, whole), "all_gather.a.b");
  EXPECT_EQ(movesOf(mesh, summed, whole), "all_reduce.a.b");
  EXPECT_EQ(movesOf(mesh, summed, both), "reduce_scatter.a.b");
  EXPECT_EQ(movesOf(mesh, rows, rows), "");
}

TEST_F(ReshardTest, KeepsTheMemoryCap) {
  // From rows to columns by way of the whole is out of reach; all-to-all is not.
  Mesh mesh{{{"a", 2}}};
  Layout rows = Layout::replicated(2), columns = rows;
  rows.dims[0] = {"a"};
  columns.dims[1] = {"a"};
  auto dearExchange = [](const Move &move, double before, double after, int64_t group) {
    return bytesMoved(move, before, after, group) * (move.kind == Move::AllToAll ? 100 : 1);
  };
  ReshardPlanner free(mesh, dearExchange), capped(mesh, dearExchange, 1);
  EXPECT_EQ(free.plan(rows, columns, {64, 64}, 4)->moves.front().kind, Move::AllGather);
  EXPECT_EQ(capped.plan(rows, columns, {64, 64}, 4)->moves.front().kind, Move::AllToAll);
}

} // namespace
