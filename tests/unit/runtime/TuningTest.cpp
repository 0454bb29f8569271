//===- TuningTest.cpp - Ways by measurement, of no device ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/tuning/Tuning.h"

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

using namespace dtcc::rt;

namespace {

/// A command whose ways take given times. A way of a negative time fails.
class FakeTunable final : public Tunable {
public:
  struct Way {
    std::string name;
    double seconds;
  };
  FakeTunable(std::string name, std::vector<Way> ways, double share = 0)
      : name(std::move(name)), ways(std::move(ways)), share(share), taken(this->ways.front().name) {}

  std::string problem() const override { return name; }
  std::vector<Choice> candidates() override {
    std::vector<Choice> choices;
    for (const Way &way : ways)
      choices.push_back({way.name});
    return choices;
  }
  bool choose(const Choice &choice) override {
    for (const Way &way : ways)
      if (way.name == choice.way) {
        taken = way.name, current = way.seconds;
        return true;
      }
    return false;
  }
  double seconds(double) override {
    ++runs;
    if (current < 0)
      fail("'", taken, "' does not run");
    return current;
  }
  int passes() const override { return 2; }
  double margin() const override { return share; }

  std::string name;
  std::vector<Way> ways;
  double share, current = 0;
  std::string taken;
  int runs = 0;
};

class TuningTest : public testing::Test {
protected:
  void SetUp() override {
    file = testing::TempDir() + "tuning-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove(file);
  }
  void TearDown() override { std::filesystem::remove(file); }

  static std::string tuneOne(FakeTunable &site, const TuningRequest &request) {
    Tunable *const sites[] = {&site};
    return tune(sites, request, nullptr, 0);
  }
  std::string contents() const {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string &text) const { std::ofstream(file) << text; }
  static std::string line(const std::string &problem, const std::string &way) {
    return problem + "\t" + way + " 0 0 0 0 0 0 0 0\n";
  }

