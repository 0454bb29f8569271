//===- SimulationTest.cpp - Streams, links and waits by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Simulation.h"
#include <gtest/gtest.h>

using namespace dtcc::cost;

TEST(Simulation, StreamsKeepTheirOrderAndWait) {
  Simulation simulation;
  auto one = simulation.addStream(), other = simulation.addStream();
  auto a = simulation.addTask(one, 2), b = simulation.addTask(one, 1);
  auto c = simulation.addTask(other, 3), d = simulation.addTask(other, 0);
  simulation.wait(c, b);
  ASSERT_TRUE(simulation.run());
  EXPECT_DOUBLE_EQ(simulation.end(a), 2);
  EXPECT_DOUBLE_EQ(simulation.start(b), 2);
  EXPECT_DOUBLE_EQ(simulation.start(c), 3);
  EXPECT_DOUBLE_EQ(simulation.end(d), 6);
  EXPECT_DOUBLE_EQ(simulation.end(), 6);
}

TEST(Simulation, SaysThatTasksWaitForEachOther) {
  Simulation simulation;
  auto one = simulation.addStream(), other = simulation.addStream();
  auto a = simulation.addTask(one, 2), b = simulation.addTask(other, 1);
  simulation.wait(a, b);
  simulation.wait(b, a);
  EXPECT_FALSE(simulation.run());
}

/// Two transfers that need all of a link each go at half their rates while both run: the first
/// has 4 of its 6 seconds left when the second begins; both end their common part at 2 + 2 * 3.
TEST(Simulation, LinksAreShared) {
  Simulation simulation;
  auto link = simulation.addLink();
  auto delay = simulation.addStream(), one = simulation.addStream(), other = simulation.addStream();
  auto wait = simulation.addTask(delay, 2);
  auto a = simulation.addTask(one, 6), b = simulation.addTask(other, 3);
  simulation.wait(b, wait);
  simulation.use(a, link, 1);
  simulation.use(b, link, 1);
  ASSERT_TRUE(simulation.run());
  EXPECT_DOUBLE_EQ(simulation.end(b), 8);
  EXPECT_DOUBLE_EQ(simulation.end(a), 9);
}

/// Shares that fit do not disturb each other; what moves over two links goes as the fuller lets it.
TEST(Simulation, TheFullestLinkDecides) {
  Simulation simulation;
  auto narrow = simulation.addLink(), wide = simulation.addLink();
  std::vector<Simulation::Id> tasks;
  for (double share : {0.5, 0.5, 0.5}) {
    tasks.push_back(simulation.addTask(simulation.addStream(), 4));
    simulation.use(tasks.back(), wide, share / 2);
  }
  simulation.use(tasks[0], narrow, 1);
  tasks.push_back(simulation.addTask(simulation.addStream(), 4));
  simulation.use(tasks.back(), narrow, 1);
  ASSERT_TRUE(simulation.run());
  EXPECT_DOUBLE_EQ(simulation.end(tasks[1]), 4);
  EXPECT_DOUBLE_EQ(simulation.end(tasks[2]), 4);
  EXPECT_DOUBLE_EQ(simulation.end(tasks[0]), 8);
}

/// 10 seconds of work beside 5 of a transfer that takes a tenth of it: half a second more.
TEST(Simulation, CommunicationSlowsComputation) {
  Simulation simulation;
  auto compute = simulation.addStream(), collectives = simulation.addStream();
  simulation.slow(compute, collectives, 0.1);
  auto work = simulation.addTask(compute, 10);
  auto transfer = simulation.addTask(collectives, 5);
  ASSERT_TRUE(simulation.run());
  EXPECT_DOUBLE_EQ(simulation.end(transfer), 5);
  EXPECT_DOUBLE_EQ(simulation.end(work), 10.5);
}
