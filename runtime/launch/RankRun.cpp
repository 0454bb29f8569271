//===- RankRun.cpp - The run of one rank ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/RankRun.h"

#include "runtime/checkpoint/Save.h"
#include "runtime/core/Error.h"
#include "runtime/core/Signals.h"
#include "runtime/image/TraceSummary.h"
#include "runtime/launch/Initialize.h"

#include <cstdio>
#include <memory>

namespace dtcc::rt {
namespace {

/// Index of a rank among the ranks of its machine.
int64_t ordinalOf(const SharedRun &shared, int64_t number) {
  if (!shared.launch.launcher.empty())
    return shared.launch.nodeProcess;
  return number;
}

/// What a rank is doing, for its communicators.
class RankWhereabouts final : public Whereabouts {
public:
  explicit RankWhereabouts(const Rank &rank) : rank(rank) {}
  std::string text() const override { return rank.whereabouts(); }

private:
  const Rank &rank;
};

class RankRun {
public:
  RankRun(const SharedRun &shared, int64_t number)
      : shared(shared), image(shared.image), team(shared.launch.threads),
        trace(shared.options.profile.empty() ? nullptr : new Trace()),
        traceOfStreams(shared.options.profile.empty() ? nullptr : new Trace()),
        rank(image, number, team, shared.begin.seed),
        device(createDevice({rank, shared.kernels, &shared.transport, trace.get(), traceOfStreams.get(),
                             ordinalOf(shared, number), shared.options.graphs, shared.options.tune,
                             shared.options.ownAttention})),
        executor(rank, *device) {}

  RankResult run() {
    openCommunicators();
    if (shared.checkpoint)
      shared.checkpoint->load(rank);
    else
      initializeStates(rank, shared.begin.seed, shared.weights);
    executor.bind();
    if (overlaps())
      device->overlap();
    startMetrics();

    bool interrupted = agree(interruptRequested());
    int64_t step = shared.begin.step;
    while (step < shared.steps && !interrupted) {
      runStep(++step);
      interrupted = agree(interruptRequested());
      bool last = step == shared.steps || interrupted;
      int64_t every = shared.options.checkpointEvery;
      if (!shared.options.checkpoint.empty() && (last || (every > 0 && step % every == 0))) {
        device->downloadStates();
        writeCheckpoint(shared.options.checkpoint, positionAfter(step), rank);
      }
    }
    if (!interrupted && !shared.options.save.path.empty()) {
      device->downloadStates();
      saveModel(shared.options.save, rank, shared.weights);
    }
    if (metrics)
      metrics->end(step, interrupted);
    // Nobody leaves before all are done: a rank that ends early would end the
    // others' processes.
    if (rank.world)
      rank.world->barrier();
    std::string events;
    if (trace)
      events = trace->json(image, rank.abi.rank, shared.origin) + ",\n" +
               traceOfStreams->json(image, rank.abi.rank, shared.origin);
    if (trace && rank.abi.rank == 0)
      std::fputs(summaryText(image, *trace).c_str(), stderr);
    return {interrupted, events};
  }

private:
  bool overlaps() const { return shared.options.overlap && shared.transport.isConcurrent(); }

  void openCommunicators() {
    if (image.ranks() > 1) {
      std::vector<int64_t> all(static_cast<size_t>(image.ranks()));
      for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<int64_t>(i);
      world = shared.transport.group("all ranks", all, rank.abi.rank);
      world->tellWhere(where);
      rank.world = world.get();
    }
    std::vector<bool> ofStreams = communicatorsOfStreams(image);
    for (size_t i = 0; i < image.communicators().size(); ++i) {
      const dtcc_communicator &communicator = image.communicators()[i];
      std::string name = std::string(image.string(communicator.name)) + " #" + std::to_string(i);
      groups.push_back(shared.transport.group(name, image.members(communicator, rank.abi.rank), rank.abi.rank));
      if (!overlaps() || !ofStreams[i])
        groups.back()->useTeam(team);
      groups.back()->tellWhere(where);
      rank.communicators.push_back(groups.back().get());
    }
  }

  /// True on all ranks if it is true on any.
  bool agree(bool mine) {
    int32_t flag = mine;
    if (rank.world)
      rank.world->allReduce(&flag, &flag, 1, DTCC_I32, DTCC_MAX);
    return flag != 0;
  }