  std::string file;
};

TEST_F(TuningTest, TheFastestIsTakenAndKept) {
  FakeTunable site("product", {{"rule", 3}, {"slow", 9}, {"fast", 2}});
  EXPECT_EQ(tuneOne(site, {file, ""}), line("product", "fast"));
  EXPECT_EQ(site.taken, "fast");
  EXPECT_EQ(contents(), "dtcc choices 1\n" + line("product", "fast"));
  // A way that is more than twice as slow has no second turn.
  EXPECT_EQ(site.runs, 5);
  // What the file has is not measured again, whatever is faster now.
  FakeTunable again("product", {{"rule", 1}, {"fast", 2}});
  EXPECT_EQ(tuneOne(again, {file, ""}), line("product", "fast"));
  EXPECT_EQ(again.runs, 0);
}

TEST_F(TuningTest, TheRuleStaysUnlessAnotherWayIsClearlyFaster) {
  FakeTunable close("close", {{"rule", 1.04}, {"fast", 1}}, 0.05), clear("clear", {{"rule", 1.06}, {"fast", 1}}, 0.05);
  tuneOne(close, {file, ""});
  tuneOne(clear, {file, ""});
  EXPECT_EQ(close.taken, "rule");
  EXPECT_EQ(clear.taken, "fast");
  // Choices of other programs stay in the file.
  EXPECT_EQ(contents(), "dtcc choices 1\n" + line("clear", "fast") + line("close", "rule"));
}

TEST_F(TuningTest, AWayThatFailsIsNone) {
  FakeTunable some("some", {{"broken", -1}, {"works", 2}}), all("all", {{"broken", -1}, {"too", -1}});
  EXPECT_EQ(tuneOne(some, {file, ""}), line("some", "works"));
  EXPECT_EQ(tuneOne(all, {file, ""}), "");
  EXPECT_EQ(all.taken, "broken");
}

TEST_F(TuningTest, DamagedAndUnknownLinesAreMeasuredAgain) {
  for (const std::string &text : {line("product", "of another version"), std::string("product\tfast 0 0\n"),
                                  std::string("product fast\n"), line("", "fast"), line("product", "elsewhere")}) {
    write("dtcc choices 1\n" + text);
    FakeTunable site("product", {{"rule", 3}, {"fast", 2}});
    EXPECT_EQ(tuneOne(site, {file, ""}), line("product", "fast")) << text;
    EXPECT_EQ(contents(), "dtcc choices 1\n" + line("product", "fast"));
  }
}

TEST_F(TuningTest, AnotherFileIsRefusedAndKept) {
  write("mine\n");
  FakeTunable site("product", {{"rule", 3}, {"fast", 2}});
  EXPECT_THROW(tuneOne(site, {file, ""}), Error);
  EXPECT_EQ(contents(), "mine\n");
}

/// The folder would let the file be replaced although nobody can read it.
TEST_F(TuningTest, AFileThatCannotBeReadIsKept) {
  std::filesystem::remove(file);
  std::filesystem::create_symlink(file, file);
  FakeTunable site("product", {{"rule", 3}, {"fast", 2}});
  EXPECT_THROW(tuneOne(site, {file, ""}), Error);
  EXPECT_EQ(site.runs, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(file));
}

TEST_F(TuningTest, ACheckpointGoesBeforeTheFile) {
  write("dtcc choices 1\n" + line("product", "fast"));
  FakeTunable site("product", {{"rule", 3}, {"fast", 2}, {"before", 4}});
  EXPECT_EQ(tuneOne(site, {file, line("product", "before")}), line("product", "before"));
  EXPECT_EQ(site.runs, 0);
}

TEST_F(TuningTest, WithoutAFileNothingIsMeasured) {
  FakeTunable known("known", {{"rule", 3}, {"fast", 2}}), unknown("unknown", {{"rule", 3}, {"fast", 2}});
  Tunable *const sites[] = {&known, &unknown};
  EXPECT_EQ(tune(sites, {"", line("known", "fast") + line("unknown", "elsewhere")}, nullptr, 0), line("known", "fast"));
  EXPECT_EQ(known.taken, "fast");
  EXPECT_EQ(unknown.taken, "rule");
  EXPECT_EQ(known.runs + unknown.runs, 0);
  EXPECT_EQ(tuneOne(known, {"", "of another version\n"}), "");
  EXPECT_EQ(known.taken, "rule");
}

/// Tunes two ranks, each with its sites.
std::vector<std::string> tuneRanks(std::vector<std::vector<Tunable *>> sites, const TuningRequest &request) {
  Launch launch;
  launch.ranks = static_cast<int64_t>(sites.size());
  auto transport = createTransport(launch);
  std::vector<int64_t> members(sites.size());
  std::iota(members.begin(), members.end(), int64_t{0});
  std::vector<std::string> chosen(sites.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < sites.size(); ++i)
    threads.emplace_back([&, i] {
      auto all = transport->group("tuning", members, static_cast<int64_t>(i));
      chosen[i] = tune(sites[i], request, all.get(), static_cast<int64_t>(i));
    });
  for (std::thread &thread : threads)
    thread.join();
  return chosen;
}

TEST_F(TuningTest, RanksTakeTheWordOfTheFirstThatHasAProblem) {
  FakeTunable first("both", {{"a", 1}, {"b", 2}}), second("both", {{"a", 2}, {"b", 1}}),
      alone("of the second", {{"a", 2}, {"b", 1}});
  const std::vector<std::string> chosen = tuneRanks({{&first}, {&second, &alone}}, {file, ""});
  EXPECT_EQ(chosen, std::vector<std::string>(2, line("both", "a") + line("of the second", "b")));
  EXPECT_EQ(second.taken, "a");
  EXPECT_EQ(second.runs, 0);
  EXPECT_EQ(alone.taken, "b");
  EXPECT_EQ(contents(), "dtcc choices 1\n" + chosen[0]);
}

TEST_F(TuningTest, WhatOneRankCannotTakeNoneTakes) {
  FakeTunable first("both", {{"a", 2}, {"b", 1}}), second("both", {{"a", 2}});
  for (const TuningRequest &request : {TuningRequest{file, ""}, TuningRequest{"", line("both", "b")}}) {
    EXPECT_EQ(tuneRanks({{&first}, {&second}}, request), std::vector<std::string>(2, ""));
    EXPECT_EQ(first.taken, "a");
    EXPECT_EQ(second.taken, "a");
  }
}

} // namespace
