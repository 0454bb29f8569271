//===- HostTuning.cpp - Ways of a processor's commands -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/HostTuning.h"

#include "runtime/core/Error.h"
#include "runtime/core/Processor.h"
#include "runtime/kernels/onednn/OneDnnProduct.h"
#include "runtime/kernels/vector/VectorKernels.h"

#include <algorithm>
#include <ctime>
#include <memory>

namespace dtcc::rt {
namespace {

/// Processor time that each thread of the team has taken so far.
std::vector<double> threadSeconds(ThreadTeam &team) {
  std::vector<double> seconds(static_cast<size_t>(team.threads()));
  team.parallelParts(team.threads(), 1, [&](int64_t, int64_t, int part) {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    seconds[static_cast<size_t>(part)] = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  });
  return seconds;
}

class HostTunable final : public Tunable {
public:
  HostTunable(const HostSite &site, const std::string &machine, Rank &rank)
      : site(site), text(machine + "; " + site.op->ways()->problem()), rank(rank) {}

  std::string problem() const override { return text; }
  std::vector<Choice> candidates() override {
    std::vector<Choice> choices;
    for (const std::string &name : site.op->ways()->names(rank))
      choices.push_back({name});
    return choices;
  }
  bool choose(const Choice &choice) override {
    return choice == Choice{choice.way} && site.op->ways()->take(choice.way, rank);
  }
  /// A long run counts by itself; short ones are repeated, the first of which fills the caches.
  double seconds(double best) override {
    constexpr double isLong = 0.02, wanted = 0.004;
    const double first = timeOf(1);
    if (first >= isLong || (best > 0 && first > 4 * best))
      return first;
    return timeOf(std::clamp(static_cast<int>(wanted / std::max(first, 1e-7)), 2, 200));
  }
  int passes() const override { return 3; }
  double margin() const override { return 0.1; }

private:
  double timeOf(int runs) {
    const std::vector<double> begin = threadSeconds(rank.team);
    for (int i = 0; i < runs; ++i)
      site.op->run(rank, site.buffers.data());
    const std::vector<double> end = threadSeconds(rank.team);
    double most = 0;
    for (size_t i = 0; i < end.size(); ++i)
      most = std::max(most, end[i] - begin[i]);
    return most / runs;
  }

  const HostSite &site;
  std::string text;
  Rank &rank;
};

} // namespace

std::string tuneHost(std::span<const HostSite> sites, const TuningRequest &request, Rank &rank) {
  // Replicas on unlike machines take one choice, that of the first rank's machine.
  const std::string machine =
      wordOfFirst(message(processorName(), ", ", vectorKernels().name, ", ", rank.team.threads(),
                          rank.team.threads() == 1 ? " thread; " : " threads; ", oneDnnText()),
                  rank.world);
  std::vector<std::unique_ptr<HostTunable>> made;
  std::vector<Tunable *> tunables;
  for (const HostSite &site : sites)
    tunables.push_back(made.emplace_back(std::make_unique<HostTunable>(site, machine, rank)).get());
  return tune(tunables, request, rank.world, rank.abi.rank);
}

} // namespace dtcc::rt
