//===- FolderDisks.cpp - The disks on which a folder lies
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/folder/FolderDisks.h"

#include "runtime/collective/Communicator.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dtcc::rt {

bool FolderDisks::areSeveral() const {
  return std::any_of(leaders.begin(), leaders.end(), [](int64_t leader) { return leader != 0; });
}

std::vector<int64_t> FolderDisks::sharersOf(int64_t rank) const {
  std::vector<int64_t> sharers;
  for (size_t other = 0; other < leaders.size(); ++other)
    if (leaders[other] == leaderOf(rank))
      sharers.push_back(static_cast<int64_t>(other));
  return sharers;
}

FolderDisks findDisks(const std::string &directory, Communicator &world, double seconds) {
  // A number of this run alone: what another left behind is no sign.
  std::random_device random;
  uint64_t number = (uint64_t{random()} << 32) | random();
  world.broadcast(&number, &number, 1, DTCC_I64);
  auto signOf = [&](int64_t rank) {
    return fs::path(directory) / (".dtcc-rank-" + std::to_string(number) + "-" + std::to_string(rank));
  };
  const fs::path own = signOf(world.index());
  int file = open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0)
    close(file);
  world.barrier();
  std::error_code error;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!fs::exists(signOf(0), error) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  int64_t leader = 0;
  while (leader < world.index() && !fs::exists(signOf(leader), error))
    ++leader;
  FolderDisks disks;
  disks.leaders.resize(static_cast<size_t>(world.size()));
  world.allGather(&leader, disks.leaders.data(), 1, DTCC_I64);
  if (file >= 0)
    fs::remove(own, error);
  return disks;
}

} // namespace dtcc::rt
