//===- PeersTest.cpp - Processes that disagree, end or are told to end -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two processes of one job, each with a command line of its own. Nothing here is timed: a
// test does something to one process when the other has trained a step, and waits for that
// one to end.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dtcc::rt::test {
namespace {

class Peers : public testing::Test {
protected:
  void SetUp() override { writeRegressionData(data, 44); }
  void TearDown() override {
    for (pid_t child : children)
      if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
      }
  }

  /// Starts rank `rank` of two, as torchrun would. What it says goes to a file of its own.
  void start(int rank, std::vector<std::string> options, const std::string &ranks = "2") {
    std::string output = out / ("output-" + std::to_string(rank));
    std::vector<std::string> arguments{DTCC_TEST_PROGRAM, "--data=" + data.path};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::vector<char *> pointers;
    for (std::string &argument : arguments)
      pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(file, STDOUT_FILENO);
      dup2(file, STDERR_FILENO);
      for (auto [name, value] : {std::pair<const char *, std::string>{"WORLD_SIZE", "2"},
                                 {"LOCAL_WORLD_SIZE", "2"},
                                 {"RANK", std::to_string(rank)},
                                 {"LOCAL_RANK", std::to_string(rank)},
                                 {"MASTER_PORT", "29500"},
                                 {"TORCHELASTIC_RUN_ID", "peers-" + std::to_string(getppid())},
                                 {"DTCC_TEST_RANKS", ranks},
                                 {"DTCC_TEST_MICROBATCHES", "1"}})
        setenv(name, value.c_str(), 1);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    children[static_cast<size_t>(rank)] = child;
  }

