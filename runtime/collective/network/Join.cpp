//===- Join.cpp - How a process finds its run ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
#include "runtime/collective/network/Meeting.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace dtcc::rt {
namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Secret that the processes of the run know, and nobody else should. Processes of one host do not meet: they find each
/// other by it alone.
std::string tokenOf(const Launch &launch, bool meets) {
  std::string token, attempt;
  if (!launch.tokenFile.empty()) {
    std::ifstream file(launch.tokenFile, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    token = text.str();
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (!file || token.size() < 8)
      fail("--token-file must name a file of at least 8 characters, got: ", launch.tokenFile);
  } else if (launch.launcher == "torchrun" && !variable("TORCHELASTIC_RUN_ID").empty()) {
    token = "torchrun " + variable("TORCHELASTIC_RUN_ID") + " " + variable("MASTER_PORT");
  } else if (launch.launcher == "srun" && !variable("SLURM_JOB_ID").empty()) {
    token = "srun " + variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID");
  } else {
    fail("nothing says to which run this process belongs: give all its ranks one --token-file=FILE, with a text that "
         "no other run has",
         launch.launcher == "torchrun" ? " (or set TORCHELASTIC_RUN_ID, as torchrun does)" : "");
  }
  // A launcher starts a run that failed again, and what is left of the one before stays outside. Slurm's count is the
  // job's. Each of torchrun's agents counts for itself, and not every restart: on several hosts the counts may differ.
  token += " " + variable("SLURM_RESTART_COUNT");
  return meets ? token : token + " " + variable("TORCHELASTIC_RESTART_COUNT");
}

/// The first host of Slurm's "node[03-05,9],other".
std::string firstHost(const std::string &list) {
  size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  return list.substr(0, bracket) + list.substr(bracket + 1, list.find_first_of(",-]", bracket) - bracket - 1);
}

/// The address at which the processes meet, by the launcher's variables; empty if all stand on this host.
std::string rendezvousOf(const Launch &launch) {
  bool alone = launch.nodeProcesses == launch.processes;
  if (launch.launcher == "torchrun") {
    std::string host = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
    if (alone && (std::getenv("LOCAL_WORLD_SIZE") || host.empty()))
      return {};
    if (host.empty() || port.empty())
      fail("the ranks of several hosts meet at MASTER_ADDR and MASTER_PORT, which torchrun sets, or at "
           "--rendezvous=HOST:PORT");
    // torchrun's own store listens at the port itself.
    if (int64_t number = std::atoll(port.c_str()); variable("TORCHELASTIC_USE_AGENT_STORE") == "True" && number > 0)
      port = std::to_string(number + 1);
    return host + ":" + port;
  }
  if (alone)
    return {};
  std::string host = firstHost(variable("SLURM_STEP_NODELIST"));
  if (host.empty())
    fail("the ranks of several hosts meet on the first of SLURM_STEP_NODELIST, which srun sets, or at "
         "--rendezvous=HOST:PORT");
  // A port of the job's own; where another has it, the next are tried.
  uint64_t job = std::strtoull(variable("SLURM_JOB_ID").c_str(), nullptr, 10);
  uint64_t step = std::strtoull(variable("SLURM_STEP_ID").c_str(), nullptr, 10);
  return message(host, ":", 20000 + 8 * ((job * 31 + step) % 1500));
}

} // namespace

void joinRun(Launch &launch) {
  if (launch.launcher.empty()) {
    if (!launch.rendezvous.empty())
      failWith(Status::Usage, "--rendezvous needs --rank and --ranks, or a launcher's variables");
    return;
  }
  bool byMpi = launch.launcher == "mpirun" ||
               (launch.launcher == "srun" && (std::getenv("PMIX_RANK") || std::getenv("PMI_RANK")));
  if (byMpi && launch.rendezvous.empty())
    return;
  if (launch.rendezvous.empty())
    launch.rendezvous = rendezvousOf(launch);
  const bool meets = !launch.rendezvous.empty() && launch.processes > 1;
  launch.token = tokenOf(launch, meets);
  if (!meets)
    return;
  launch.meeting = std::make_shared<Meeting>(launch);
  std::vector<int64_t> near = launch.meeting->neighbours(launch.process);
  launch.nodeProcesses = static_cast<int64_t>(near.size());
  launch.nodeProcess = std::find(near.begin(), near.end(), launch.process) - near.begin();
}

} // namespace dtcc::rt
