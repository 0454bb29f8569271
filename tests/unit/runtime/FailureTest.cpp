//===- FailureTest.cpp - A rank that fails or hangs stops the others -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
#include "runtime/collective/network/HostNotes.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

namespace dtcc::rt::test {
namespace {

/// Runs `first` on rank 0 and `second` on rank 1 of a group; returns rank 0's error.
Error runPair(int hangSeconds, const std::function<void(Communicator &)> &first,
              const std::function<void(Transport &, Communicator &)> &second) {
  Launch launch;
  launch.ranks = 2;
  launch.hangSeconds = hangSeconds;
  auto transport = createTransport(launch);
  const std::vector<int64_t> members{0, 1};
  auto mine = transport->group("pair", members, 0), theirs = transport->group("pair", members, 1);
  std::thread other([&] { second(*transport, *theirs); });
  Error found(Status::Done, "no error");
  try {
    first(*mine);
  } catch (const Error &error) {
    found = error;
  }
  other.join();
  return found;
}

void allReduceLarge(Communicator &group) {
  std::vector<float> values(100000, 1);
  group.allReduce(values.data(), values.data(), 100000, DTCC_F32, DTCC_SUM);
}

TEST(Failure, AbortEndsEveryWait) {
  auto abortLater = [](Transport &transport, Communicator &) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    transport.abort(1);
  };
  const std::function<void(Communicator &)> waits[] = {
      allReduceLarge,
      [](Communicator &group) { group.barrier(); },
      [](Communicator &group) {
        int32_t flag = 1;
        group.allReduce(&flag, &flag, 1, DTCC_I32, DTCC_MAX);
      },
      [](Communicator &group) {
        char byte;
        group.receive(&byte, 1, 1);
      },
      [](Communicator &group) {
        group.reserveSend(1, 1);
        for (char byte = 0; byte < 2; ++byte)
          group.send(&byte, 1, 1);
      },
  };
  for (const auto &wait : waits) {
    Error error = runPair(600, wait, abortLater);
    EXPECT_EQ(error.status, Status::PeerLost);
    EXPECT_STREQ(error.what(), "stopped: another rank failed");
  }
}

TEST(Failure, AHangNamesTheGroupAndWhoIsMissing) {
  Error error = runPair(0, allReduceLarge, [](Transport &, Communicator &) {});
  EXPECT_EQ(error.status, Status::Hang);
  EXPECT_NE(std::string(error.what()).find("rank 0 waits in all_reduce of group 'pair' for rank 1"), std::string::npos)
      << error.what();
}

TEST(Failure, MessagesMustBeReservedAndFit) {
  Error unreserved = runPair(
      600,
      [](Communicator &group) {
        char byte = 0;
        group.send(&byte, 1, 1);
      },
      [](Transport &, Communicator &) {});
  EXPECT_NE(std::string(unreserved.what()).find("was not reserved"), std::string::npos);
  Error wrong = runPair(
      600,
      [](Communicator &group) {
        int64_t value;
        group.receive(&value, 8, 1);
      },
      [](Transport &, Communicator &group) {
        int32_t value = 0;
        group.reserveSend(0, 4);
        group.send(&value, 4, 0);
      });
  EXPECT_NE(std::string(wrong.what()).find("expects a message of 8 bytes from member 1, got: 4"), std::string::npos);
}

/// Notes about ranks 2 and 3 of one host, if rank 3 alone answers, in a message cut to `bytes`.
std::map<int64_t, Watch::Note> askedOf(bool always, size_t bytes = 1000) {
  std::vector<std::byte> answer =
      bytesOf({{2, {/*answers=*/true, -1, "", 3, 138}}, {3, {false, 2, "rank 3 waits", 3}}});
  answer.resize(std::min(answer.size(), bytes));
  GatheredNotes gathered;
  gathered.add(3, answer);
  EXPECT_EQ(gathered.answers(), 1u);
  return gathered.notes(std::vector<int64_t>{1, 2, 3}, always);
}

TEST(Failure, ARankAnswersForThoseOfItsHost) {
  std::map<int64_t, Watch::Note> notes = askedOf(/*always=*/true);
  EXPECT_FALSE(notes[1].answers);
  EXPECT_EQ(notes[1].step, -1);
  // Its neighbour sees nothing wrong, but its own link would have answered.
  EXPECT_FALSE(notes[2].answers);
  EXPECT_EQ(notes[2].step, 3);
  EXPECT_EQ(notes[2].command, 138u);
  EXPECT_TRUE(notes[3].answers);
  EXPECT_EQ(notes[3].absent, 2);
  EXPECT_EQ(notes[3].text, "rank 3 waits");
  EXPECT_TRUE(askedOf(/*always=*/false)[2].answers);
  for (size_t bytes = 0; bytes < 100; ++bytes)
    askedOf(true, bytes);
}

} // namespace
} // namespace dtcc::rt::test
