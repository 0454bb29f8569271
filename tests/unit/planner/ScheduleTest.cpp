//===- ScheduleTest.cpp - Generators, checks, files and charts of pipeline schedules
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Schedule.h"
#include "tests/unit/planner/ScheduleCsv.h"
#include "gtest/gtest.h"

using namespace dtcc::plan;

static Schedule make(llvm::StringRef name, int64_t ranks, int64_t microbatches) {
  llvm::Expected<Schedule> schedule = makeSchedule(name, ranks, microbatches);
  EXPECT_TRUE(static_cast<bool>(schedule));
  return *schedule;
}
static std::string problem(llvm::Error error) { return llvm::toString(std::move(error)); }
static Schedule read(llvm::StringRef text) {
  llvm::Expected<Schedule> schedule = parseScheduleCsv(text, "s.csv");
  EXPECT_TRUE(static_cast<bool>(schedule));
  return *schedule;
}

TEST(Schedule, GeneratorsPassTheirCheck) {
  for (llvm::StringRef name : {"gpipe", "1f1b", "zero-bubble", "interleaved:2", "interleaved:3"})
    for (int64_t ranks : {1, 2, 3, 4, 8})
      for (int64_t rounds : {1, 2, 5}) {
        int64_t microbatches = *stagesPerRank(name) > 1 ? rounds * ranks : rounds;
        Schedule schedule = make(name, ranks, microbatches);
        EXPECT_EQ(problem(schedule.check(ranks * *stagesPerRank(name), microbatches)), "") << name.str() << ranks;
      }
}

/// The formulas of planner/parallelism/Schedules.def are those of the actions: every row, without being named here.
TEST(Schedule, FormulasAreThoseOfTheActions) {
  using namespace dtcc::cost;
  for (auto kind = PipelineKind::None;;) {
    kind = PipelineKind(int(kind) + 1);
    if (!rowOf(kind).hasProgram)
      break; // published ones stand last
    for (int64_t virtualStages :
         rowOf(kind).has(ScheduleRow::SeveralStages) ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{1})
      for (int64_t ranks : {1, 2, 4, 8})
        for (int64_t microbatches : {2 * ranks, 4 * ranks}) {
          std::string name = scheduleName(kind, virtualStages);
          Schedule schedule = make(name, ranks, microbatches);
          int64_t most = 0;
          for (int64_t rank = 0; rank < ranks; ++rank)
            most = std::max(most, schedule.peakInFlight(rank));
          EXPECT_DOUBLE_EQ(microbatchesInFlight(kind, ranks, virtualStages, microbatches),
                           double(most) / double(virtualStages))
              << name << ", " << ranks << " ranks";
          // A pass of a rank is one of each of its stages; of those, F, I and W take 1.
          double pass = double(virtualStages);
          EXPECT_DOUBLE_EQ(bubbleSeconds(kind, ranks, virtualStages, pass, pass, pass),
                           double(timelineOf(schedule).end) - 3 * pass * double(microbatches))
              << name << ", " << ranks << " ranks";
        }
  }
}

TEST(Schedule, InFlightActivations) {
  for (int64_t ranks : {2, 4, 8})
    for (int64_t m : {1, 3, 8, 16})
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(make("gpipe", ranks, m).peakInFlight(rank), m);
        EXPECT_EQ(make("1f1b", ranks, m).peakInFlight(rank), std::min(m, ranks - rank));
        EXPECT_EQ(make("zero-bubble", ranks, m).peakInFlight(rank), std::min(m, ranks));
      }
  // Megatron's interleaving holds (V - 1) P + 2 (P - 1 - s) + 1 saved activations of 1 / V of a rank's layers.
  Schedule interleaved = make("interleaved:2", 4, 8);
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(interleaved.peakInFlight(rank), 4 + 2 * (3 - rank) + 1);
  // The first of a rank's two stages has more micro-batches in flight than the last. Their peaks come at different
  // times, so their sum exceeds the peak of the rank.
  EXPECT_EQ(interleaved.peakOfStages({0}), 8);
  EXPECT_EQ(interleaved.peakOfStages({4}), 4);
  EXPECT_EQ(interleaved.peakOfStages({7}), 1);
}

TEST(Schedule, Bubbles) {
  // (P - 1) (F + B) of waiting on m (F + B) of work: GPipe and 1F1B alike.
  for (llvm::StringRef name : {"gpipe", "1f1b"}) {
    Schedule schedule = make(name, 4, 8);
    EXPECT_EQ(timelineOf(schedule).end, (8 + 3) * 3) << name.str();
  }
  // Interleaving divides it by V; a stage of half the layers takes the unit here.
  EXPECT_EQ(timelineOf(make("interleaved:2", 4, 8)).end, 2 * 8 * 3 + 3 * 3);
  // ZB-H1: (P - 1) (F + I - W).
  EXPECT_EQ(timelineOf(make("zero-bubble", 4, 8)).end, 8 * 3 + 3);
  EXPECT_NEAR(timelineOf(make("1f1b", 4, 8)).bubble(make("1f1b", 4, 8)), 3.0 / 11, 1e-12);
}

