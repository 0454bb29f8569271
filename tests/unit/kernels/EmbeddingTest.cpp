//===- EmbeddingTest.cpp - Lookups and their gradients -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Embedding.h"

#include "tests/unit/kernels/Fixture.h"

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

template <typename T> Matrix<T> matrix(Box &box) {
  return {box.data(), box.sizes[0], box.sizes[1], box.strides[0], box.strides[1]};
}

TEST(Embedding, LooksUpThisShardsRowsAndZerosOthers) {
  for (bool transposed : {false, true})
    for (int64_t columns : {1, 19, 300}) {
      std::mt19937 random(1);
      std::vector<int> order = transposed ? std::vector<int>{1, 0} : std::vector<int>{0, 1};
      Box table({11, columns}, order, 2), out({40, columns}, order, 3);
      table.fillRandom(random);
      std::vector<int32_t> ids;
      for (int i = 0; i < 40; ++i)
        ids.push_back(static_cast<int32_t>(random() % 33));
      ThreadTeam team(2);
      embedding(team, matrix<const float>(table), {ids.data(), 40, 1, false}, 11, matrix<float>(out));
      for (int64_t i = 0; i < 40; ++i)
        for (int64_t c = 0; c < columns; ++c) {
          int64_t row = ids[static_cast<size_t>(i)] - 11;
          EXPECT_EQ(out.at(i, c), row >= 0 && row < 11 ? table.at(row, c) : 0.0f);
        }
      EXPECT_TRUE(out.guarded());
    }
}

TEST(ScatterAdd, AddsRowsInOrder) {
  for (bool transposed : {false, true})
    // Of narrow tables threads share out the rows.
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{500, 1}, {500, 19}, {500, 300}, {20000, 1}, {9000, 3}})
      for (bool accumulate : {false, true}) {
        std::mt19937 random(2);
        std::vector<int> order = transposed ? std::vector<int>{1, 0} : std::vector<int>{0, 1};
        Box dout({rows, columns}, order, 2), start({11, columns}, order, 3);
        dout.fillRandom(random);
        start.fillRandom(random);
        std::vector<int64_t> ids;
        for (int64_t i = 0; i < rows; ++i)
          ids.push_back(static_cast<int64_t>(random() % 22));
        const int64_t padding = 13;
        Box want = start;
        if (!accumulate)
          want.fill(0);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t c = 0; c < columns; ++c)
            if (int64_t id = ids[static_cast<size_t>(i)]; id >= 11 && id != padding)
              want.at(id - 11, c) += dout.at(i, c);
        forEachInstructionSet([&](const VectorKernels &kernels) {
          for (int threads : {1, 2, 4}) {
            Box got = start;
            ThreadTeam team(threads);
            scatterAdd(team, kernels, matrix<const float>(dout), {ids.data(), rows, 1, true}, 11, accumulate, padding,
                       matrix<float>(got));
            EXPECT_TRUE(got.sameBits(want));
          }
        });
      }
}

} // namespace
