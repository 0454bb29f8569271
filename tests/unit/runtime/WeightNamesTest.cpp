//===- WeightNamesTest.cpp - A model's tensors among those of its weights
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/WeightNames.h"

#include <gtest/gtest.h>

namespace dtcc {
namespace {

WantedTensor want(std::vector<std::string> names, std::vector<int64_t> shape = {2}, bool required = true) {
  return {std::move(names), std::move(shape), true, required};
}

std::map<std::string, HeldTensor> hold(std::initializer_list<const char *> names) {
  std::map<std::string, HeldTensor> held;
  for (const char *name : names)
    held[name] = {"F32", {2}};
  return held;
}

using Names = std::vector<std::string>;

TEST(WeightNames, EqualNames) {
  WeightMatch match = matchWeights({want({"a"}), want({"b.c"})}, hold({"a", "b.c"}));
  EXPECT_EQ(match.names, (Names{"a", "b.c"}));
  EXPECT_EQ(problemsOf(match, false), "");
  EXPECT_TRUE(notesOf(match).empty());
}

TEST(WeightNames, TheModelHasAPrefix) {
  WeightMatch match = matchWeights({want({"m.x.a"}), want({"m.x.b"}), want({"m.y"})}, hold({"x.a", "x.b", "y"}));
  EXPECT_EQ(match.names, (Names{"x.a", "x.b", "y"}));
  EXPECT_EQ(match.spelled("m.z"), "z");
  EXPECT_EQ(notesOf(match), (Names{"names of the model are taken without 'm.'"}));
}

TEST(WeightNames, TheWeightsHaveAPrefix) {
  WeightMatch match = matchWeights({want({"a"}), want({"b"})}, hold({"m.a", "m.b"}));
  EXPECT_EQ(match.names, (Names{"m.a", "m.b"}));
  EXPECT_EQ(match.spelled("z"), "m.z");
}

// One prefix serves all: two that differ would be two models.
TEST(WeightNames, OnePrefixAlone) {
  WeightMatch match = matchWeights({want({"a"}), want({"b"}), want({"c"})}, hold({"m.a", "m.b", "n.c"}));
  EXPECT_EQ(match.names, (Names{"m.a", "m.b", ""}));
  EXPECT_EQ(match.missing, Names{"'c'"});
}

TEST(WeightNames, TiedUnderAnyOfTheirNames) {
  EXPECT_EQ(matchWeights({want({"embed", "head"})}, hold({"head"})).names, Names{"head"});
  WeightMatch both = matchWeights({want({"embed", "head"})}, hold({"embed", "head"}));
  EXPECT_EQ(both.names, Names{"embed"});
  EXPECT_TRUE(both.surplus.empty());
}

TEST(WeightNames, ListsEverythingThatDoesNotFit) {
  auto held = hold({"a", "c", "d"});
  held["b"] = {"F32", {3, 2}};
  held["e"] = {"I8", {2}};
  WeightMatch match = matchWeights(
      {want({"a"}), want({"b"}, {2, 3}), want({"e"}), want({"f"}), want({"running"}, {2}, /*required=*/false)}, held);
  EXPECT_EQ(problemsOf(match, false), "1 missing: 'f'; 2 unfit: 'b' must be [2, 3], got: [3, 2] (the model holds it "
                                      "transposed), 'e' must hold F32, BF16, F16 or F64, got: I8; 2 not of the model: "
                                      "'c', 'd'");
  EXPECT_EQ(problemsOf(match, true).find("missing"), std::string::npos);
}

// PyTorch saves num_batches_tracked as an integer.
TEST(WeightNames, CountersMayBeIntegers) {
  auto held = hold({"a"});
  held["count"] = {"I64", {}};
  WantedTensor count = want({"count"}, {}, /*required=*/false);
  EXPECT_EQ(matchWeights({want({"a"}), count}, held).unfit.size(), 1u);
  count.takesIntegers = true;
  EXPECT_TRUE(matchWeights({want({"a"}), count}, held).unfit.empty());
}

TEST(WeightNames, SurplusAloneIsNoProblem) {
  WeightMatch match = matchWeights({want({"a"})}, hold({"a", "b"}));
  EXPECT_EQ(problemsOf(match, false), "");
  EXPECT_EQ(notesOf(match), (Names{"1 of the weights not of the model, not read: 'b'"}));
}

} // namespace
} // namespace dtcc
