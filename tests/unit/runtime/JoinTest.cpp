//===- JoinTest.cpp - Processes that find their run -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processes of one host that a shell starts. tests/cluster does it with several hosts.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace dtcc::rt::test {
namespace {

class Join : public testing::Test {
protected:
  void SetUp() override { writeRegressionData(data, 44); }

  /// Runs the program of two ranks in a shell, with `environment` before and `options` behind it.
  std::string command(const std::string &environment, const std::string &options) {
    return "env DTCC_TEST_RANKS=2 DTCC_TEST_MICROBATCHES=1 " + environment + " " + DTCC_TEST_PROGRAM +
           " --steps=3 --data=" + data.path + " " + options;
  }
  static std::string shellOf(const std::string &commands) { return "bash -c '" + commands + "'"; }
  std::string token(const std::string &name, const std::string &text) {
    writeFile(out / name, text);
    return "--token-file=" + (out / name);
  }

  Folder data, out;
  /// A port that no other test of this machine is likely to have.
  int port = 21000 + static_cast<int>(getpid()) % 8000;
};

TEST_F(Join, VariablesThatCannotBeAreRefused) {
  for (const char *rank : {"-1", "1000000", "2", "x"}) {
    Outcome outcome = shell(
        command("WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_PORT=1 TORCHELASTIC_RUN_ID=a RANK=" + std::string(rank), ""));
    EXPECT_EQ(outcome.status, 1) << rank;
    EXPECT_EQ(outcome.output,
              "error: RANK of torchrun must be a whole number from 0 to 1, got: '" + std::string(rank) + "'\n");
  }
}

/// Two runs that nothing tells apart must not join each other.
TEST_F(Join, ARunWithoutATokenIsRefused) {
  Outcome outcome = shell(command("WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 RANK=0 LOCAL_RANK=0 MASTER_PORT=29500", ""));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output.find("error: nothing says to which run this process belongs: give all its ranks one "
                                "--token-file=FILE"),
            0u)
      << outcome.output;
  Outcome byHand = shell(command("", "--rendezvous=127.0.0.1:29500 --rank=0 --ranks=2"));
  EXPECT_EQ(byHand.status, 1);
  EXPECT_EQ(byHand.output.find("error: nothing says to which run this process belongs"), 0u) << byHand.output;
}

TEST_F(Join, OptionsThatCannotBeAreRefused) {
  std::string secret = token("token", "a secret of this test");
  struct Case {
    std::string options, expected;
    int status;
  };
  const Case cases[] = {
      {"--rank=0 --ranks=2", "--rank needs --rendezvous=HOST:PORT", 2},
      {"--rank=0 --rendezvous=127.0.0.1:29500", "--rank needs --ranks=N", 2},
      {"--rendezvous=127.0.0.1:29500", "--rendezvous needs --rank and --ranks, or a launcher's variables", 2},
      {"--rendezvous=127.0.0.1:29500 --rank=2 --ranks=2", "--rank must be less than --ranks=2, got: 2", 2},
      {"--rendezvous=127.0.0.1:29500 --rank=0 --ranks=3",
       "the plan has 2 ranks, and --ranks says 3: start 2, or compile for 3", 1},
      {"--rendezvous=127.0.0.1 --rank=0 --ranks=2 " + secret,
       "a rendezvous must be HOST:PORT with a port from 1 to 65527, got: 127.0.0.1", 1},
      {"--rendezvous=127.0.0.1:x --rank=0 --ranks=2 " + secret,
       "a rendezvous must be HOST:PORT with a port from 1 to 65527, got: 127.0.0.1:x", 1},
      {"--rendezvous=127.0.0.1:29500 --rank=0 --ranks=2 --token-file=" + (out / "none"),
       "--token-file must name a file of at least 8 characters, got: " + (out / "none"), 1},
      {"--rendezvous=127.0.0.1:29500 --rank=1 --ranks=2 --hang-timeout=1 " + secret,
       "rank 1 waited 1 s for rank 0 at 127.0.0.1:29500: nobody listens there", 5},
  };
  for (const Case &c : cases) {
    Outcome outcome = shell(command("", c.options));
    EXPECT_NE(outcome.output.find("error: " + c.expected), std::string::npos) << c.options << "\n" << outcome.output;
    EXPECT_EQ(outcome.status, c.status) << c.options;
  }
}

