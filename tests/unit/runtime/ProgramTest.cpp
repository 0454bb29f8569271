//===- ProgramTest.cpp - A whole program, from command line to files -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"
#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sys/stat.h>

namespace dtcc::rt::test {
namespace {

class Program : public testing::Test {
protected:
  void SetUp() override { writeRegressionData(data, 44); }

  /// Runs the program of a plan with --data and `options`.
  Outcome run(int ranks, const std::string &options, int microbatches = 1, const std::string &environment = "") {
    return shell("env " + plan(ranks, microbatches) + environment + " " + program + " --data=" + data.path + " " +
                 options);
  }
  Outcome runMpi(int processes, int ranks, const std::string &options, const std::string &environment = "") {
    return shell("env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " + plan(ranks, 2) + environment +
                 " mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n " + std::to_string(processes) +
                 " " + program + " --data=" + data.path + " " + options);
  }
  static std::string plan(int ranks, int microbatches) {
    return "DTCC_TEST_RANKS=" + std::to_string(ranks) + " DTCC_TEST_MICROBATCHES=" + std::to_string(microbatches) + " ";
  }

  Folder data, out;
  std::string program = DTCC_TEST_PROGRAM;
};

TEST_F(Program, TrainsAlikeOnEveryPlan) {
  Outcome one = run(1, "--steps=20 --metrics=" + (out / "1.jsonl"));
  ASSERT_EQ(one.status, 0) << one.output;
  std::vector<double> want = metric(out / "1.jsonl", "loss");
  ASSERT_EQ(want.size(), 20u);
  EXPECT_LT(want[19], want[0] / 2);
  for (int ranks : {1, 2, 4})
    for (int microbatches : {1, 2}) {
      Outcome other = run(ranks, "--steps=20 --metrics=" + (out / "n.jsonl"), microbatches);
      ASSERT_EQ(other.status, 0) << other.output;
      std::vector<double> got = metric(out / "n.jsonl", "loss");
      ASSERT_EQ(got.size(), 20u);
      for (size_t i = 0; i < 20; ++i)
        EXPECT_NEAR(got[i], want[i], 1e-5 * want[0]) << ranks << " ranks, step " << i + 1;
    }
}

TEST_F(Program, ResumesBitForBit) {
  ASSERT_EQ(run(2, "--steps=9 --shuffle=5 --save=" + (out / "whole.st")).status, 0);
  std::string checkpoint = " --shuffle=5 --checkpoint=" + (out / "ck");
  ASSERT_EQ(run(2, "--steps=4" + checkpoint).status, 0);
  Outcome second = run(2, "--steps=9 --resume --save=" + (out / "resumed.st") + checkpoint);
  ASSERT_EQ(second.status, 0) << second.output;
  EXPECT_EQ(second.output.find("step 4/9"), std::string::npos);
  EXPECT_NE(second.output.find("step 5/9"), std::string::npos);
  EXPECT_EQ(readFile(out / "whole.st"), readFile(out / "resumed.st"));
}

TEST_F(Program, StateIsBitEqualUnderAnotherPlan) {
  std::string checkpoint = " --checkpoint=" + (out / "ck");
  ASSERT_EQ(run(2, "--steps=5 --save=" + (out / "two.st") + checkpoint).status, 0);
  for (int ranks : {1, 2, 4}) {
    // No step is left to run: what is saved is what was loaded.
    Outcome other = run(ranks, "--steps=5 --resume --save=" + (out / "other.st") + checkpoint);
    ASSERT_EQ(other.status, 0) << other.output;
    EXPECT_EQ(readFile(out / "two.st"), readFile(out / "other.st")) << ranks;
  }
}

TEST_F(Program, CheckpointsEveryFewSteps) {
  ASSERT_EQ(run(2, "--steps=5 --checkpoint-every=2 --checkpoint=" + (out / "ck")).status, 0);
  EXPECT_TRUE(std::filesystem::exists(out / "ck/step-2/manifest.json"));
  EXPECT_TRUE(std::filesystem::exists(out / "ck/step-4/manifest.json"));
  EXPECT_EQ(readFile(out / "ck/latest"), "step-5\n");
  // A checkpoint that was cut short, and a missing `latest`, do not mislead.
  std::filesystem::create_directories(out / "ck/step-9.tmp");
  std::filesystem::remove(out / "ck/latest");
  Outcome again = run(2, "--steps=6 --resume --checkpoint=" + (out / "ck"));
  EXPECT_NE(again.output.find("step 6/6"), std::string::npos) << again.output;
}

TEST_F(Program, StartsFromWeightsAndSavesThem) {
  ASSERT_EQ(run(1, "--steps=3 --save=" + (out / "w.st")).status, 0);
  Outcome none = run(1, "--steps=1", 1, "DTCC_TEST_INIT=file");
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.output.find("initial weights are missing"), std::string::npos) << none.output;
  // A learning rate of 0 leaves the weights as they were.
  Outcome same =
      run(2, "--steps=1 --lr=0 --weights=" + (out / "w.st") + " --save=" + (out / "same.st"), 1, "DTCC_TEST_INIT=file");
  ASSERT_EQ(same.status, 0) << same.output;
  EXPECT_EQ(readFile(out / "w.st"), readFile(out / "same.st"));
  SafetensorsFile file(out / "w.st");
  ASSERT_NE(file.find("w"), nullptr);
  EXPECT_EQ(file.find("w")->shape, (std::vector<int64_t>{5}));
  EXPECT_EQ(file.entries().size(), 1u); // no optimizer slots
}

TEST_F(Program, InterruptedCleanly) {
  for (const char *signal : {"INT", "TERM"}) {
    Outcome outcome = shell("bash -c '" + plan(2, 1) + program + " --data=" + data.path +
                            " --steps=100000000 --checkpoint=" + (out / signal) + " >/dev/null & sleep 1; kill -" +
                            signal + " $!; wait $!'");
    EXPECT_EQ(outcome.status, 3) << outcome.output;
    EXPECT_TRUE(std::filesystem::exists(out / (std::string(signal) + "/latest")));
  }
}

TEST_F(Program, RefusesBadInput) {
  struct Case {
    const char *options;
    int status;
    const char *message;
  };
  const Case cases[] = {
      {"--steps=0", 2, "--steps"},
      {"--stepz=3", 2, "did you mean --steps?"},
      {"--resume", 2, "--resume needs --checkpoint"},
      {"--lr-schedule=square", 2, "square"},
      {"--tokens=/no/such/file", 1, "/no/such/file"},
      {"--data=z=/dev/null", 1, "no input 'z' (it has: x, y)"},
      {"--data=x=/no/such.npy", 1, "/no/such.npy"},
      {"--save=/no/such/folder/w", 1, "/no/such/folder/w"},
      {"--metrics=/no/such/folder/m", 1, "/no/such/folder/m"},
      {"--save=/proc/w", 1, "cannot write /proc/w"},
      {"--metrics=/proc/m", 1, "cannot write /proc/m"},
      {"--profile=/proc/p", 1, "cannot write /proc/p"},
      {"--tune=/proc/t", 1, "cannot write /proc/t:"},
      {"--checkpoint=/proc/c", 1, "cannot write /proc/c"},
      {"--save=/dev/null", 1, "it must be a regular file"},
      {"stray", 2, "every argument must be an option, got: stray"},
      {"--threads=0", 2, "--threads"},
      {"--max-grad-norm-ratio=2", 2, "needs the norm of the gradients, which this program does not compute"},
  };
  for (const Case &c : cases) {
    Outcome outcome = run(2, c.options);
    EXPECT_EQ(outcome.status, c.status) << c.options << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(c.message), std::string::npos) << c.options << "\n" << outcome.output;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
}

/// Opening a pipe that nobody writes to would wait for ever.
TEST_F(Program, RefusesPipes) {
  const std::string pipe = out / "pipe.npy";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &option : {"--data=x=" + pipe, "--weights=" + pipe, "--tune=" + pipe}) {
    Outcome outcome = run(1, option);
    EXPECT_EQ(outcome.status, 1) << option;
    EXPECT_NE(outcome.output.find("regular file"), std::string::npos) << option << "\n" << outcome.output;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
}

// As torchrun starts them; no MPI is needed on one node.
TEST_F(Program, ProcessesOfOneNodeTrainAsThreads) {
  ASSERT_EQ(run(2, "--steps=5 --save=" + (out / "threads.st"), 2).status, 0);
  auto runTwo = [&](const std::string &options, int ranks) {
    return shell("env " + plan(ranks, 2) + DTCC_TEST_PROCESSES + " 2 " + program + " --data=" + data.path + " " +
                 options);
  };
  Outcome outcome = runTwo("--steps=5 --save=" + (out / "two.st"), 2);
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(readFile(out / "threads.st"), readFile(out / "two.st"));
  Outcome mismatch = runTwo("--steps=5", 4);
  EXPECT_EQ(mismatch.status, 1);
  EXPECT_NE(mismatch.output.find("the plan has 4 ranks, and torchrun started 2 processes"), std::string::npos);
}

// Only the rank that reads sample 7 fails; the others must not wait for it for ever.
TEST_F(Program, OneRanksBadInputStopsAll) {
  std::vector<double> x(44 * 5, 0.5);
  x[7 * 5 + 1] = 1e39; // more than an f32 holds
  writeNpy(out / "x.npy", "<f8", "(44, 5)", x.data(), x.size() * 8);
  std::string options = "--steps=3 --data=x=" + (out / "x.npy");
  for (int ranks : {1, 2, 4}) {
    Outcome outcome = run(ranks, options, 2);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.output.find("sample 7, element 1"), std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("another rank"), std::string::npos) << outcome.output;
  }
  if (DTCC_TEST_MPI) {
    Outcome outcome = runMpi(2, 2, options);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.output.find("sample 7, element 1"), std::string::npos) << outcome.output;
  }
}

