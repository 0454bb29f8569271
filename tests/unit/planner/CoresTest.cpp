//===- CoresTest.cpp - Cores under a quota
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Cores.h"
#include "planner/problem/InParallel.h"
#include <filesystem>
#include <gtest/gtest.h>

namespace dtcc {
namespace {

/// A folder with the files of a control group.
class Cores : public testing::Test {
protected:
  void SetUp() override { std::filesystem::create_directories(folder + "/cpu"); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string &file, const char *text) const { std::ofstream(folder + "/" + file) << text; }

  const std::string folder = testing::TempDir() + "cores-" + std::to_string(getpid());
};

TEST_F(Cores, AreTheMachinesWithoutAQuota) {
  EXPECT_EQ(coresUnderQuota(64, folder), 64) << "no control group";
  write("cpu.max", "max 100000\n");
  EXPECT_EQ(coresUnderQuota(64, folder), 64);
  write("cpu.max", "6400000 100000\n");
  EXPECT_EQ(coresUnderQuota(2, folder), 2) << "the quota is more than there is";
}

TEST_F(Cores, AreAsManyAsTheQuotaLetsRun) {
  write("cpu.max", "200000 100000\n");
  EXPECT_EQ(coresUnderQuota(64, folder), 2);
  write("cpu.max", "250000 100000\n");
  EXPECT_EQ(coresUnderQuota(64, folder), 3) << "a part of a core counts as one";
  write("cpu.max", "5000 100000\n");
  EXPECT_EQ(coresUnderQuota(64, folder), 1);
}

TEST_F(Cores, KnowTheFilesOfVersionOne) {
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(coresUnderQuota(64, folder), 64);
  write("cpu/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(coresUnderQuota(64, folder), 4);
}

TEST_F(Cores, BoundTheThreadsOfASearch) {
  EXPECT_EQ(plan::threads(), std::min<size_t>(16, static_cast<size_t>(availableCores())));
  EXPECT_LE(availableCores(), machineCores());
}

} // namespace
} // namespace dtcc