/// Rank 0 of the second run finds the port taken, and takes the next.
TEST_F(Join, TwoRunsWithOnePortStayApart) {
  std::string commands;
  for (const char *run : {"a", "b"})
    for (const char *rank : {"1", "0"})
      commands +=
          command("", "--rendezvous=127.0.0.1:" + std::to_string(port) + " --ranks=2 --rank=" + rank + " " +
                          token(run, "the secret of run " + std::string(run)) + " --seed=" + (*run == 'a' ? "1" : "2") +
                          " --metrics=" + (out / run + std::string(rank))) +
          " & pids=\"$pids $!\"; ";
  Outcome outcome = shell(shellOf(commands + "for pid in $pids; do wait $pid || exit 1; done"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  std::vector<double> a = metric(out / "a0", "loss"), b = metric(out / "b0", "loss");
  EXPECT_EQ(a.size(), 3u);
  EXPECT_EQ(b.size(), 3u);
  EXPECT_NE(a, b);
}

/// torchrun's agents count for themselves, and only the restarts for a failure of their own: a run on several hosts
/// meets again although their counts differ. Slurm's count is the job's, and tells attempts apart.
TEST_F(Join, RanksMeetAgainBehindARestart) {
  auto statusOf = [&](const std::string &launcher, const char *count, const char *first, const char *second) {
    std::string commands;
    for (const char *rank : {"0", "1"})
      commands += command(launcher + rank + " " + count + "=" + (*rank == '0' ? first : second),
                          "--hang-timeout=2 --rendezvous=127.0.0.1:" + std::to_string(port)) +
                  " & pids=\"$pids $!\"; ";
    return shell(shellOf(commands + "for pid in $pids; do wait $pid || exit $?; done")).status;
  };
  const std::string torchrun = "WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 LOCAL_RANK=0 MASTER_PORT=1 TORCHELASTIC_RUN_ID=a RANK=";
  const std::string srun = "SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=";
  EXPECT_EQ(statusOf(torchrun, "TORCHELASTIC_RESTART_COUNT", "0", "1"), 0);
  EXPECT_EQ(statusOf(srun, "SLURM_RESTART_COUNT", "1", "1"), 0);
  EXPECT_EQ(statusOf(srun, "SLURM_RESTART_COUNT", "0", "1"), 5);
}

/// The thread that asks a connection for its token needs libcrypto, and no error of a thread may end the process.
TEST_F(Join, AHostWithoutLibcryptoSaysSo) {
  for (const char *name : {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"})
    writeFile(out / name, "no library");
  std::string options =
      "--hang-timeout=3 --rendezvous=127.0.0.1:" + std::to_string(port) + " " + token("token", "a secret of this test");
  Outcome outcome =
      shell(shellOf(command("", options + " --ranks=2 --rank=1 --hang-timeout=2") + " >/dev/null 2>&1 & " +
                    command("LD_LIBRARY_PATH=" + out.path, options + " --ranks=2 --rank=0")));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output.find("error: ranks on several hosts prove to each other that they belong together by "
                                "OpenSSL's libcrypto.so.3, which this host lacks"),
            0u)
      << outcome.output;
}

TEST_F(Join, ARankThatComesTwiceIsRefused) {
  std::string options = "--rendezvous=127.0.0.1:" + std::to_string(port) + " --hang-timeout=3 " +
                        token("token", "a secret of this test") + " --ranks=4 --rank=";
  std::string env = "DTCC_TEST_RANKS=4";
  std::string commands;
  for (const char *rank : {"0", "1", "1"})
    commands += command(env, options + rank) + " & ";
  Outcome outcome = shell(shellOf(commands + "wait"));
  EXPECT_NE(outcome.output.find("two processes of the run at 127.0.0.1:"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("rank 0 waited 3 s at 127.0.0.1:"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find(" for rank 2, 3\n"), std::string::npos) << outcome.output;
}

} // namespace
} // namespace dtcc::rt::test
