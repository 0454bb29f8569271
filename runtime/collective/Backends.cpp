//===- Backends.cpp - Choosing how ranks talk ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

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

/// A launcher's variable as a number from `least` to `most`. Fails if it is anything else.
int64_t numberIn(const Launcher &launcher, const char *name, const char *text, int64_t least, int64_t most) {
  int64_t value = 0;
  const char *last = text + std::strlen(text);
  auto [end, error] = std::from_chars(text, last, value);
  if (error != std::errc() || end != last || value < least || value > most)
    fail(name, " of ", launcher.name, " must be a whole number from ", least, " to ", most, ", got: '", text, "'");
  return value;
}

/// Number of processes of node `node`: in "4(x2),3" node 2 has 3. A single number is that of the process's own node.
std::optional<int64_t> processesOf(std::string_view counts, int64_t node) {
  auto take = [&](int64_t &value) {
    auto [end, error] = std::from_chars(counts.data(), counts.data() + counts.size(), value);
    counts.remove_prefix(static_cast<size_t>(end - counts.data()));
    return error == std::errc() && value > 0;
  };
  auto skip = [&](std::string_view text) {
    bool found = counts.substr(0, text.size()) == text;
    counts.remove_prefix(found ? text.size() : 0);
    return found;
  };
  int64_t count = 0, nodes = 1;
  do {
    nodes = 1;
    if (!take(count) || (skip("(x") && (!take(nodes) || !skip(")"))))
      return std::nullopt;
    node -= nodes;
  } while (node >= 0 && skip(","));
  return count;
}

/// More processes than any launcher starts: what is larger is a mistake.
constexpr int64_t mostProcesses = int64_t(1) << 24;

} // namespace

void detectLauncher(Launch &launch) {
  for (const Launcher &launcher : launchers) {
    const char *size = std::getenv(launcher.size), *number = std::getenv(launcher.needs);
    if (!size || !number)
      continue;
    launch.launcher = launcher.name;
    launch.processes = launch.nodeProcesses = numberIn(launcher, launcher.size, size, 1, mostProcesses);
    launch.process = launch.nodeProcess = numberIn(launcher, launcher.needs, number, 0, launch.processes - 1);
    const char *node = std::getenv("SLURM_NODEID");
    if (const char *counts = std::getenv(launcher.node)) {
      auto found = processesOf(counts, node ? numberIn(launcher, "SLURM_NODEID", node, 0, mostProcesses) : 0);
      if (!found || *found > launch.processes)
        fail(launcher.node, " of ", launcher.name, " must count up to ", launch.processes, " processes, got: '", counts,
             "'");
      launch.nodeProcesses = *found;
    }
    if (const char *local = std::getenv(launcher.local))
      launch.nodeProcess = numberIn(launcher, launcher.local, local, 0, launch.nodeProcesses - 1);
    return;
  }
}

std::unique_ptr<Transport> createTransport(const Launch &launch) {
#define DTCC_COLLECTIVE_BACKEND(NAME, WHEN)                                                                            \
  if (auto transport = create##NAME##Transport(launch))                                                                \
    return transport;
#include "runtime/collective/Backends.def"
  fail("no collective backend serves ", launch.ranks, " ranks started by '", launch.launcher, "'");
}

} // namespace dtcc::rt
