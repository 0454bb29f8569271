//===- EmbeddingSuite.cpp - Gradients of embeddings on a GPU against their definition
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GPU adds up rows by segments of their order and adds partial sums on several levels
// (runtime/cuda/kernels/rows/Embedding.h). Cells here are small integers, whose sums are exact in f32 in
// every order, so that all results are compared bit by bit. Runs of equal keys begin and end around
// the edges of segments on each level.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/core/HalfFloat.h"
#include "tests/conformance/KernelSuite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

/// A gradient as a command and its result. `runs[i]` rows have key i of the shard of the table on rank 1; `others` rows
/// have ids of rank 0, ids below and beyond the table, and the padding id.
struct Gradient {
  std::vector<int64_t> runs = {};
  int64_t columns = 1, others = 0, gap = 0;
  dtcc_dtype type = DTCC_F32;
  bool byColumns = false, accumulates = false, isShuffled = true, isReal = false;

  size_t table = 0;
  std::vector<float> want = {}; // [runs, columns]

  OneCommand make() {
    const auto keys = static_cast<int64_t>(runs.size());
    std::mt19937 random(11);
    std::vector<int64_t> ids;
    for (int64_t key = 0; key < keys; ++key)
      ids.insert(ids.end(), static_cast<size_t>(runs[static_cast<size_t>(key)]), keys + key);
    // The padding id is the shard's last, whose run must be empty.
    const int64_t padding = others > 0 ? 2 * keys - 1 : -1;
    const int64_t outside[] = {-1, 0, keys - 1, 2 * keys, padding, int64_t{1} << 40};
    for (int64_t i = 0; i < others; ++i)
      ids.push_back(outside[i % 6]);
    if (isShuffled)
      std::shuffle(ids.begin(), ids.end(), random);
    const auto rows = static_cast<int64_t>(ids.size());

    OneCommand command(DTCC_LIB_SCATTER_ADD, 2, 2);
    const std::vector<float> cells = numbers(rows, random), before = numbers(keys, random);
    strided(command, type, rows, cells);
    command.longs({rows}, ids);
    table = strided(command, DTCC_F32, keys, before);
    for (int64_t value : {int64_t{0}, int64_t{accumulates}, padding})
      command.attribute(value);
    want.assign(before.size(), 0);
    if (accumulates)
      want = before;
    for (size_t i = 0; i < ids.size(); ++i)
      if (const int64_t key = ids[i] - keys; key >= 0 && key < keys && ids[i] != padding)
        for (int64_t c = 0; c < columns; ++c)
          want[static_cast<size_t>(key * columns + c)] +=
              cells[static_cast<size_t>(static_cast<int64_t>(i) * columns + c)];
    return command;
  }
  std::vector<float> read(OneCommand &command) const {
    const dtcc_view &view = command.view(table);
    std::vector<float> cells(want.size());
    for (size_t i = 0; i < cells.size(); ++i)
      std::memcpy(&cells[i], command.memory.data() + view.offset + place(view, static_cast<int64_t>(i)) * 4, 4);
    return cells;
  }

private:
  int64_t place(const dtcc_view &view, int64_t cell) const {
    return cell / columns * view.strides[0] + cell % columns * view.strides[1];
  }
  std::vector<float> numbers(int64_t rows, std::mt19937 &random) const {
    std::vector<float> cells(static_cast<size_t>(rows * columns));
    std::normal_distribution<float> normal;
    for (float &cell : cells)
      cell = isReal ? normal(random) : static_cast<float>(random() % 16) - 7;
    return cells;
  }
  /// An operand [rows, columns] with `gap` cells behind each row, or each column if these lie one after the other.
  size_t strided(OneCommand &command, dtcc_dtype cellType, int64_t rows, const std::vector<float> &cells) const {
    dtcc_view view = {};
    view.strides[0] = byColumns ? 1 : columns + gap, view.strides[1] = byColumns ? rows + gap : 1;
    std::vector<float> lying(static_cast<size_t>(byColumns ? columns * (rows + gap) : rows * (columns + gap)), 99.0f);
    for (size_t i = 0; i < cells.size(); ++i)
      lying[static_cast<size_t>(place(view, static_cast<int64_t>(i)))] = cells[i];
    size_t number;
    if (cellType == DTCC_F32) {
      number = command.operand(cellType, {rows, columns}, lying);
    } else {
      std::vector<uint16_t> halves;
      for (float value : lying)
        halves.push_back(cellType == DTCC_BF16 ? toBF16(value) : toF16(value));
      number = command.operand(cellType, {rows, columns}, halves);
    }
    std::copy_n(view.strides, 2, command.view(number).strides);
    return number;
  }
};

void expectExact(Gradient gradient) {
  OneCommand command = gradient.make();
  const std::vector<char> before = command.memory;
  ASSERT_NO_THROW(command.run(/*rank=*/1, /*slot=*/1));
  const std::vector<float> got = gradient.read(command);
  int wrong = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (std::bit_cast<uint32_t>(got[i]) != std::bit_cast<uint32_t>(gradient.want[i] + 0.0f) && ++wrong <= 3)
      ADD_FAILURE() << "cell " << static_cast<int64_t>(i) % gradient.columns << " of row "
                    << static_cast<int64_t>(i) / gradient.columns << " is " << got[i] << ", must be "
                    << gradient.want[i];
  EXPECT_EQ(wrong, 0);
  // Nothing but the table's cells was written: with these put back, memory is as before.
  const dtcc_view &view = command.view(gradient.table);
  for (int64_t row = 0; row < view.sizes[0]; ++row)
    for (int64_t c = 0; c < view.sizes[1]; ++c) {
      const int64_t at = view.offset + 4 * (row * view.strides[0] + c * view.strides[1]);
      std::copy_n(before.data() + at, 4, command.memory.data() + at);
    }
  EXPECT_TRUE(command.memory == before) << "bytes beside the table were written";
}

