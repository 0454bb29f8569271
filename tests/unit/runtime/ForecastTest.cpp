//===- ForecastTest.cpp - Steps on null devices --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Forecast.h"
#include "runtime/core/Error.h"
#include "runtime/device/NullDevice.h"
#include "runtime/launch/Executor.h"
#include "tests/unit/runtime/ImageBuilder.h"

#include <gtest/gtest.h>

namespace dtcc::rt::test {
namespace {

/// Tables for a clock; times are sums of powers of two, so that they are exact.
struct Tables {
  std::vector<dtcc_command> commands;
  std::vector<dtcc_wait> waits;
  std::vector<int64_t> attributes;
  std::vector<dtcc_communicator> communicators = std::vector<dtcc_communicator>(1);

  uint32_t add(dtcc_command_kind kind, double seconds, uint32_t stream = 0, std::vector<dtcc_wait> after = {}) {
    dtcc_command row{};
    row.kind = kind;
    row.only_slot = DTCC_NONE;
    row.seconds = seconds;
    row.stream = stream;
    row.first_wait = static_cast<uint32_t>(waits.size());
    row.wait_count = static_cast<uint32_t>(after.size());
    waits.insert(waits.end(), after.begin(), after.end());
    commands.push_back(row);
    return static_cast<uint32_t>(commands.size() - 1);
  }
  uint32_t message(dtcc_command_kind kind, double seconds, int64_t peer, int64_t room = 1) {
    uint32_t number = add(kind, seconds);
    commands.back().first_attribute = static_cast<uint32_t>(attributes.size());
    attributes.insert(attributes.end(), {peer, room});
    return number;
  }
  /// Issues to each stage its commands, as one action.
  StepClock clock(const std::vector<std::vector<uint32_t>> &stages, bool overlaps = true) const {
    StepClock clock({commands.data(), waits.data(), attributes.data(), communicators.data()}, stages.size(), overlaps);
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      for (uint32_t command : stages[stage])
        clock.issue(stage, command, 0);
      clock.endAction(stage);
    }
    return clock;
  }
};

TEST(StepClock, StreamsRunBesideEachOther) {
  Tables t;
  uint32_t first = t.add(DTCC_KERNEL, 1), exchange = t.add(DTCC_COLLECTIVE, 2, /*stream=*/1),
           second = t.add(DTCC_KERNEL, 0.5), third = t.add(DTCC_KERNEL, 0.25, 0, {dtcc_wait{exchange}});
  StepClock clock = t.clock({{first, exchange, second, third}});
  ASSERT_TRUE(clock.run());
  EXPECT_EQ(clock.end(), 2.25);
  StepClock::Parts parts = clock.parts(0);
  EXPECT_EQ(parts.compute, 1.75);
  EXPECT_EQ(parts.collectives.at(0), 0.5) << "beside the rest of it something is computed";
  EXPECT_EQ(parts.waits, 0);

  StepClock inTurn = t.clock({{first, exchange, second, third}}, /*overlaps=*/false);
  ASSERT_TRUE(inTurn.run());
  EXPECT_EQ(inTurn.end(), 3.75);
  EXPECT_EQ(inTurn.parts(0).collectives.at(0), 2);
}

TEST(StepClock, AnActionBeginsWhenAllStreamsHaveEnded) {
  Tables t;
  uint32_t exchange = t.add(DTCC_COLLECTIVE, 2, /*stream=*/1), kernel = t.add(DTCC_KERNEL, 1, 0, {dtcc_wait{exchange}});
  StepClock clock = t.clock({{kernel, exchange}});
  clock.issue(0, kernel, 1);
  clock.endAction(0);
  ASSERT_TRUE(clock.run());
  EXPECT_EQ(clock.spans(0).back().begin, 2) << "and no wait for the action before makes it later";
  EXPECT_EQ(clock.end(), 3);
}

TEST(StepClock, AMessageComesWhenBothSidesAreThere) {
  Tables t;
  uint32_t makes = t.add(DTCC_KERNEL, 1), sends = t.message(DTCC_SEND, 0.25, /*peer=*/1),
           receives = t.message(DTCC_RECEIVE, 0.5, /*peer=*/0), uses = t.add(DTCC_KERNEL, 2);
  for (bool overlaps : {false, true}) {
    StepClock clock = t.clock({{makes, sends}, {receives, uses}}, overlaps);
    ASSERT_TRUE(clock.run());
    // Where streams overlap the receiver copies the message, which takes it as long as the sender.
    const double message = overlaps ? 0.75 : 0.5;
    EXPECT_EQ(clock.end(), 1.25 + message + 2);
    StepClock::Parts parts = clock.parts(1);
    EXPECT_EQ(parts.waits, 1.25);
    EXPECT_EQ(parts.messages, message);
    EXPECT_EQ(parts.compute, 2);
    EXPECT_EQ(parts.total(), 1.25 + message + 2);
  }
}

TEST(StepClock, AMessageComesBesideTheActionBefore) {
  Tables t;
  uint32_t sends = t.message(DTCC_SEND, 0.25, 1), early = t.add(DTCC_KERNEL, 4), before = t.add(DTCC_KERNEL, 1),
           receives = t.message(DTCC_RECEIVE, 2, 0);
  for (bool overlaps : {false, true}) {
    StepClock clock({t.commands.data(), t.waits.data(), t.attributes.data(), t.communicators.data()}, 2, overlaps);
    clock.issue(0, sends, 0);
    clock.endAction(0);
    for (uint32_t command : {early, before, receives}) {
      clock.issue(1, command, 0);
      clock.endAction(1);
    }
    ASSERT_TRUE(clock.run());
    // Sent at 0.25, it comes from 4 to 6, and the receiver is there at 5.
    EXPECT_EQ(clock.end(), overlaps ? 6.25 : 7);
    EXPECT_EQ(clock.parts(1).messages, overlaps ? 1.25 : 2);
  }
}

TEST(StepClock, MessagesOfAChannelComeOneBehindTheOther) {
  Tables t;
  uint32_t sends = t.message(DTCC_SEND, 0.25, 1, /*room=*/3), before = t.add(DTCC_KERNEL, 1),
           receives = t.message(DTCC_RECEIVE, 2, 0), uses = t.add(DTCC_KERNEL, 1);
  auto endOf = [&](std::vector<std::vector<uint32_t>> actions) {
    StepClock clock({t.commands.data(), t.waits.data(), t.attributes.data(), t.communicators.data()}, 2, true);
    for (int i = 0; i < 3; ++i)
      clock.issue(0, sends, 0);
    clock.endAction(0);
    for (const std::vector<uint32_t> &action : actions) {
      for (uint32_t command : action)
        clock.issue(1, command, 0);
      clock.endAction(1);
    }
    EXPECT_TRUE(clock.run());
    return clock.end();
  };
  // They are there at 2.25, 4.25 and 6.25; the last is copied then.
  EXPECT_EQ(endOf({{before}, {receives, receives, receives}}), 6.5);
  // The receiver has memory for one: the next comes when it is copied, and to the end beside the other's use.
  EXPECT_EQ(endOf({{before}, {receives, uses}, {receives, uses}, {receives, uses}}), 2.5 + 2.25 + 2.25 + 1);
}

TEST(StepClock, ASendWaitsForRoom) {
  for (int64_t room : {1, 2}) {
    Tables t;
    uint32_t sends = t.message(DTCC_SEND, 0.25, 1, room), makes = t.add(DTCC_KERNEL, 4),
             receives = t.message(DTCC_RECEIVE, 0.5, 0);
    StepClock inTurn = t.clock({{sends, sends}, {makes, receives, receives}}, /*overlaps=*/false);
    ASSERT_TRUE(inTurn.run());
    EXPECT_EQ(inTurn.spans(0)[1].begin, room == 1 ? 4.5 : 0.25);
    EXPECT_EQ(inTurn.end(), room == 1 ? 5.25 : 5);
    // The first message goes to the receiver's memory while that computes.
    StepClock beside = t.clock({{sends, sends}, {makes, receives, receives}});
    ASSERT_TRUE(beside.run());
    EXPECT_EQ(beside.spans(0)[1].begin, room == 1 ? 0.75 : 0.25);
    EXPECT_EQ(beside.end(), 4.5);
  }
}

TEST(StepClock, PartsNeedNoSpans) {
  Tables t;
  uint32_t gathers = t.add(DTCC_COLLECTIVE, 2, /*stream=*/1), makes = t.add(DTCC_KERNEL, 1.25),
           uses = t.add(DTCC_KERNEL, 0.5, 0, {dtcc_wait{gathers}}), sends = t.message(DTCC_SEND, 0.25, 1, /*room=*/2),
           reduces = t.add(DTCC_COLLECTIVE, 0.125, /*stream=*/2), receives = t.message(DTCC_RECEIVE, 0.5, 0),
           ends = t.add(DTCC_KERNEL, 0.75);
  for (bool overlaps : {false, true}) {
    auto run = [&](bool keepsSpans) {
      StepClock clock({t.commands.data(), t.waits.data(), t.attributes.data(), t.communicators.data()}, 2, overlaps,
                      keepsSpans);
      for (uint32_t slot = 0; slot < 3; ++slot) {
        for (uint32_t command : {gathers, makes, uses, sends, reduces})
          clock.issue(0, command, slot);
        clock.endAction(0);
        clock.issue(1, receives, slot);
        // The last action is not ended.
        if (slot < 2)
          clock.endAction(1);
        clock.issue(1, ends, slot);
      }
      EXPECT_TRUE(clock.run());
      return clock;
    };
    const StepClock all = run(/*keepsSpans=*/true), few = run(/*keepsSpans=*/false);
    EXPECT_EQ(all.spans(0).size(), 15u);
    EXPECT_EQ(all.spans(0)[5].slot, 1u);
    EXPECT_EQ(all.spans(0)[5].command, gathers);
    EXPECT_TRUE(few.spans(0).empty());
    EXPECT_EQ(few.end(), all.end());
    for (size_t stage : {0, 1}) {
      const StepClock::Parts whole = all.parts(stage), counted = few.parts(stage);
      EXPECT_EQ(counted.compute, whole.compute);
      EXPECT_EQ(counted.messages, whole.messages);
      EXPECT_EQ(counted.waits, whole.waits);
      EXPECT_EQ(counted.collectives, whole.collectives);
    }
    EXPECT_EQ(few.parts(0).compute, 3 * 1.75);
    EXPECT_EQ(few.parts(1).compute, 3 * 0.75);
    // Beside the kernels a gather is in sight for as long as it takes more than the first one.
    EXPECT_EQ(few.parts(0).collectives.at(0), 3 * (overlaps ? 0.75 : 2.125));
  }
}

TEST(StepClock, PeersAreCountedAmongMembers) {
  Tables t;
  t.communicators[0].members = 0b101;
  uint32_t sends = t.message(DTCC_SEND, 1, /*peer=*/1), receives = t.message(DTCC_RECEIVE, 1, /*peer=*/0);
  EXPECT_TRUE(t.clock({{sends}, {}, {receives}}).run());
  EXPECT_FALSE(t.clock({{sends}, {receives}, {}}).run());
}

TEST(StepClock, StagesThatWaitForEachOtherNeverEnd) {
  Tables t;
  uint32_t sends = t.message(DTCC_SEND, 1, 1), receives = t.message(DTCC_RECEIVE, 1, 1),
           sendsBack = t.message(DTCC_SEND, 1, 0), receivesBack = t.message(DTCC_RECEIVE, 1, 0);
  EXPECT_FALSE(t.clock({{receives, sends}, {receivesBack, sendsBack}}).run());
  EXPECT_TRUE(t.clock({{sends, receives}, {receivesBack, sendsBack}}).run());
}

/// Two stages and four micro-batches: a kernel and a message in the first, a message and a kernel in the second, which
/// reduces once.
struct Pipeline {
  ImageBuilder b;

