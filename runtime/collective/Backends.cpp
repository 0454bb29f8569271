//===- Backends.cpp - Choosing how ranks talk ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <cstdlib>
#include <cstring>

namespace dtcc::rt {

#define DTCC_COLLECTIVE_BACKEND(NAME, WHEN) std::unique_ptr<Transport> create##NAME##Transport(const Launch &launch);
#include "runtime/collective/Backends.def"

namespace {

/// Environment variables that each launcher sets for its processes. A variable that
/// only says "inside an allocation" is not enough: `needs` is set by the launch.
struct Launcher {
  const char *name;
  const char *size;
  const char *needs; /* this process's number */
  const char *node;  /* processes of this node, or of all: "4(x2),3" */
  const char *local; /* this process's number on its node */
};
const Launcher launchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_LOCALID"},
    {"mpirun", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
    {"torchrun", "WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK"},
};

/// Number of processes of node `node`: in "4(x2),3" node 2 has 3. A single number is that of the process's own node.
int64_t processesOf(const char *counts, int64_t node) {
  int64_t count = 0;
  while (*counts) {
    char *end = nullptr;
    int64_t nodes = 1;
    count = std::strtoll(counts, &end, 10);
    if (std::strncmp(end, "(x", 2) == 0)
      nodes = std::strtoll(end + 2, &end, 10);
    node -= nodes;
    const char *next = std::strchr(end, ',');
    if (node < 0 || !next)
      break;
    counts = next + 1;
  }
  return count;
}

} // namespace

void detectLauncher(Launch &launch) {
  for (const Launcher &launcher : launchers) {
    const char *size = std::getenv(launcher.size), *number = std::getenv(launcher.needs);
    if (!size || !number)
      continue;
    launch.launcher = launcher.name;
    launch.processes = launch.nodeProcesses = std::strtoll(size, nullptr, 10);
    launch.process = launch.nodeProcess = std::strtoll(number, nullptr, 10);
    const char *node = std::getenv("SLURM_NODEID");
    if (const char *counts = std::getenv(launcher.node))
      launch.nodeProcesses = processesOf(counts, node ? std::strtoll(node, nullptr, 10) : 0);
    if (const char *local = std::getenv(launcher.local))
      launch.nodeProcess = std::strtoll(local, nullptr, 10);
    return;
  }
}

std::unique_ptr<Transport> createTransport(const Launch &launch) {
  if (!launch.launcher.empty() && launch.processes != launch.ranks)
    fail("the plan has ", launch.ranks, " ranks, and ", launch.launcher, " started ", launch.processes,
         " processes: start ", launch.ranks, ", or compile for ", launch.processes);
#define DTCC_COLLECTIVE_BACKEND(NAME, WHEN)                                                                            \
  if (auto transport = create##NAME##Transport(launch))                                                                \
    return transport;
#include "runtime/collective/Backends.def"
  fail("no collective backend serves ", launch.ranks, " ranks started by '", launch.launcher, "'");
}

} // namespace dtcc::rt
