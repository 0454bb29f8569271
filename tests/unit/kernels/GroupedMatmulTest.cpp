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

/// The cells of a box as they lie, in f32 or in halves, to which the box's own are rounded.
struct Cells {
  Cells(Box &box, dtcc_dtype type) : box(box), type(type), bytes(box.memory.size() * size()) {
    for (size_t i = 0; i < box.memory.size(); ++i) {
      if (type == DTCC_F32) {
        std::memcpy(&bytes[i * size()], &box.memory[i], sizeof(float));
        continue;
      }
      vectorKernels().narrow(type, &box.memory[i], 1, &bytes[i * size()]);
      vectorKernels().widen(type, &bytes[i * size()], 1, &box.memory[i]);
    }
    before = bytes;
  }
  size_t size() const { return static_cast<size_t>(dtcc_dtype_size(type)); }
  /// Back to the box. Fails if anything beside it was written.
  void read() {
    for (size_t i = 0; i < box.memory.size(); ++i) {
      if (!box.inside[i])
        EXPECT_EQ(std::memcmp(&bytes[i * size()], &before[i * size()], size()), 0) << "beside the result: " << i;
      if (type == DTCC_F32)
        std::memcpy(&box.memory[i], &bytes[i * size()], sizeof(float));
      else
        vectorKernels().widen(type, &bytes[i * size()], 1, &box.memory[i]);
    }
  }
  Box &box;
  dtcc_dtype type;
  std::vector<std::byte> bytes, before;
};

struct Types {
  dtcc_dtype type, outType;
  /// Tolerance of a result near `value`. The terms are exact, so only the result itself is rounded.
  double tolerance(double value) const {
    double step = outType == DTCC_BF16 ? 1.0 / 256 : outType == DTCC_F16 ? 1.0 / 2048 : 0;
    return 1e-4 + step * std::abs(value);
  }
};
constexpr Types allTypes[] = {
    {DTCC_F32, DTCC_F32}, {DTCC_BF16, DTCC_BF16}, {DTCC_BF16, DTCC_F32}, {DTCC_F16, DTCC_F16}, {DTCC_F16, DTCC_F32}};

/// `rows` rows of ids in [0, 7), of which this shard holds [2, 6): 5 is never picked.
struct Problem {
  explicit Problem(int64_t rows) {
    for (int64_t r = 0; r < rows; ++r)
      ids.push_back(random() % 7 == 5 ? 4 : static_cast<int64_t>(random() % 5));
  }
  GroupedProblem of(Types types, int64_t k, int64_t n, const Box &lhs, int64_t lhsRepeat, const Box &side,
                    int64_t sideRepeat, const Box &stack) const {
    GroupedProblem p{types.type, types.outType, static_cast<int64_t>(ids.size()), 4, k, n, {}, {}, {}};
    p.lhs = {lhsRepeat, lhs.strides[0], lhs.strides[1]};
    p.side = {sideRepeat, side.strides[0], side.strides[1]};
    std::copy(stack.strides.begin(), stack.strides.end(), p.stackStrides);
    return p;
  }
  GroupedIds idsFor(int64_t left, int64_t right) {
    const auto rows = static_cast<int64_t>(ids.size());
    memory.assign(static_cast<size_t>(dtcc::grouped_workspace::bytes(rows, 4, left, right)) + 64, std::byte(0xff));
    auto at = reinterpret_cast<uintptr_t>(memory.data());
    return {{ids.data(), rows, 1, true}, 2, memory.data() + (64 - at % 64) % 64};
  }

  std::mt19937 random{5};
  std::vector<int64_t> ids;
  std::vector<std::byte> memory;
};

