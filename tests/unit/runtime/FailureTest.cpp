//===- FailureTest.cpp - A rank that fails or hangs stops the others -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
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

} // namespace
} // namespace dtcc::rt::test
