//===- Tuning.cpp - Ways of a GPU's commands by measurement --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Tuning.h"

#include <algorithm>
#include <memory>

namespace dtcc::rt::cuda {
namespace {

constexpr int kAlgorithms = 8, kRuns = 5, kRounds = 3;

/// Events between which the runs of a way are timed.
struct Stopwatch {
  explicit Stopwatch(Gpu &gpu) : begin(gpu.event(/*flags=*/0)), end(gpu.event(/*flags=*/0)) {}
  CUevent begin, end;
};

class GpuTunable final : public Tunable {
public:
  GpuTunable(const TuningSite &site, Gpu &gpu, GpuLauncher &launcher, Rank &rank, const Stopwatch &watch)
      : site(site), gpu(gpu), launcher(launcher), rank(rank), watch(watch) {}

  std::string problem() const override {
    return gpu.info().model + "; " + site.op->library() + "; " + site.op->problem();
  }
  std::vector<Choice> candidates() override {
    launcher.bindFor(site.stream);
    return site.op->choices(kAlgorithms);
  }
  bool choose(const Choice &choice) override {
    launcher.bindFor(site.stream);
    return site.op->choose(choice);
  }
  /// The seconds of the fastest of several rounds, after one run that loads the code.
  double seconds(double best) override {
    const Call call{gpu.firstStream(), site.buffers.data(), nullptr, site.workspace};
    site.op->run(rank, call);
    double least = 0;
    for (int round = 0; round < kRounds; ++round) {
      gpu.record(watch.begin, gpu.firstStream());
      for (int i = 0; i < kRuns; ++i)
        site.op->run(rank, call);
      gpu.record(watch.end, gpu.firstStream());
      gpu.synchronize(gpu.firstStream());
      float milliseconds = 0;
      gpu.check(driver().elapsedTime(&milliseconds, watch.begin, watch.end), "cuEventElapsedTime");
      const double took = static_cast<double>(milliseconds) / 1000 / kRuns;
      least = round == 0 ? took : std::min(least, took);
      if (best > 0 && least > 2 * best)
        break;
    }
    return least;
  }

private:
  const TuningSite &site;
  Gpu &gpu;
  GpuLauncher &launcher;
  Rank &rank;
  const Stopwatch &watch;
};

} // namespace

std::string tune(std::span<const TuningSite> sites, const TuningRequest &request, Gpu &gpu, GpuLauncher &launcher,
                 Rank &rank, Communicator *all) {
  const Stopwatch watch(gpu);
  std::vector<std::unique_ptr<GpuTunable>> made;
  std::vector<Tunable *> tunables;
  for (const TuningSite &site : sites)
    tunables.push_back(made.emplace_back(std::make_unique<GpuTunable>(site, gpu, launcher, rank, watch)).get());
  return rt::tune(tunables, request, all, rank.abi.rank);
}

} // namespace dtcc::rt::cuda
