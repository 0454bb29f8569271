//===- LaunchTest.cpp - Who started this process -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace dtcc::rt::test {
namespace {

/// What a process with this environment learns of its launch.
Launch launchIn(const std::map<std::string, std::string> &environment) {
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_LOCALID",
        "PMI_SIZE", "PMI_RANK", "WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK"})
    unsetenv(name);
  for (const auto &[name, value] : environment)
    setenv(name.c_str(), value.c_str(), 1);
  Launch launch;
  detectLauncher(launch);
  for (const auto &[name, value] : environment)
    unsetenv(name.c_str());
  return launch;
}

TEST(Launch, OfNobody) { EXPECT_EQ(launchIn({}).launcher, ""); }

TEST(Launch, ByTorchrun) {
  Launch launch = launchIn({{"WORLD_SIZE", "8"}, {"RANK", "5"}, {"LOCAL_WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.processes, 8);
  EXPECT_EQ(launch.process, 5);
  EXPECT_EQ(launch.nodeProcesses, 4);
  EXPECT_EQ(launch.nodeProcess, 1);
}

/// Seven processes on three nodes, as Slurm's manual of srun says it: SLURM_STEP_TASKS_PER_NODE=2(x2),3.
TEST(Launch, BySrunOnNodesOfUnequalCounts) {
  for (auto [node, processes] : {std::pair("0", 2), {"1", 2}, {"2", 3}}) {
    Launch launch = launchIn({{"SLURM_STEP_NUM_TASKS", "7"},
                              {"SLURM_PROCID", "4"},
                              {"SLURM_STEP_TASKS_PER_NODE", "2(x2),3"},
                              {"SLURM_NODEID", node},
                              {"SLURM_LOCALID", "1"}});
    EXPECT_EQ(launch.launcher, "srun");
    EXPECT_EQ(launch.processes, 7);
    EXPECT_EQ(launch.nodeProcesses, processes) << "node " << node;
    EXPECT_EQ(launch.nodeProcess, 1);
  }
}

/// An allocation of Slurm has variables too; its mpirun knows the node's own number.
TEST(Launch, ByMpirunInsideSlurm) {
  Launch launch = launchIn({{"OMPI_COMM_WORLD_SIZE", "6"},
                            {"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"SLURM_NODEID", "1"},
                            {"SLURM_STEP_NUM_TASKS", "2"},
                            {"SLURM_PROCID", "1"}});
  EXPECT_EQ(launch.launcher, "mpirun");
  EXPECT_EQ(launch.nodeProcesses, 3);
}

} // namespace
} // namespace dtcc::rt::test
