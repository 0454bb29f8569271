//===- RendezvousTest.cpp - Programs that wait for each other end, or it is said why not
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/schedule/ExchangeProgram.h"
#include "gtest/gtest.h"
#include <sstream>

using namespace dtcc::plan;

namespace {

/// "s1a" sends to stage 1 on channel a, "r0a" receives from stage 0, "c01" is a collective of stages 0 and 1 in
/// group g; what follows a colon is what is exchanged.
StageExchange parse(const std::string &word) {
  StageExchange exchange;
  size_t colon = word.find(':');
  exchange.what = colon == std::string::npos ? "x" : word.substr(colon + 1);
  std::string head = word.substr(0, colon);
  exchange.where = "at " + word;
  if (head[0] == 'c') {
    exchange.kind = StageExchange::Collective;
    for (char member : head.substr(1))
      exchange.members.push_back(member - '0');
    exchange.channel = "g" + head.substr(1);
    return exchange;
  }
  exchange.kind = head[0] == 's' ? StageExchange::Send : StageExchange::Receive;
  exchange.peer = head[1] - '0';
  exchange.channel = head.substr(2);
  return exchange;
}

/// Returns the first problem of some programs, given as one line each, or "". Every send has room for one message, and
/// "+s1a" in front of a program gives the channel room for one more.
std::string problemOf(const std::vector<std::string> &lines) {
  Rendezvous rendezvous(lines.size());
  std::vector<std::vector<StageExchange>> programs(lines.size());
  for (size_t stage = 0; stage < lines.size(); ++stage) {
    std::istringstream words(lines[stage]);
    for (std::string word; words >> word;)
      if (word[0] == '+')
        rendezvous.reserve(stage, parse(word.substr(1)));
      else
        programs[stage].push_back(parse(word));
  }
  std::vector<size_t> at(lines.size());
  auto next = [&](int64_t stage) -> llvm::FailureOr<std::optional<StageExchange>> {
    return at[stage] < programs[stage].size() ? std::optional(programs[stage][at[stage]++]) : std::nullopt;
  };
  size_t passed = 0, all = 0;
  for (const auto &program : programs)
    all += program.size();
  llvm::FailureOr<std::string> problem =
      rendezvous.run(next, [&](llvm::ArrayRef<int64_t> stages) { passed += stages.size(); });
  EXPECT_TRUE(llvm::succeeded(problem));
  if (problem->empty()) {
    EXPECT_EQ(passed, all);
  }
  return *problem;
}

TEST(Rendezvous, WhatEnds) {
  EXPECT_EQ(problemOf({""}), "");
  EXPECT_EQ(problemOf({"s1a r1b", "r0a s0b"}), "");
  // A send goes on, so both may send first.
  EXPECT_EQ(problemOf({"s1a r1b", "s0b r0a"}), "");
  EXPECT_EQ(problemOf({"s1a c01 s1a c01", "c01 r0a c01 r0a"}), "");
  // Channels do not wait for each other.
  EXPECT_EQ(problemOf({"s1a s1b", "r0b r0a"}), "");
  EXPECT_EQ(problemOf({"+s1a +s1a s1a s1a c01", "c01 r0a r0a"}), "");
}

TEST(Rendezvous, SwappedOrdersAreSeen) {
  EXPECT_EQ(problemOf({"r1b s1a", "r0a s0b"}),
            "the step never ends: stage 0 waits at r1b for a message of stage 1 on channel b, stage 1 waits at r0a for "
            "a message of stage 0 on channel a");
  // The second message finds no room before the collective.
  EXPECT_EQ(problemOf({"+s1a s1a s1a c01", "c01 r0a r0a"}),
            "the step never ends: stage 0 waits at s1a to send to stage 1 on channel a, stage 1 waits at c01 for the "
            "others of group g01");
  EXPECT_NE(problemOf({"c01 c02", "c12 c01", "c02 c12"}), "");
  // Around a ring, each waits for the one before.
  EXPECT_NE(problemOf({"r2a s1a", "r0a s2a", "r1a s0a"}), "");
}

/// A program of one phase.
ExchangeProgram programOf(const std::string &line) {
  ExchangeProgram program;
  program.phases.push_back({"all", {}});
  std::istringstream words(line);
  for (std::string word; words >> word;)
    program.phases[0].exchanges.push_back(parse(word));
  program.runs.push_back({0, 0});
  return program;
}

TEST(Rendezvous, RoomIsReservedWhereItHelps) {
  // The first stage makes three values for the second before it makes what that one waits for.
  auto programs = [](const std::string &a, const std::string &b) {
    return std::vector<ExchangeProgram>{programOf(a), programOf(b)};
  };
  std::vector<ExchangeProgram> stages = programs("c01 s1a s1c", "c01 r0c r0a");
  stages[0].runs = {{0, 0}};
  stages[0].phases.push_back({"again", {parse("s1a"), parse("s1a"), parse("s1a"), parse("s1c")}});
  stages[1].phases.push_back({"again", {parse("r0c"), parse("r0a"), parse("r0a"), parse("r0a")}});
  stages[0].runs.push_back({1, 1});
  stages[1].runs.push_back({1, 1});
  EXPECT_EQ(checkExchanges(stages), "");
  // In a second phase the sends of the channel share what room there is.
  stages = programs("s1a", "r0a");
  stages[0].phases.push_back({"signal", {parse("s1c")}});
  stages[1].phases.push_back({"signal", {parse("r0c")}});
  stages[0].runs = {{0, 0}, {0, 1}, {0, 2}, {1, 0}};
  stages[1].runs = {{1, 0}, {0, 0}, {0, 1}, {0, 2}};
  EXPECT_EQ(checkExchanges(stages),
            "the step never ends: stage 0 waits in all 1 to send to stage 1 on channel a, stage "
            "1 waits in signal 0 for a message of stage 0 on channel c");
  reserveExchanges(stages);
  EXPECT_EQ(checkExchanges(stages), "");
  EXPECT_EQ(stages[0].phases[0].exchanges[0].room, 3);
  EXPECT_EQ(stages[0].phases[1].exchanges[0].room, 1);
  // Messages of an evaluation on that channel give the step no room.
  stages = programs("s1a", "r0a");
  stages[0].phases.push_back({"signal", {parse("s1c")}});
  stages[1].phases.push_back({"signal", {parse("r0c")}});
  stages[0].phases.push_back({"evaluate", {parse("s1a")}, true});
  stages[1].phases.push_back({"evaluate", {parse("r0a")}, true});
  stages[0].runs = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {2, 0}};
  stages[1].runs = {{1, 0}, {0, 0}, {0, 1}, {0, 2}, {2, 0}};
  reserveExchanges(stages);
  EXPECT_EQ(stages[0].phases[0].exchanges[0].room, 3);
  // If both stages wait to receive, no room helps.
  stages = programs("r1b s1a", "r0a s0b");
  reserveExchanges(stages);
  EXPECT_EQ(stages[0].phases[0].exchanges[1].room, 1);
  EXPECT_NE(checkExchanges(stages), "");
}

