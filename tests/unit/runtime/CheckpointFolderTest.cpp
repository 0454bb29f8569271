//===- CheckpointFolderTest.cpp - The folder of a run -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/checkpoint/folder/FolderLock.h"
#include "runtime/core/Error.h"
#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace fs = std::filesystem;

namespace dtcc::rt::test {
namespace {

void writeCheckpoint(const std::string &folder, const std::string &text) {
  fs::create_directory(folder);
  writeFile(folder + "/manifest.json", text);
}

TEST(CheckpointFolder, ACheckpointGivesWayWhenTheNewOneIsInItsPlace) {
  Folder folder;
  writeCheckpoint(folder / "step-4", "old");
  EXPECT_THROW(placeCheckpoint(folder / "step-4.tmp", folder.path, 4), Error);
  EXPECT_EQ(readFile(folder / "step-4/manifest.json"), "old");
  writeCheckpoint(folder / "step-4.tmp", "new");
  placeCheckpoint(folder / "step-4.tmp", folder.path, 4);
  EXPECT_EQ(readFile(folder / "step-4/manifest.json"), "new");
  EXPECT_FALSE(fs::exists(folder / "step-4.tmp"));
  writeCheckpoint(folder / "step-5.tmp", "next");
  placeCheckpoint(folder / "step-5.tmp", folder.path, 5);
  EXPECT_EQ(readFile(folder / "step-5/manifest.json"), "next");
}

TEST(CheckpointFolder, AKilledRunLeavesTheFormerCheckpoint) {
  Folder folder;
  writeCheckpoint(folder / "step-4.replaced", "old");
  writeCheckpoint(folder / "step-4.tmp", "new");
  writeCheckpoint(folder / "step-5", "later");
  writeCheckpoint(folder / "step-5.replaced", "former");
  removeUnfinished(folder.path);
  EXPECT_EQ(readFile(folder / "step-4/manifest.json"), "old");
  EXPECT_EQ(readFile(folder / "step-5/manifest.json"), "later");
  EXPECT_EQ(checkpointSteps(folder.path), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 2);
}

/// Runs that end at once remove the folder that they created, while others open the file of its lock.
TEST(FolderLock, OneRunAtATimeHasTheFolder) {
  Folder folder;
  std::atomic<int> holders = 0, twice = 0, held = 0;
  auto run = [&] {
    for (int i = 0; i < 4000; ++i)
      try {
        FolderLock lock(folder / "checkpoints");
        twice += holders.fetch_add(1) > 0;
        ++held;
        std::this_thread::yield();
        --holders;
      } catch (const Error &) {
        // Another one has it.
      }
  };
  std::thread first(run), second(run), third(run);
  first.join();
  second.join();
  third.join();
  EXPECT_EQ(twice, 0);
  EXPECT_GT(held, 0);
}

} // namespace
} // namespace dtcc::rt::test