void multiply(Types types, int64_t lhsRepeat, int64_t outRepeat, int64_t inner, int64_t columns, bool transposed) {
  const int64_t rows = 86;
  Problem problem(rows);
  std::vector<int> order = transposed ? std::vector<int>{0, 2, 1} : std::vector<int>{0, 1, 2};
  Box lhs({rows / lhsRepeat, inner}, {0, 1}, 2), rhs({4, inner, columns}, order, 3);
  lhs.fillRandom(problem.random);
  rhs.fillRandom(problem.random);
  Cells left(lhs, types.type), right(rhs, types.type);
  std::vector<double> want(static_cast<size_t>(rows / outRepeat * columns));
  for (int64_t r = 0; r < rows; ++r)
    if (int64_t group = problem.ids[static_cast<size_t>(r)] - 2; group >= 0 && group < 4)
      for (int64_t k = 0; k < inner; ++k)
        for (int64_t n = 0; n < columns; ++n)
          want[static_cast<size_t>(r / outRepeat * columns + n)] +=
              double(lhs.at(r / lhsRepeat, k)) * rhs.at(group, k, n);
  std::vector<float> first;
  for (int threads : {1, 3}) {
    Box out({rows / outRepeat, columns}, transposed ? std::vector<int>{1, 0} : std::vector<int>{0, 1}, 1);
    out.fill(7);
    Cells cells(out, types.outType);
    ThreadTeam team(threads);
    TeamScratch scratch(threads);
    GroupedProblem p = problem.of(types, inner, columns, lhs, lhsRepeat, out, outRepeat, rhs);
    GroupedBlocks blocks(p, /*gradient=*/false, vectorKernels(), scratch);
    groupedMatmul(team, vectorKernels(), scratch, p, blocks, left.bytes.data(), right.bytes.data(),
                  problem.idsFor(p.leftRow(), p.productRow()), cells.bytes.data());
    cells.read();
    std::vector<float> got;
    for (int64_t i = 0; i < rows / outRepeat; ++i)
      for (int64_t n = 0; n < columns; ++n) {
        got.push_back(out.at(i, n));
        double value = want[static_cast<size_t>(i * columns + n)];
        ASSERT_NEAR(out.at(i, n), value, types.tolerance(value));
      }
    EXPECT_TRUE(first.empty() || first == got);
    first = got;
  }
}

TEST(GroupedMatmul, EveryRowMeetsItsMatrixAndThoseOfOthersGiveZero) {
  for (Types types : allTypes)
    for (int64_t lhsRepeat : {1, 2})
      for (int64_t outRepeat : {1, 2})
        for (auto [inner, columns] : {std::pair<int64_t, int64_t>{1, 1}, {13, 70}, {65, 8}})
          for (bool transposed : {false, true})
            multiply(types, lhsRepeat, outRepeat, inner, columns, transposed);
}

TEST(GroupedMatmulGrad, SumsTheRowsOfEveryMatrix) {
  for (Types types : allTypes)
    for (bool accumulate : {false, true})
      for (bool transposed : {false, true}) {
        const int64_t rows = 86, left = 13, right = 21;
        Problem problem(rows);
        Box lhs({rows / 2, left}, {0, 1}, 2), rhs({rows, right}, {0, 1}, 3);
        lhs.fillRandom(problem.random);
        rhs.fillRandom(problem.random);
        Cells leftCells(lhs, types.type), rightCells(rhs, types.type);
        Box out({4, left, right}, transposed ? std::vector<int>{0, 2, 1} : std::vector<int>{0, 1, 2}, 2);
        out.fill(3);
        Cells cells(out, types.outType);
        ThreadTeam team(2);
        TeamScratch scratch(2);
        GroupedProblem p = problem.of(types, left, right, lhs, 2, rhs, 1, out);
        GroupedBlocks blocks(p, /*gradient=*/true, vectorKernels(), scratch);
        groupedMatmulGrad(team, vectorKernels(), scratch, p, blocks, leftCells.bytes.data(), rightCells.bytes.data(),
                          problem.idsFor(p.leftRow(), p.rightRow()), accumulate, cells.bytes.data());
        cells.read();
        for (int64_t e = 0; e < 4; ++e)
          for (int64_t k = 0; k < left; ++k)
            for (int64_t n = 0; n < right; ++n) {
              double want = accumulate ? 3 : 0;
              for (int64_t r = 0; r < rows; ++r)
                if (problem.ids[static_cast<size_t>(r)] == e + 2)
                  want += double(lhs.at(r / 2, k)) * rhs.at(r, n);
              ASSERT_NEAR(out.at(e, k, n), want, types.tolerance(want));
            }
      }
}

} // namespace