/// Lengths of runs around the edges of segments of `length` places.
std::vector<std::vector<int64_t>> runsAround(int64_t length) {
  const int64_t n = length;
  return {
      {n},                                      // ends at the edge
      {n - 1, 1},                               // two that end there together
      {n - 1, 1, 1},                            // a run of one place on each side of the edge
      {n - 1, 2, n - 1},                        // crosses the edge by one place on each side
      {1, n, n, 1},                             // the last run of a segment and the first of the next
      {n, n, n},                                // each run is a segment
      {n + 1, n - 1, n},                        // begins at the edge and leaves the segment
      {3 * n},                                  // segments in the middle are nothing but one run
      {n - 2, 3 * n + 2, 5, 0, 0, n},           // the same, begun and ended within segments; keys without rows
      {0, n / 2, n, n / 2, 1},                  // runs that cross each edge, from the middle to the middle
      {n / 2 * n},                              // fills a segment of the second level exactly
      {n / 2 * n + 1, n},                       // one place more
      {n / 2 * n - 1, 2, n / 2 * n, 3},         // crosses an edge of the second level
      {1, n / 2 * n, n / 2 * n, n * n / 2 + 1}, // all edges of the second level
  };
}

TEST(EmbeddingGradients, OfRunsAroundTheEdgesOfSegments) {
  ASSERT_TRUE(OneCommand::runner);
  for (int64_t columns : {1, 2, 12}) {
    const int64_t length = dtcc::gpu_workspace::scatterSegment(columns);
    for (std::vector<int64_t> runs : runsAround(length)) {
      std::string name = std::to_string(columns) + " columns, runs of";
      for (int64_t run : runs)
        name += " " + std::to_string(run);
      SCOPED_TRACE(name);
      runs.push_back(0); // the padding id's
      for (int64_t others : {int64_t{0}, length + 7})
        expectExact({.runs = runs, .columns = columns, .others = others, .accumulates = others == 0});
    }
  }
}

TEST(EmbeddingGradients, OfManyColumnsAndStrides) {
  ASSERT_TRUE(OneCommand::runner);
  for (dtcc_dtype type : {DTCC_F32, DTCC_BF16, DTCC_F16})
    for (int64_t columns : {1, 3, 12, 33, 64, 128, 129, 1000})
      for (bool byColumns : {false, true}) {
        SCOPED_TRACE(std::to_string(columns) + " columns of type " + std::to_string(type) +
                     (byColumns ? ", by columns" : ""));
        expectExact({.runs = {3, 200, 0, 1, 64, 90, 0},
                     .columns = columns,
                     .others = columns % 2 ? 20 : 0,
                     .gap = columns % 5,
                     .type = type,
                     .byColumns = byColumns,
                     .accumulates = byColumns});
      }
}

TEST(EmbeddingGradients, OfDistinctKeysAndOfNone) {
  ASSERT_TRUE(OneCommand::runner);
  for (int64_t columns : {0, 1, 12, 130}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    expectExact({.runs = std::vector<int64_t>(700, 1), .columns = columns});
    expectExact({.runs = {0}, .columns = columns});
    expectExact({.runs = {}, .columns = columns});
    expectExact({.runs = {0, 0}, .columns = columns, .others = 300});
    expectExact({.runs = {1, 0}, .columns = columns, .others = 300, .accumulates = true});
  }
}

/// Sums of as many rows as T5's positions have on a key are as exact as sums in a tree are, and the same in every run.
TEST(EmbeddingGradients, OfManyRowsAreEqualInEveryRun) {
  ASSERT_TRUE(OneCommand::runner);
  Gradient gradient{.runs = {5000, 0, 20000, 7000}, .columns = 12, .isReal = true};
  OneCommand first = gradient.make(), second = first;
  first.run(/*rank=*/1, /*slot=*/1);
  second.run(/*rank=*/1, /*slot=*/1);
  EXPECT_TRUE(first.memory == second.memory);
  const std::vector<float> got = gradient.read(first);
  // One by one the sums in f32 of `want` are some 1e-3 off.
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], gradient.want[i], 3e-3f) << "cell " << i;
}

/// The rows of a run within a segment are added in their order to what the table holds.
TEST(EmbeddingGradients, AddRowsInOrder) {
  ASSERT_TRUE(OneCommand::runner);
  const float large = 1 << 24;
  Gradient gradient{.runs = {4}, .accumulates = true};
  OneCommand command = gradient.make();
  const float cells[] = {1, 1, -large, 1};
  std::memcpy(command.memory.data() + command.view(0).offset, cells, sizeof cells);
  std::memcpy(command.memory.data() + command.view(gradient.table).offset, &large, sizeof large);
  command.run(/*rank=*/1, /*slot=*/1);
  EXPECT_EQ(gradient.read(command)[0], 1.0f);
}

} // namespace
