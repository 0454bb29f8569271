//===- tests/unit/graph/DimensionClassesTest.cpp - Splitting and joining of dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "passes/graph/DimensionClasses.h"
#include "gtest/gtest.h"

using dtcc::graph::DimensionClasses;
using Id = DimensionClasses::Id;

static std::vector<int64_t> sizes(const DimensionClasses &classes, llvm::ArrayRef<Id> ids) {
  std::vector<int64_t> result;
  for (Id leaf : classes.leaves(ids))
    result.push_back(classes.size(leaf));
  return result;
}

TEST(DimensionClasses, EqualSizesJoin) {
  DimensionClasses classes;
  Id a = classes.create(6), b = classes.create(6);
  ASSERT_TRUE(classes.unify(a, b));
  EXPECT_EQ(classes.leaves(a), classes.leaves(b));
}

TEST(DimensionClasses, SplitReachesEveryHolder) {
  DimensionClasses classes;
  Id hidden = classes.create(768), other = classes.create(768), heads = classes.create(12),
     channels = classes.create(64);
  ASSERT_TRUE(classes.unify(hidden, other));
  ASSERT_TRUE(classes.unify(hidden, {heads, channels}));
  EXPECT_EQ(sizes(classes, other), (std::vector<int64_t>{12, 64}));
}

TEST(DimensionClasses, FinestCommonFactors) {
  DimensionClasses classes;
  Id stream = classes.create(768);
  ASSERT_TRUE(classes.unify(stream, {classes.create(12), classes.create(64)}));
  ASSERT_TRUE(classes.unify(stream, {classes.create(24), classes.create(32)}));
  EXPECT_EQ(sizes(classes, stream), (std::vector<int64_t>{12, 2, 32}));
}

TEST(DimensionClasses, ConflictChangesNothing) {
  DimensionClasses classes;
  Id stream = classes.create(768), heads = classes.create(16), channels = classes.create(48);
  ASSERT_TRUE(classes.unify(stream, {classes.create(12), classes.create(64)}));
  EXPECT_FALSE(classes.unify(stream, {heads, channels}));
  EXPECT_EQ(sizes(classes, stream), (std::vector<int64_t>{12, 64}));
  EXPECT_EQ(sizes(classes, {heads, channels}), (std::vector<int64_t>{16, 48}));
  EXPECT_NE(classes.leaves(heads), classes.leaves(stream));
}

TEST(DimensionClasses, ListsOfDifferentProductsAreNotEqual) {
  DimensionClasses classes;
  Id a = classes.create(4), b = classes.create(4), c = classes.create(2);
  EXPECT_FALSE(classes.unify(a, {b, c}));
  EXPECT_NE(classes.leaves(a), classes.leaves(b));
}