/// The channels of a program's messages, in order.
std::string channelsOf(const ExchangeProgram &program) {
  std::string text;
  for (const auto &phase : program.phases)
    for (const StageExchange &exchange : phase.exchanges)
      text += exchange.channel + " ";
  return text;
}

TEST(Rendezvous, ChannelsInOneOrderAreMerged) {
  auto merged = [](const std::vector<std::string> &lines) {
    std::vector<ExchangeProgram> stages;
    for (const std::string &line : lines)
      stages.push_back(programOf(line));
    bool ended = checkExchanges(stages).empty();
    mergeChannels(stages);
    EXPECT_EQ(checkExchanges(stages).empty(), ended);
    std::string text;
    for (const ExchangeProgram &stage : stages)
      text += channelsOf(stage) + "| ";
    return text;
  };
  EXPECT_EQ(merged({"s1a s1b r1c s1a r1d", "r0a r0b s0c r0a s0d"}), "0 0 0 0 0 | 0 0 0 0 0 | ");
  // The receiver takes b first: of the rest, c goes with a.
  EXPECT_EQ(merged({"s1a s1b s1c", "r0b r0a r0c"}), "0 1 0 | 1 0 0 | ");
  // Messages to another stage, and messages back, keep channels of their own.
  EXPECT_EQ(merged({"s1a s2b", "r0a s2a", "r0b r1a"}), "0 0 | 0 0 | 0 0 | ");
  EXPECT_EQ(merged({"s1a s1b s2a s2b", "r0b r0a", "r0a r0b"}), "0 1 0 0 | 1 0 | 0 0 | ");
  // A program that never ends is left as it is.
  EXPECT_EQ(merged({"s1a s1b", "r0a"}), "0 1 | 0 | ");
  // The order is that of the step, not of the program's text.
  std::vector<ExchangeProgram> stages = {programOf("s1a"), programOf("r0b")};
  stages[0].phases.push_back({"second", {parse("s1b")}});
  stages[1].phases.push_back({"second", {parse("r0a")}});
  stages[0].runs = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  stages[1].runs = {{1, 0}, {0, 0}, {1, 1}, {0, 1}};
  mergeChannels(stages);
  EXPECT_EQ(channelsOf(stages[0]) + channelsOf(stages[1]), "0 0 0 0 ");
  EXPECT_EQ(checkExchanges(stages), "");
}

TEST(Rendezvous, BothSidesAgree) {
  EXPECT_EQ(problemOf({"s1a:f32", "r0a:i64"}), "stage 1 receives i64 at r0a:i64, but stage 0 sends f32 on channel a");
  EXPECT_EQ(problemOf({"c01:sum", "c01:max"}),
            "members of group g01 issue different collectives: stage 0 sum at c01:sum, stage 1 max at c01:max");
  EXPECT_EQ(problemOf({"s1a:f32", ""}), "stage 1 never receives f32, which stage 0 sends on channel a");
  EXPECT_EQ(problemOf({"r1a", ""}), "the step never ends: stage 0 waits at r1a for a message of stage 1 on channel a");
}

} // namespace
