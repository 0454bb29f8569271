//===- LaunchTest.cpp - Who started this process -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace dtcc::rt::test {
namespace {

/// Launch that a process with this environment finds; a refusal stands in the place of the launcher.
Launch launchIn(const std::map<std::string, std::string> &environment) {
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_LOCALID",
        "PMI_SIZE", "PMI_RANK", "WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK"})
    unsetenv(name);
  for (const auto &[name, value] : environment)
    setenv(name.c_str(), value.c_str(), 1);
  Launch launch;
  try {
    detectLauncher(launch);
  } catch (const Error &error) {
    launch.launcher = error.what();
    EXPECT_EQ(error.status, Status::BadInput);
  }
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

TEST(Launch, OfVariablesThatCannotBe) {
  struct Case {
    std::map<std::string, std::string> environment;
    std::string expected;
  };
  const Case cases[] = {
      {{{"WORLD_SIZE", "2"}, {"RANK", "-1"}}, "RANK of torchrun must be a whole number from 0 to 1, got: '-1'"},
      {{{"WORLD_SIZE", "2"}, {"RANK", "1000000"}},
       "RANK of torchrun must be a whole number from 0 to 1, got: '1000000'"},
      {{{"WORLD_SIZE", "2"}, {"RANK", "1x"}}, "RANK of torchrun must be a whole number from 0 to 1, got: '1x'"},
      {{{"WORLD_SIZE", "2"}, {"RANK", ""}}, "RANK of torchrun must be a whole number from 0 to 1, got: ''"},
      {{{"WORLD_SIZE", "0"}, {"RANK", "0"}},
       "WORLD_SIZE of torchrun must be a whole number from 1 to 16777216, got: '0'"},
      {{{"WORLD_SIZE", "99999999999999999999"}, {"RANK", "0"}},
       "WORLD_SIZE of torchrun must be a whole number from 1 to 16777216, got: '99999999999999999999'"},
      {{{"WORLD_SIZE", "4"}, {"RANK", "0"}, {"LOCAL_WORLD_SIZE", "5"}},
       "LOCAL_WORLD_SIZE of torchrun must count up to 4 processes, got: '5'"},
      {{{"WORLD_SIZE", "4"}, {"RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}},
       "LOCAL_RANK of torchrun must be a whole number from 0 to 1, got: '2'"},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "2"}},
       "OMPI_COMM_WORLD_RANK of mpirun must be a whole number from 0 to 1, got: '2'"},
      {{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x"}},
       "SLURM_STEP_TASKS_PER_NODE of srun must count up to 4 processes, got: '2(x'"},
  };
  for (const Case &c : cases)
    EXPECT_EQ(launchIn(c.environment).launcher, c.expected);
}

} // namespace
} // namespace dtcc::rt::test