  explicit Pipeline(const char *machine = "2 x abacus") {
    b.axis("mb", 4, DTCC_AXIS_TIME);
    uint8_t stages = b.axis("pp", 2), copies = b.axis("dp", 3);
    uint32_t channel = b.communicator("channel", {stages}), group = b.communicator("group", {copies});
    b.header.stage_axis = stages;
    b.header.machine = b.string(machine);
    b.header.peak_flops = 48;
    b.header.training.batch = 87;
    for (uint32_t stage = 0; stage < 2; ++stage) {
      dtcc_stage row{};
      row.name = b.string("stage");
      std::fill(std::begin(row.scalars), std::end(row.scalars), DTCC_NONE);
      row.arenas = {stage, 1};
      row.commands.first = static_cast<uint32_t>(b.commands.size());
      row.phases = {stage, 1};
      row.actions = {static_cast<uint32_t>(b.actions.size()), 4};
      uint32_t arena = b.arena("arena");
      uint32_t view = b.view(arena, DTCC_F32, {8}, 4);
      auto compute = [&] {
        dtcc_command &kernel = b.kernel(0, {view}, 8);
        kernel.seconds = 2;
        kernel.flops = 8;
      };
      if (stage == 0)
        compute();
      dtcc_command &message = b.command(stage == 0 ? DTCC_SEND : DTCC_RECEIVE, 0, {view},
                                        stage == 0 ? std::vector<int64_t>{1, 4} : std::vector<int64_t>{0});
      message.communicator = channel;
      message.seconds = 0.25;
      if (stage == 1) {
        compute();
        dtcc_command &sum = b.collective(DTCC_ALL_REDUCE, group, view, view);
        sum.seconds = 1;
        sum.only_slot = 3;
      }
      uint32_t phase = b.phase("phase");
      for (uint32_t slot = 0; slot < 4; ++slot)
        b.action(phase, slot);
      row.commands.count = static_cast<uint32_t>(b.commands.size()) - row.commands.first;
      b.stages.push_back(row);
    }
  }
};

/// Notes what it is told, in order.
class NotingDevice final : public NullDevice {
public:
  using NullDevice::NullDevice;
  void expect(std::span<const uint32_t> receives) override {
    notes += "expect " + std::to_string(receives.size()) + " ";
  }
  void run(uint32_t command, void *const *buffers, const void *predicate) override {
    NullDevice::run(command, buffers, predicate);
    notes += "run ";
  }
  void endAction() override { notes += "| "; }
  std::string notes;
};

TEST(Executor, TellsTheMessagesOfTheNextActionAhead) {
  Pipeline pipeline;
  std::vector<uint64_t> bytes = pipeline.b.build();
  Image image(bytes.data(), 1);
  StepClock clock(
      {image.commands().data(), image.waits().data(), image.attributes().data(), image.communicators().data()}, 2,
      true);
  ThreadTeam team(1);
  // A receive and a kernel, and a sum in the last slot.
  Rank rank(image, 3, team, 1);
  NotingDevice device({rank, {}}, clock, 1);
  Executor executor(rank, device);
  executor.bind();
  executor.runStep([](int64_t) {});
  EXPECT_EQ(device.notes, "expect 1 expect 1 run run | expect 1 run run | expect 1 run run | run run run | ");
}

TEST(Forecast, WalksTheStepOfEachStage) {
  Pipeline pipeline;
  std::vector<uint64_t> bytes = pipeline.b.build();
  Image image(bytes.data(), 1);
  std::optional<Forecast> forecast = Forecast::of(image);
  ASSERT_TRUE(forecast);
  // The second stage waits 2.25 for its first message, then 4 times for 0.25, computes 8 and reduces 1.
  EXPECT_EQ(forecast->seconds(), 2.25 + 1 + 8 + 1);
  StepClock::Parts parts = forecast->parts();
  EXPECT_EQ(parts.compute, 8);
  EXPECT_EQ(parts.messages, 1);
  EXPECT_EQ(parts.collectives.at(1), 1) << "in the last slot alone";
  EXPECT_EQ(parts.waits, 2.25);
  // 6 ranks with 32 FLOP each, of 48 a second.
  EXPECT_EQ(forecast->text(), "forecast 12.2 s a step on 2 x abacus: 7 samples/s (32.7 % of peak)\n"
                              "             8.00 s  65 %  kernels\n"
                              "             1.00 s   8 %  collectives over dp\n"
                              "             1.00 s   8 %  messages between stages\n"
                              "             2.25 s  18 %  waits for other stages\n");
  std::string trace = forecast->trace();
  int events = 0;
  for (size_t at = 0; (at = trace.find("\"command\":", at)) != std::string::npos; ++at)
    ++events;
  EXPECT_EQ(events, 4 * 2 + 4 * 2 + 1) << "an event a command that runs";
  EXPECT_NE(trace.find("\"rank 3\""), std::string::npos) << "the second stage's first rank";
}

TEST(Forecast, NeedsAMachine) {
  Pipeline pipeline("");
  std::vector<uint64_t> bytes = pipeline.b.build();
  EXPECT_FALSE(Forecast::of(Image(bytes.data(), 1)));
}

TEST(Forecast, RefusesAStepWithoutEnd) {
  Pipeline pipeline;
  pipeline.b.commands[1].kind = DTCC_FILL;
  pipeline.b.commands[1].attribute_count = 1;
  pipeline.b.commands[1].communicator = DTCC_NONE;
  std::vector<uint64_t> bytes = pipeline.b.build();
  Image image(bytes.data(), 1);
  EXPECT_THROW(Forecast::of(image), Error);
}

} // namespace
} // namespace dtcc::rt::test