  /// Waits for the end of a rank.
  Outcome end(int rank) {
    pid_t &child = children[static_cast<size_t>(rank)];
    Outcome outcome;
    int status = 0;
    for (int tenths = 0; tenths < 600; ++tenths) {
      if (waitpid(child, &status, WNOHANG) == child) {
        child = 0;
        outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    outcome.output = readFile(out / ("output-" + std::to_string(rank)));
    return outcome;
  }

  /// Two ranks that train for ever; returns when they have trained some steps.
  void startForEver(const std::string &option = "--threads=1") {
    std::string metrics = out / "metrics";
    for (int rank : {0, 1})
      start(rank, {"--steps=1000000000", "--metrics=" + metrics, option});
    for (int tenths = 0; metric(metrics, "loss").empty(); ++tenths) {
      ASSERT_LT(tenths, 600) << readFile(out / "output-0") << readFile(out / "output-1");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  void signal(int rank, int number) { kill(children[static_cast<size_t>(rank)], number); }
  pid_t pid(int rank) const { return children[static_cast<size_t>(rank)]; }

  Folder data, out;
  std::vector<pid_t> children{0, 0};
};

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++found;
  return found;
}

TEST_F(Peers, DifferentCommandLinesAreRefused) {
  struct Case {
    std::vector<std::string> first, second;
    std::string expected;
  };
  std::string save = "--save=" + (out / "save.st"), checkpoint = "--checkpoint=" + (out / "ck");
  // As long as the first rank's, but other numbers.
  std::string targets = readFile(data / "y.npy");
  targets.back() ^= 1;
  writeFile(out / "y.npy", targets);
  const Case cases[] = {
      {{"--steps=2"}, {"--steps=2", "--data=y=" + (out / "y.npy")}, "rank 0 has the data "},
      {{"--steps=2", save}, {"--steps=2"}, "rank 0 has " + save + ", rank 1 has no --save"},
      {{"--steps=2"}, {"--steps=3"}, "rank 0 has 2 steps, rank 1 has 3 steps"},
      {{"--steps=2", checkpoint}, {"--steps=2"}, "rank 0 has " + checkpoint + ", rank 1 has no --checkpoint"},
      {{"--steps=2", checkpoint, "--resume"}, {"--steps=2", checkpoint}, "rank 0 has --resume, rank 1 has no --resume"},
      {{"--steps=2"}, {"--steps=2", "--seed=8"}, "rank 0 has --seed=7, rank 1 has --seed=8"},
      {{"--steps=2", "--lr=0.1"}, {"--steps=2", "--lr=0.2"}, "rank 0 has --lr=0.10000000000000001"},
      {{"--steps=2"}, {"--steps=2", "--shuffle=1"}, "rank 0 has no --shuffle, rank 1 has --shuffle=1"},
      {{"--steps=2", "--lr-schedule=linear"},
       {"--steps=2", "--lr-schedule=linear", "--decay-steps=1"},
       "rank 0 has --decay-steps=0, rank 1 has --decay-steps=1"},
      {{"--steps=2", "--warmup=1"},
       {"--steps=2", "--warmup=1", "--lr-restart=1"},
       "rank 0 has --lr-restart=0, rank 1 has --lr-restart=1"},
  };
  for (const Case &c : cases) {
    start(0, c.first);
    start(1, c.second);
    Outcome zero = end(0), one = end(1);
    std::string both = zero.output + one.output;
    EXPECT_NE(both.find("error: all ranks must be started alike: " + c.expected), std::string::npos)
        << c.expected << "\n"
        << both;
    EXPECT_EQ(count(both, "error:"), 1u) << both;
    EXPECT_EQ(zero.status, 1);
    EXPECT_EQ(one.status, 1);
  }
}

TEST_F(Peers, WhatRanksMayHaveOfTheirOwnIsNotCompared) {
  start(0, {"--steps=2", "--metrics=" + (out / "0.jsonl"), "--threads=1", "--hang-timeout=50"});
  start(1, {"--steps=2", "--metrics=" + (out / "1.jsonl"), "--threads=2"});
  Outcome zero = end(0), one = end(1);
  EXPECT_EQ(zero.status, 0) << zero.output;
  EXPECT_EQ(one.status, 0) << one.output;
}

TEST_F(Peers, AKilledProcessIsNamed) {
  for (int victim : {1, 0}) {
    startForEver();
    pid_t number = pid(victim);
    signal(victim, SIGKILL);
    Outcome other = end(1 - victim);
    EXPECT_EQ(other.status, 4);
    std::string expected =
        "error: rank " + std::to_string(victim) + "'s process (pid " + std::to_string(number) + ") has ended: rank ";
    EXPECT_EQ(count(other.output, expected), 1u) << other.output;
    EXPECT_EQ(count(other.output, "error:"), 1u) << other.output;
    EXPECT_EQ(end(victim).status, 128 + SIGKILL);
    std::remove((out / "metrics").c_str());
  }
}

TEST_F(Peers, AStoppedRankIsNamed) {
  for (int victim : {1, 0}) {
    startForEver("--hang-timeout=2");
    signal(victim, SIGSTOP);
    Outcome other = end(1 - victim);
    EXPECT_EQ(other.status, 5);
    EXPECT_EQ(count(other.output, "error: no progress for 2 s: rank " + std::to_string(1 - victim) + " waits in "), 1u)
        << other.output;
    // Once in the message, once in the table of all ranks.
    EXPECT_EQ(count(other.output, ", at step "), 2u) << other.output;
    EXPECT_EQ(count(other.output, "\n  rank " + std::to_string(victim) + " (pid " + std::to_string(pid(victim)) +
                                      "): does not answer; was last at step "),
              1u)
        << other.output;
    EXPECT_EQ(count(other.output, "; rank " + std::to_string(victim) + " (pid " + std::to_string(pid(victim)) +
                                      ") does not answer\n"),
              1u)
        << other.output;
    signal(victim, SIGKILL);
    end(victim);
    std::remove((out / "metrics").c_str());
  }
}

TEST_F(Peers, ASignalEndsARankThatWaitsInVain) {
  startForEver();
  signal(1, SIGSTOP);
  signal(0, SIGTERM);
  Outcome waiting = end(0);
  EXPECT_EQ(waiting.status, 3);
  EXPECT_NE(waiting.output.find("error: interrupted while waiting: rank 0 waits in "), std::string::npos)
      << waiting.output;
  // The other learns of it when it goes on.
  signal(1, SIGCONT);
  EXPECT_EQ(end(1).status, 3);
}

TEST_F(Peers, ASignalEndsAProcessThatLooksForTheOthers) {
  for (int rank : {0, 1}) {
    start(rank, {"--steps=2"});
    // Without its handler it would be killed, and with one it would not end: either fails the test.
    for (int tenths = 0; tenths < 10; ++tenths)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    signal(rank, SIGTERM);
    EXPECT_EQ(end(rank).status, 3);
  }
}

} // namespace
} // namespace dtcc::rt::test