TEST_F(Program, InformationWithoutData) {
  Outcome outcome = shell(program + " --info");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("params   5"), std::string::npos) << outcome.output;
}

TEST_F(Program, ProcessesTrainAsThreads) {
  if (!DTCC_TEST_MPI)
    GTEST_SKIP() << "no mpirun, or the plugin was not built";
  ASSERT_EQ(run(2, "--steps=5 --save=" + (out / "threads.st"), 2).status, 0);
  for (const char *window : {"DTCC_MPI_WINDOW=0", "DTCC_MPI_WINDOW=1"}) {
    Outcome outcome = runMpi(2, 2, "--steps=5 --metrics=" + (out / "m.jsonl") + " --save=" + (out / "mpi.st"), window);
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(readFile(out / "threads.st"), readFile(out / "mpi.st"));
    EXPECT_EQ(metric(out / "m.jsonl", "loss").size(), 5u);
  }
  Outcome mismatch = runMpi(3, 2, "--steps=1");
  EXPECT_EQ(mismatch.status, 1);
  EXPECT_NE(mismatch.output.find("the plan has 2 ranks, and mpirun started 3 processes"), std::string::npos);
  Outcome missing = runMpi(2, 2, "--steps=1", "DTCC_MPI_PLUGIN=/no/such/plugin.so");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.output.find("/no/such/plugin.so"), std::string::npos) << missing.output;
}

} // namespace
} // namespace dtcc::rt::test
