//===- StridedCopyTest.cpp - Copies between strided views -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/StridedCopy.h"
#include "runtime/cuda/kernels/Copy.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace dtcc::rt;

namespace {

/// A view of `sizes` whose dimensions lie in memory in the order `order`, innermost last, with `gap` cells behind each
/// run of the innermost.
dtcc_view viewOf(const std::vector<int64_t> &sizes, const std::vector<size_t> &order, int64_t gap, dtcc_dtype type) {
  dtcc_view view = {};
  view.dtype = type;
  view.rank = static_cast<uint8_t>(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    view.strides[order[i]] = step;
    step = step * sizes[order[i]] + (i + 1 == order.size() ? gap : 0);
  }
  std::copy(sizes.begin(), sizes.end(), view.sizes);
  return view;
}

int64_t cellOf(const dtcc_view &view, const std::vector<int64_t> &at) {
  return std::inner_product(at.begin(), at.end(), view.strides, int64_t(0));
}

template <typename T> void copyAndCompare(dtcc_dtype type, std::mt19937 &random) {
  std::uniform_int_distribution<int64_t> anyRank(1, 4), anySize(1, 9), anyGap(0, 2), large(60, 150);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<int64_t> sizes(static_cast<size_t>(anyRank(random)));
    for (int64_t &size : sizes)
      size = anySize(random);
    // Two dimensions of several tiles each, which are no multiple of a tile.
    for (size_t i = 0; i < 2; ++i)
      sizes[std::uniform_int_distribution<size_t>(0, sizes.size() - 1)(random)] = large(random);
    std::vector<size_t> order(sizes.size()), other;
    std::iota(order.begin(), order.end(), size_t(0));
    other = order;
    std::shuffle(order.begin(), order.end(), random);
    std::shuffle(other.begin(), other.end(), random);
    const dtcc_view from = viewOf(sizes, order, anyGap(random), type), to = viewOf(sizes, other, anyGap(random), type);
    std::vector<int64_t> last(sizes);
    for (int64_t &at : last)
      --at;
    std::vector<T> source(static_cast<size_t>(cellOf(from, last)) + 1);
    std::iota(source.begin(), source.end(), T(1));
    const T untouched = T(-1);
    std::vector<T> got(static_cast<size_t>(cellOf(to, last)) + 1, untouched), want = got;
    for (std::vector<int64_t> at(sizes.size(), 0); at[0] < sizes[0];) {
      want[static_cast<size_t>(cellOf(to, at))] = source[static_cast<size_t>(cellOf(from, at))];
      size_t d = at.size();
      for (++at[--d]; at[d] == sizes[d] && d > 0; ++at[--d])
        at[d] = 0;
    }
    ThreadTeam team(trial % 3 + 1);
    StridedCopy(from, to).run(source.data(), got.data(), team);
    ASSERT_EQ(got, want) << "trial " << trial;
  }
}

TEST(StridedCopy, CopiesEveryCellAndNoOther) {
  std::mt19937 random(1);
  copyAndCompare<uint32_t>(DTCC_F32, random);
  copyAndCompare<uint16_t>(DTCC_BF16, random);
  copyAndCompare<int64_t>(DTCC_I64, random);
  copyAndCompare<uint8_t>(DTCC_BOOL, random);
}

/// Kernels for GPUs divide by it.
TEST(Division, IsExactBelow31Bits) {
  using cuda::Division;
  constexpr uint32_t last = 0x7fffffff;
  auto check = [](uint32_t divisor, uint32_t number) {
    const int32_t quotient = Division::by(static_cast<int32_t>(divisor))(static_cast<int32_t>(number));
    ASSERT_EQ(static_cast<uint32_t>(quotient), number / divisor) << number << " / " << divisor;
  };
  std::mt19937 random(1);
  for (uint32_t trial = 1; trial < 100000; ++trial) {
    const uint32_t divisor = trial < 3000 ? trial : random() % (last >> random() % 31) + 1;
    const uint32_t most = last / divisor * divisor;
    for (uint32_t number :
         {uint32_t{0}, divisor - 1, divisor, most - 1, most, last, static_cast<uint32_t>(random()) & last})
      check(divisor, number);
  }
}

} // namespace