  void startMetrics() {
    uint64_t bytes =
        arenaBytes(image, rank.stage) + rank.scratch.bytesPerThread() * static_cast<uint64_t>(team.threads());
    for (const auto &group : groups)
      bytes += group->stagingBytes();
    if (world)
      bytes += world->stagingBytes();
    RunFacts facts{shared.steps,          shared.begin.step + 1,
                   shared.launch.threads, shared.launch.launcher.empty() ? "threads" : shared.launch.launcher,
                   shared.begin.seed,     std::vector<uint64_t>(static_cast<size_t>(image.ranks()), bytes)};
    if (rank.world)
      rank.world->allGather(&bytes, facts.bytes.data(), 1, DTCC_I64);
    if (rank.abi.rank != 0)
      return;
    metrics.emplace(image, shared.options.metrics, /*append=*/shared.checkpoint != nullptr);
    metrics->start(facts);
  }

  template <typename T> T *scalar(dtcc_scalar which) {
    uint32_t view = rank.stage.scalars[which];
    return view == DTCC_NONE ? nullptr : static_cast<T *>(rank.address(view, 0));
  }

  template <typename T> void write(dtcc_scalar which, T value) {
    if (T *place = scalar<T>(which)) {
      *place = value;
      device->upload(rank.stage.scalars[which], 0);
    }
  }
  void read(std::initializer_list<dtcc_scalar> which) {
    std::vector<uint32_t> views;
    for (dtcc_scalar each : which)
      if (rank.stage.scalars[each] != DTCC_NONE)
        views.push_back(rank.stage.scalars[each]);
    device->download(views);
  }

  void runStep(int64_t step) {
    auto begin = Trace::Clock::now();
    double lr = shared.options.rate.at(step, shared.steps);
    rank.abi.step = step;
    write(DTCC_SCALAR_LR, static_cast<float>(lr));
    write(DTCC_SCALAR_STEP, step);
    StepFacts facts;
    const auto *lossScale = scalar<float>(DTCC_SCALAR_LOSS_SCALE), *skipped = scalar<float>(DTCC_SCALAR_SKIPPED);
    facts.hasLossScale = lossScale && skipped;
    facts.lossScale = lossScale ? static_cast<double>(*lossScale) : 0;
    int64_t first = positionAfter(step - 1).examples;
    executor.runStep([&](int64_t slot) { fill(slot, first); });
    if (!metrics)
      return;
    read({DTCC_SCALAR_LOSS_SUM, DTCC_SCALAR_LOSS_COUNT, DTCC_SCALAR_GRAD_NORM, DTCC_SCALAR_LOSS_SCALE,
          DTCC_SCALAR_SKIPPED});
    facts.step = step;
    facts.skipped = skipped ? static_cast<int64_t>(*skipped) : 0;
    auto *sum = scalar<float>(DTCC_SCALAR_LOSS_SUM), *count = scalar<float>(DTCC_SCALAR_LOSS_COUNT);
    if (sum)
      facts.loss = static_cast<double>(*sum) / (count ? static_cast<double>(*count) : 1.0);
    if (auto *norm = scalar<float>(DTCC_SCALAR_GRAD_NORM)) {
      facts.hasGradNorm = true;
      facts.gradNorm = static_cast<double>(*norm);
    }
    facts.lr = lr;
    facts.seconds = std::chrono::duration<double>(Trace::Clock::now() - begin).count();
    metrics->step(facts);
  }

  void fill(int64_t slot, int64_t first) {
    shared.batches.fill(rank, slot, first);
    for (const dtcc_input &input : Image::rowsOf(rank.stage.inputs, image.inputs()))
      if (input.view != DTCC_NONE)
        device->upload(input.view, slot);
  }

  RunPosition positionAfter(int64_t step) const {
    RunPosition position = shared.begin;
    position.examples += (step - position.step) * image.training().batch;
    position.step = step;
    return position;
  }

  const SharedRun &shared;
  const Image &image;
  ThreadTeam team;
  std::unique_ptr<Trace> trace, traceOfStreams;
  Rank rank;
  RankWhereabouts where{rank};
  std::unique_ptr<Device> device;
  Executor executor;
  std::unique_ptr<Communicator> world;
  std::vector<std::unique_ptr<Communicator>> groups;
  std::optional<Metrics> metrics;
};

} // namespace

RankResult runRank(const SharedRun &shared, int64_t number) {
  RankRun rank(shared, number);
  try {
    return rank.run();
  } catch (const std::exception &error) {
    shared.onFailure(error);
    throw;
  }
}

} // namespace dtcc::rt
