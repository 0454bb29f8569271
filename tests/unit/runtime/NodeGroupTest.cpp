//===- NodeGroupTest.cpp - Places in the file of a node -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/NodeGroup.h"

#include "runtime/core/Error.h"

#include <gtest/gtest.h>

#include <thread>
#include <unistd.h>

namespace dtcc::rt::test {
namespace {

TEST(RingPlaces, StayInThePartOfTheirRank) {
  RingPlaces first(4096, 4096 * 11, /*ranks=*/2, 0), second(4096, 4096 * 11, /*ranks=*/2, 1);
  EXPECT_EQ(first.take(4096 * 4), 4096u);
  EXPECT_EQ(first.take(4096), 4096u * 5);
  EXPECT_EQ(second.take(4096 * 2), 4096u * 6);
  try {
    second.take(4096 * 4);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "the messages that a rank may send to others of its host must need at most 20480 bytes, "
                               "got: 8192 and 16384 more");
  }
  EXPECT_EQ(second.take(4096 * 3), 4096u * 8);
}

TEST(Node, GroupsStayInFrontOfTheRings) {
  Launch launch;
  const std::string job = "dtcc-node-test-" + std::to_string(getpid());
  std::thread other([&] { Node(job, launch, {0, 1}, 1); });
  Node node(job, launch, {0, 1}, 0);
  other.join();
  const int64_t members[] = {0};
  std::string refusal;
  // Groups of one member take places too. Each takes more than 1 MiB of offsets, and no memory.
  for (int64_t i = 0; refusal.empty() && i < int64_t(1) << 26; ++i)
    try {
      node.group("many", members);
    } catch (const Error &error) {
      refusal = error.what();
    }
  EXPECT_EQ(refusal.find("the groups of the ranks of a host must need at most 35184372088832 bytes, got: "), 0u)
      << refusal;
}

} // namespace
} // namespace dtcc::rt::test