TEST(Schedule, CsvRoundTrip) {
  for (llvm::StringRef name : {"gpipe", "1f1b", "zero-bubble", "interleaved:2"})
    EXPECT_EQ(read(scheduleCsv(make(name, 2, 4))), make(name, 2, 4)) << name.str();
  EXPECT_EQ(scheduleCsv(make("1f1b", 2, 2)), "0F0,0F1,,,0B0,,,0B1,\n,1F0,1B0,,1F1,1B1,,,\n");
  // As PyTorch writes it: quotes, communication, overlapped pairs.
  Schedule schedule = read("0UNSHARD,0F0,0SEND_F0,\"0F1\",,(0B0;0B1)OVERLAP_F_B\r\n,1F0,1B0,1F1,1B1,1RECV_F1\n");
  EXPECT_EQ(problem(schedule.check(2, 2)), "");
  EXPECT_EQ(schedule.ranks[0].size(), 4u);
}

TEST(Schedule, WrongFilesAreRefused) {
  auto refused = [](llvm::StringRef text) { return llvm::toString(parseScheduleCsv(text, "s.csv").takeError()); };
  EXPECT_EQ(refused("0F0\n1F0,1X0\n"), "s.csv:2: cell 2 must be a stage, one of F I W B, and a micro-batch, as 0F1, "
                                       "got: 1X0");
  EXPECT_EQ(refused("0F0,0F\n"), "s.csv:1: cell 2 must be a stage, one of F I W B, and a micro-batch, as 0F1, got: 0F");
  EXPECT_EQ(refused("\n"), "s.csv: a schedule must hold actions, got none");
  EXPECT_EQ(refused("0F0\n2F0\n"), "s.csv: stage 1 must have actions, got none");
}

TEST(Schedule, ChecksNameTheirAction) {
  auto checked = [](llvm::StringRef text, int64_t stages, int64_t microbatches) {
    return problem(read(text).check(stages, microbatches));
  };
  EXPECT_EQ(checked("0F0,0F0\n1F0\n", 2, 1), "rank 0: 0F0 must stand once, got twice");
  EXPECT_EQ(checked("0B0,0F0\n1F0\n", 2, 1), "rank 0: 0B0 must stand after the forward of its micro-batch");
  EXPECT_EQ(checked("0F0,0W0,0I0\n1F0\n", 2, 1), "rank 0: 0W0 must stand after the input gradient of its micro-batch");
  EXPECT_EQ(checked("0F0,0B0,0W0\n1F0\n", 2, 1), "rank 0: 0W0 must not stand beside the other form of backward");
  EXPECT_EQ(checked("0F0,0B0\n1F0,1B0,0F1\n", 2, 2), "rank 1: 0F1 must run where its stage does, on rank 0");
  EXPECT_EQ(checked("0F0,0B0\n1F0,1B0\n", 2, 2), "the schedule must hold 0F1");
  EXPECT_EQ(checked("0F0,0I0\n1F0,1B0\n", 2, 1), "the schedule must hold 0W0");
  EXPECT_EQ(checked("0F0,0B0\n1F0,1B0\n2F0,2B0\n", 2, 1), "rank 2: 2F0 must be of one of the 2 stages");
  EXPECT_EQ(checked("0F1,0F0\n1F0\n", 2, 2), "rank 0: 0F1 must not come before that of micro-batch 0");
}

TEST(Schedule, DeadlocksAreFound) {
  auto checked = [](llvm::StringRef text, int64_t stages, int64_t microbatches) {
    return problem(read(text).check(stages, microbatches));
  };
  // Rank 0 wants the gradient of micro-batch 0 before it sends micro-batch 1, rank 1 both forwards first.
  EXPECT_EQ(checked("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", 2, 2),
            "the schedule never ends: rank 0 waits in 0B0 for stage 1, rank 1 waits in 1F1 for stage 0");
  // Messages of an edge arrive in the order in which they were sent.
  EXPECT_EQ(checked("0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F2,1F1,1B0,1B1,1B2\n", 2, 3),
            "rank 1: 1F2 must receive micro-batches in the order in which stage 0 sends them, next is 1");
}

TEST(Schedule, Chart) {
  EXPECT_EQ(scheduleChart(make("1f1b", 2, 2)), "rank 0 | F0 F1  .  . B0  -  . B1  -\n"
                                               "rank 1 |  . F0 B0  - F1 B1  -  .  .\n");
  EXPECT_EQ(scheduleChart(make("1f1b", 2, 2), 24), "rank 0 | F0 F1  .  . ..\nrank 1 |  . F0 B0  - ..\n");
}
