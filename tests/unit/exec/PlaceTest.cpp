//===- PlaceTest.cpp - What ops that move no data do to a box -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/Place.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtcc::exec;

namespace {
using Sizes = SmallVector<int64_t>;

struct PlaceTest : testing::Test {
  MLIRContext context;
  Place dense(ArrayRef<int64_t> shape) {
    return Place::dense(StringAttr::get(&context, "b"), RankedTensorType::get(shape, Float32Type::get(&context)));
  }
};

TEST_F(PlaceTest, PartsAreStrided) {
  Place part = dense({4, 3, 8}).part(1, 2);
  EXPECT_EQ(part.offset, 2 * 8 * 4);
  EXPECT_EQ(part.sizes, Sizes({4, 8}));
  EXPECT_EQ(part.strides, Sizes({24, 1}));
  EXPECT_FALSE(part.isDense());
}

TEST_F(PlaceTest, SlicesStep) {
  Place slice = dense({10, 6}).sliced({1, 2}, {3, 1}, {3, 4});
  EXPECT_EQ(slice.offset, (6 + 2) * 4);
  EXPECT_EQ(slice.strides, Sizes({18, 1}));
}

TEST_F(PlaceTest, TransposeTwiceIsNothing) {
  Place place = dense({2, 3, 4});
  EXPECT_EQ(place.transposed({2, 0, 1}).transposed({1, 2, 0}), place);
}

TEST_F(PlaceTest, ReshapeSplitsAnyDimension) {
  auto split = dense({4, 6}).transposed({1, 0}).reshaped({2, 3, 4});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides, Sizes({3, 1, 6}));
}

TEST_F(PlaceTest, ReshapeMergesWhatLiesTogether) {
  EXPECT_TRUE(dense({4, 6, 5}).reshaped({24, 5}));
  // [4, 6] of columns 0..5 of 8 cannot be one dimension.
  Place gap = dense({4, 8}).sliced({0, 0}, {1, 1}, {4, 6});
  EXPECT_FALSE(gap.reshaped({24}));
  EXPECT_TRUE(gap.reshaped({4, 2, 3}));
}

TEST_F(PlaceTest, MergesKeepBlocksOfOneCell) {
  // Row 0 of each rank's block of one sample, [1, 3, 2] of [ranks, 3, 2].
  Place row = dense({1, 3, 2}).part(1, 0);
  row.blockOf = StringAttr::get(&context, "over.dp");
  row.blockStride = 6;
  SmallVector<int64_t> groups[] = {{0}, {1}};
  auto merged = row.merged(groups);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->strides, Sizes({6, 1}));
  EXPECT_FALSE(merged->isTorn());
}

TEST_F(PlaceTest, ReshapeAddsAndDropsUnits) {
  auto same = dense({1, 4, 1, 3}).reshaped({4, 3, 1});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->isDense());
}

TEST_F(PlaceTest, MergedGroupsOfAProduct) {
  Place place = dense({2, 5, 3, 4});
  SmallVector<int64_t> rows[] = {{}, {0, 1}, {2, 3}};
  auto matrix = place.merged(rows);
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->sizes, Sizes({1, 10, 12}));
  SmallVector<int64_t> apart[] = {{0, 2}, {1}, {3}};
  EXPECT_FALSE(place.merged(apart));
}

TEST_F(PlaceTest, BlocksAreTornByWhatHidesTheirDimension) {
  Place block = dense({4, 12});
  block.sizes[1] = 6;
  block.blockOf = StringAttr::get(&context, "dp");
  block.blockStride = 6;
  EXPECT_EQ(block.blockDim(), 1);
  EXPECT_FALSE(block.isTorn());
  EXPECT_EQ(block.transposed({1, 0}).blockDim(), 0);
  Place torn = block.part(1, 0);
  EXPECT_TRUE(torn.isTorn());
  EXPECT_EQ(torn.withBlockDim().blockDim(), 0);
  EXPECT_EQ(torn.withBlockDim().sizes, Sizes({1, 4}));
  EXPECT_EQ(block.withBlockDim().blockDim(), 2);
}

TEST_F(PlaceTest, BlocksOfOneCellKeepTheirStride) {
  Place block = dense({4, 12});
  block.sizes[0] = 1;
  block.blockOf = StringAttr::get(&context, "dp");
  block.blockStride = 12;
  Place cell = block.part(1, 3);
  EXPECT_EQ(cell.blockDim(), 0);
  EXPECT_EQ(getStrides(cell.type()), Sizes({12}));
}
} // namespace
