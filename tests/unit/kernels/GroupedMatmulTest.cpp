//===- GroupedMatmulTest.cpp - Rows that pick a matrix of a stack -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/GroupedMatmul.h"

#include "tests/unit/kernels/Fixture.h"

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

template <typename T> Matrix<T> matrix(Box &box) {
  return {box.data(), box.sizes[0], box.sizes[1], box.strides[0], box.strides[1]};
}
template <typename T> MatrixStack<T> stack(Box &box) {
  return {box.data(), box.sizes[0], box.sizes[1], box.sizes[2], box.strides[0], box.strides[1], box.strides[2]};
}

/// `rows` rows of ids in [0, 7), of which this shard holds [2, 6): 5 is never picked.
struct Problem {
  explicit Problem(int64_t rows) {
    for (int64_t r = 0; r < rows; ++r)
      ids.push_back(random() % 7 == 5 ? 4 : static_cast<int64_t>(random() % 5));
  }
  GroupedWorkspace workspaceFor(int64_t left, int64_t right) {
    memory.assign(static_cast<size_t>(GroupedWorkspace::bytes(static_cast<int64_t>(ids.size()), 4, left, right)) + 64,
                  std::byte(0xff));
    auto at = reinterpret_cast<uintptr_t>(memory.data());
    return {memory.data() + (64 - at % 64) % 64};
  }
  Integers integers() const { return {ids.data(), static_cast<int64_t>(ids.size()), 1, true}; }

  std::mt19937 random{5};
  std::vector<int64_t> ids;
  std::vector<std::byte> memory;
};

TEST(GroupedMatmul, EveryRowMeetsItsMatrixAndThoseOfOthersGiveZero) {
  for (int64_t lhsRepeat : {1, 2})
    for (int64_t outRepeat : {1, 2})
      for (auto [inner, columns] : {std::pair<int64_t, int64_t>{1, 1}, {13, 70}, {65, 8}})
        for (bool transposed : {false, true}) {
          const int64_t rows = 86;
          Problem problem(rows);
          std::vector<int> order = transposed ? std::vector<int>{0, 2, 1} : std::vector<int>{0, 1, 2};
          Box lhs({rows / lhsRepeat, inner}, {0, 1}, 2), rhs({4, inner, columns}, order, 3);
          lhs.fillRandom(problem.random);
          rhs.fillRandom(problem.random);
          std::vector<double> want(static_cast<size_t>(rows / outRepeat * columns));
          for (int64_t r = 0; r < rows; ++r)
            if (int64_t group = problem.ids[static_cast<size_t>(r)] - 2; group >= 0 && group < 4)
              for (int64_t k = 0; k < inner; ++k)
                for (int64_t n = 0; n < columns; ++n)
                  want[static_cast<size_t>(r / outRepeat * columns + n)] +=
                      double(lhs.at(r / lhsRepeat, k)) * rhs.at(group, k, n);
          std::vector<float> first;
          for (int threads : {1, 3}) {
            Box out({rows / outRepeat, columns}, {0, 1}, 1);
            out.fill(7);
            ThreadTeam team(threads);
            TeamScratch scratch(threads);
            scratch.reserve(productScratch * sizeof(float));
            groupedMatmul(team, vectorKernels(), scratch, matrix<const float>(lhs), stack<const float>(rhs),
                          problem.integers(), 2, matrix<float>(out), problem.workspaceFor(inner, columns));
            std::vector<float> got;
            for (int64_t i = 0; i < rows / outRepeat; ++i)
              for (int64_t n = 0; n < columns; ++n) {
                got.push_back(out.at(i, n));
                ASSERT_NEAR(out.at(i, n), want[static_cast<size_t>(i * columns + n)], 1e-4);
              }
            EXPECT_TRUE(out.guarded());
            EXPECT_TRUE(first.empty() || first == got);
            first = got;
          }
        }
}

TEST(GroupedMatmulGrad, SumsTheRowsOfEveryMatrix) {
  for (bool accumulate : {false, true})
    for (bool transposed : {false, true}) {
      const int64_t rows = 86, left = 13, right = 21;
      Problem problem(rows);
      Box lhs({rows / 2, left}, {0, 1}, 2), rhs({rows, right}, {0, 1}, 3);
      lhs.fillRandom(problem.random);
      rhs.fillRandom(problem.random);
      Box out({4, left, right}, transposed ? std::vector<int>{0, 2, 1} : std::vector<int>{0, 1, 2}, 2);
      out.fill(3);
      ThreadTeam team(2);
      TeamScratch scratch(2);
      scratch.reserve(productScratch * sizeof(float));
      groupedMatmulGrad(team, vectorKernels(), scratch, matrix<const float>(lhs), matrix<const float>(rhs),
                        problem.integers(), 2, accumulate, stack<float>(out), problem.workspaceFor(left, right));
      for (int64_t e = 0; e < 4; ++e)
        for (int64_t k = 0; k < left; ++k)
          for (int64_t n = 0; n < right; ++n) {
            double want = accumulate ? 3 : 0;
            for (int64_t r = 0; r < rows; ++r)
              if (problem.ids[static_cast<size_t>(r)] == e + 2)
                want += double(lhs.at(r / 2, k)) * rhs.at(r, n);
            ASSERT_NEAR(out.at(e, k, n), want, 1e-4);
          }
      EXPECT_TRUE(out.guarded());
    }
}

} // namespace
