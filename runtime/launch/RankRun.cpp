//===- RankRun.cpp - The run of one rank ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/RankRun.h"
#include "runtime/device/CreateDevice.h"

#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/checkpoint/GatherFiles.h"
#include "runtime/checkpoint/save/Save.h"
#include "runtime/collective/network/Host.h"
#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"
#include "runtime/core/Signals.h"
#include "runtime/data/ReadAhead.h"
#include "runtime/image/TraceSummary.h"
#include "runtime/kernels/MeasuredRates.h"
#include "runtime/launch/Evaluation.h"
#include "runtime/launch/GpuOverhead.h"
#include "runtime/launch/Initialize.h"
#include "runtime/launch/Nonfinite.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>

namespace dtcc::rt {
namespace {

/// Index of a rank among the ranks of its machine.
int64_t ordinalOf(const SharedRun &shared, int64_t number) {
  if (!shared.launch.launcher.empty())
    return shared.launch.nodeProcess;
  return number;
}

/// Activity of a rank, for its communicators.
class RankWhereabouts final : public Whereabouts {
public:
  explicit RankWhereabouts(const Rank &rank) : rank(rank) {}
  std::string text() const override { return rank.whereabouts(); }
  std::string textAt(int64_t step, uint32_t command) const override { return rank.whereaboutsAt(step, command); }

private:
  const Rank &rank;
};

class RankRun {
public:
  RankRun(const SharedRun &shared, int64_t number)
      : shared(shared), image(shared.image), team(shared.launch.threads),
        trace(shared.options.profile.empty() ? nullptr : new Trace(shared.options.profileSteps)),
        traceOfStreams(shared.options.profile.empty() ? nullptr : new Trace(shared.options.profileSteps)),
        rank(image, number, team, shared.begin.seed),
        device(createDevice({rank, shared.kernels, &shared.transport, trace.get(), traceOfStreams.get(),
                             ordinalOf(shared, number), shared.options.graphs,
                             TuningRequest{shared.options.tune, shared.begin.choices}, shared.options.ownAttention,
                             shared.options.gradNormsEvery > 0})),
        executor(rank, *device) {}

  ~RankRun() { shared.transport.tellWhere(nullptr); }

  RankResult run() {
    begin();
    if (shared.options.generate.isAsked())
      return finish(base.step, evaluation.generate(shared.begin.seed) ? Status::Done : Status::Interrupted);
    startMetrics();
    forwardBuffers.emplace(rank, *device);
    if (shared.options.evaluation.only)
      return finish(base.step, evaluate(base.step) ? Status::Done : Status::Interrupted);
    startCheckpoints();
    lendRooms();
    return train();
  }

private:
  /// Opens what the rank computes and communicates with, and gives it the state that it goes on from.
  void begin() {
    openCommunicators();
    rank.mayDropRows = shared.options.mayDropRows;
    executor.bind();
    base.choices = device->choices();
    if (shared.checkpoint)
      shared.checkpoint->load(rank);
    else
      initializeStates(rank, shared.begin.seed, shared.weights);
    executor.begin();
    if (overlaps())
      device->overlap();
  }

  void startCheckpoints() {
    if (!shared.options.checkpoint.empty())
      writer.emplace(shared.options.checkpoint, shared.disks, shared.identity, shared.options.keep, rank,
                     shared.launch.launcher.empty() ? image.mesh().ranks() : shared.launch.nodeProcesses);
    if (writer && shared.options.checkpointEvery > 0)
      writer->reserve();
  }

  RankResult train() {
    Agreed agreed = agree({interruptRequested(), Verdict::Good, false, false, guard.limit()});
    int64_t step = base.step;
    while (step < shared.steps && !agreed.ends()) {
      forwardBuffers->keep();
      StepFacts facts = runStep(++step);
      Verdict verdict = metrics ? judge(facts) : Verdict::Good;
      if (metrics && verdict == Verdict::Good)
        guard.add(facts.gradNorm);
      agreed = agree({interruptRequested(), verdict, losesMetrics(), writer && writer->isWriting(), guard.limit(),
                      ownSeconds, rank.droppedRows});
      if (metrics)
        report(facts);
      if (writer && writer->isUnderWay() && !agreed.writing)
        writer->publish();
      if (agreed.verdict != Verdict::Good && !recover(facts, agreed.verdict, step))
        return finish(step, Status::Nonfinite);
      bool last = step == shared.steps || agreed.ends();
      if (evaluation.isDue(step, shared.steps) && agreed.verdict == Verdict::Good && !agreed.ends())
        agreed.interrupted = !evaluate(step);
      last |= agreed.ends();
      int64_t every = shared.options.checkpointEvery;
      if (last || (every > 0 && step % every == 0))
        save(step);
    }
    if (agreed.interrupted)
      return finish(step, Status::Interrupted);
    if (agreed.metricsLost)
      return finish(step, Status::Write);
    saveStates(shared.options.save, /*averages=*/false);
    saveStates(shared.options.saveAverage, /*averages=*/true);
    return finish(step, Status::Done);
  }

  bool overlaps() const { return shared.options.overlap && shared.transport.isConcurrent(); }

  void openCommunicators() {
    shared.transport.tellWhere(&where);
    rank.position = shared.transport.position();
    if (image.mesh().ranks() > 1) {
      std::vector<int64_t> all(static_cast<size_t>(image.mesh().ranks()));
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
      groups.push_back(shared.transport.group(name, image.mesh().members(communicator, rank.abi.rank), rank.abi.rank));
      if (!overlaps() || !ofStreams[i])
        groups.back()->useTeam(team);
      groups.back()->tellWhere(where);
      rank.communicators.push_back(groups.back().get());
    }
  }

  /// Facts on which the ranks agree behind a step.
  struct Agreed {
    bool interrupted = false;
    Verdict verdict = Verdict::Good;
    bool metricsLost = false;
    bool writing = false;    /* a checkpoint is under way */
    float gradNormLimit = 0; /* of the next step; rank 0 says it */
    float ownSeconds = 0;    /* of this step, without waiting; negative: not known */
    int64_t droppedRows = 0; /* of this step */

    bool ends() const { return interrupted || metricsLost; }
  };

  /// The worst that any rank says, on all of them.
  Agreed agree(const Agreed &mine) {
    said.assign(static_cast<size_t>(image.mesh().ranks()), mine);
    if (rank.world)
      rank.world->allGather(&mine, said.data(), sizeof(Agreed), DTCC_I8);
    Agreed all = said[0];
    for (const Agreed &each : said) {
      all.interrupted |= each.interrupted;
      all.verdict = std::max(all.verdict, each.verdict);
      all.metricsLost |= each.metricsLost;
      all.writing |= each.writing;
    }
    if (all.gradNormLimit > 0)
      rank.gradNormLimit = all.gradNormLimit;
    return all;
  }

  /// Rank 0 writes down a step on which all have agreed.
  void report(StepFacts &facts) {
    for (const Agreed &each : said)
      facts.droppedRows += each.droppedRows;
    for (const Agreed &each : said)
      if (each.ownSeconds >= 0 && said.size() > 1)
        facts.rankSeconds.push_back(static_cast<double>(each.ownSeconds));
    metrics->step(facts);
    if (facts.rankSeconds.size() == said.size())
      for (const Straggler &slow : stragglers->step(facts.rankSeconds))
        metrics->straggler(facts.step, slow, hosts[static_cast<size_t>(slow.rank)].name);
  }

  /// A run whose metrics are lost stops if that loses nothing else.
  bool losesMetrics() const { return metrics && !metrics->failure().empty() && !shared.options.checkpoint.empty(); }

  /// The end of a run. Nobody leaves before all are done: a rank that ends early would end the others' processes.
  RankResult finish(int64_t step, Status status) {
    if (writer)
      writer->finish();
    if (metrics)
      metrics->end(step, status == Status::Interrupted);
    if (rank.abi.rank == 0 && status == Status::Interrupted)
      std::cerr << interruptionText(step);
    if (metrics && !metrics->failure().empty() && (status == Status::Done || status == Status::Write)) {
      status = Status::Write;
      ending = metrics->failure();
    }
    if (rank.world)
      rank.world->barrier();
    if (!trace)
      return {status, ending, ""};
    if (rank.abi.rank == 0)
      std::fputs(summaryText(image, *trace, peak()).c_str(), stderr);
    trace->merge(*traceOfStreams);
    return {status, ending, trace->json(image, rank.abi.rank, shared.origin)};
  }

  /// Says how far an interrupted run came, and what is left of it.
  std::string interruptionText(int64_t step) const {
    if (!shared.options.trains())
      return "note: interrupted\n";
    if (step == 0)
      return message("note: interrupted before the first of ", shared.steps, " steps\n");
    std::string text = message("note: interrupted behind step ", step, " of ", shared.steps);
    if (newest)
      return text + ": --resume goes on from " + checkpointPath(shared.options.checkpoint, *newest) + "\n";
    return text + (writer ? "\n" : ": its state is not kept, for want of --checkpoint=FOLDER\n");
  }

  /// The peak rate of this rank's arithmetic: a GPU's by its data sheet, else that of a large product on the rank's
  /// threads, with the rate at which they read the rank's largest arena.
  RankPeak peak() {
    if (image.isForGpus())
      return {image.header().peak_flops / static_cast<double>(image.mesh().ranks()), "by the data sheet of the GPU"};
    const ProductRate product = productRate(rank);
    return {product.flops,
            std::string("a large product of ") + dtypeName(product.type) + " on the " + std::to_string(team.threads()) +
                (team.threads() == 1 ? " thread" : " threads") + " of the rank, measured now",
            readRate(rank)};
  }

  /// Begins a checkpoint of the state behind `step`, if one is asked for and it is not there yet.
  void save(int64_t step) {
    if (!writer || (newest && *newest >= step))
      return;
    device->downloadStates();
    writer->begin(positionAfter(step));
    newest = step;
    rollbacks = 0;
  }

  /// A step that is not finite: goes on as the options say, or else saves the last good state and returns false.
  /// `step` is the last that counts then.
  bool recover(const StepFacts &facts, Verdict verdict, int64_t &step) {
    if (leavesState(verdict))
      forwardBuffers->restore();
    const OnNonfinite choice = shared.options.onNonfinite;
    skippedInARow = skippedUpTo + 1 == step ? skippedInARow + 1 : 1;
    skippedUpTo = step;
    std::string what = metrics ? describeBadStep(facts, guard) : "";
    if (choice == OnNonfinite::Skip && skippedInARow <= mostSkippedInARow) {
      // A loss scale counts by itself.
      if (verdict == Verdict::Spike || (verdict == Verdict::NotUpdated && !facts.hasLossScale))
        ++base.skipped;
      if (metrics)
        std::cerr << "warning: " << what
                  << (leavesState(verdict) ? ": the step is skipped\n" : ": its gradients are, and are used\n");
      return true;
    }
    if (choice == OnNonfinite::Rollback && newest && ++rollbacks <= mostRollbacks) {
      rollBack(what, step);
      return true;
    }
    step -= verdict == Verdict::Updated ? 0 : 1;
    if (verdict == Verdict::Spoiled) {
      ending = metrics ? what + describeSpoiledEnd(lastGood()) : "";
      return false;
    }
    bool progress = step > shared.begin.step;
    if (progress)
      save(step);
    if (metrics)
      ending = what + describeEnd(choice, lastGood(), progress, early);
    return false;
  }

  LastGood lastGood() const {
    return newest ? LastGood{*newest, checkpointPath(shared.options.checkpoint, *newest)} : LastGood();
  }

  /// Loads the newest checkpoint, and goes on with the data behind `step`.
  void rollBack(const std::string &what, int64_t &step) {
    int64_t from = step, samples = positionAfter(step).samples;
    writer->finish();
    const std::string &folder = shared.options.checkpoint;
    auto reader = shared.disks.areSeveral() ? gatherCheckpoint(folder, *newest, shared.disks, image, *rank.world)
                                            : std::make_unique<CheckpointReader>(checkpointPath(folder, *newest));
    reader->load(rank);
    device->uploadStates();
    base = reader->position();
    base.samples = samples;
    guard = SpikeGuard(shared.options.maxGradNormRatio, base.gradNorms);
    rank.gradNormLimit = agree({false, Verdict::Good, false, false, guard.limit()}).gradNormLimit;
    step = base.step;
    if (metrics) {
      std::cerr << "warning: " << what << ": back to step " << step << ", without the data of the steps between\n";
      metrics->rollBack(from, step);
    }
  }

  /// Evaluates behind `step`, and saves the model if its loss is the least so far. All ranks call it together. False if
  /// it was interrupted: it counts as not begun.
  bool evaluate(int64_t step) {
    std::optional<EvaluationFacts> facts = evaluation.evaluate(step, base.best);
    if (!facts)
      return false;
    if (facts->isBest)
      base.best = facts->loss;
    if (metrics)
      metrics->evaluation(*facts);
    if (facts->isBest)
      saveStates(shared.options.evaluation.best, shared.options.evaluation.ofAverages);
    return true;
  }

  /// Saves the model, with the averages in place of the parameters if they are asked for. All ranks call it together.
  void saveStates(const SaveOptions &options, bool averages) {
    if (options.path.empty())
      return;
    if (averages)
      executor.exchangeAverages();
    device->downloadStates();
    saveModel(options, rank, shared.weights);
    if (averages)
      executor.exchangeAverages();
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
                   shared.begin.seed,     std::vector<uint64_t>(static_cast<size_t>(image.mesh().ranks()), bytes)};
    if (rank.world)
      rank.world->allGather(&bytes, facts.bytes.data(), 1, DTCC_I64);
    hosts.assign(facts.bytes.size(), HostName::ofThis());
    if (rank.world)
      rank.world->allGather(&hosts[static_cast<size_t>(rank.abi.rank)], hosts.data(), sizeof(HostName), DTCC_I8);
    if (rank.abi.rank != 0)
      return;
    std::vector<int64_t> programs;
    for (int64_t each = 0; each < image.mesh().ranks(); ++each)
      programs.push_back(&image.stageAt(image.mesh().coordinates(each, 0)) - image.stages().data());
    stragglers.emplace(programs);
    metrics.emplace(image, shared.options.metrics, shared.checkpoint ? std::optional(shared.begin.step) : std::nullopt);
    metrics->start(facts);
  }

  /// Rank 0 returns what it read, the others an empty record.
  StepFacts runStep(int64_t step) {
    auto begin = Trace::Clock::now();
    double lr = shared.options.rate.at(step, shared.steps);
    rank.abi.step = step;
    rank.droppedRows = 0;
    if (rank.position) {
      rank.position->step.store(step, std::memory_order_relaxed);
      rank.position->command.store(Position::noCommand, std::memory_order_relaxed);
    }
    values.write(DTCC_SCALAR_LR, static_cast<float>(lr));
    // Corrections of bias count the updates; those that a loss scale skipped the program takes off itself.
    values.write(DTCC_SCALAR_STEP, step - base.skipped);
    StepFacts facts;
    const auto *lossScale = values.get<float>(DTCC_SCALAR_LOSS_SCALE),
               *skipped = values.get<float>(DTCC_SCALAR_SKIPPED);
    facts.hasLossScale = hasLossScale();
    facts.updatesEarly = early;
    facts.lossScale = lossScale ? static_cast<double>(*lossScale) : 0;
    int64_t first = positionAfter(step - 1).samples;
    dataSeconds = 0;
    int64_t slotsLeft = image.mesh().slots();
    ownSeconds = -1;
    gradNorms.begin(rank, step);
    executor.runStep([&](int64_t slot) {
      fill(slot, first);
      if (--slotsLeft > 0) {
        fillAhead(slot + 1, first);
      } else if (step < shared.steps) {
        const int64_t next = positionAfter(step).samples;
        fillAhead(0, next);
        readAhead.begin(next);
      }
    });
    if (std::optional<double> others = device->exchangeSeconds())
      ownSeconds = static_cast<float>(std::chrono::duration<double>(Trace::Clock::now() - begin).count() - *others);
    device->endGradSquares();
    facts.gradNorms = gradNorms.end(rank);
    if (!metrics)
      return facts;
    values.read({DTCC_SCALAR_LOSS_SUM, DTCC_SCALAR_LOSS_COUNT, DTCC_SCALAR_GRAD_NORM, DTCC_SCALAR_LOSS_SCALE,
                 DTCC_SCALAR_SKIPPED});
    facts.step = step;
    auto *sum = values.get<float>(DTCC_SCALAR_LOSS_SUM), *count = values.get<float>(DTCC_SCALAR_LOSS_COUNT);
    if (count)
      facts.lossCount = static_cast<double>(*count);
    if (sum)
      facts.loss = static_cast<double>(*sum) / facts.lossCount;
    if (std::isnan(facts.loss))
      facts.loss = std::numeric_limits<double>::quiet_NaN(); // without a sign, which says nothing
    if (auto *norm = values.get<float>(DTCC_SCALAR_GRAD_NORM)) {
      facts.hasGradNorm = true;
      facts.gradNorm = static_cast<double>(*norm);
      facts.gradNormLimit = rank.gradNormLimit;
    }
    facts.lr = lr;
    facts.dataSeconds = dataSeconds;
    facts.seconds = std::chrono::duration<double>(Trace::Clock::now() - begin).count();
    const Verdict verdict = judge(facts);
    bool skips = verdict == Verdict::Spike || (!skipped && verdict == Verdict::NotUpdated);
    facts.skipped = base.skipped + (skips && shared.options.onNonfinite == OnNonfinite::Skip) +
                    (skipped ? static_cast<int64_t>(*skipped) : 0);
    return facts;
  }

  /// On all ranks alike, also where other stages of a pipeline have its state.
  bool hasLossScale() const {
    return std::any_of(image.stages().begin(), image.stages().end(), [](const dtcc_stage &stage) {
      return stage.scalars[DTCC_SCALAR_LOSS_SCALE] != DTCC_NONE && stage.scalars[DTCC_SCALAR_SKIPPED] != DTCC_NONE;
    });
  }

  void fill(int64_t slot, int64_t first) {
    auto begin = Trace::Clock::now();
    if (const std::byte *room = readAhead.take(slot, first))
      for (const SampleRoom::Piece &piece : readAhead.layout().pieces)
        device->uploadFrom(room + piece.offset, piece.view, slot);
    else
      values.fill(shared.batches, slot, first);
    dataSeconds += std::chrono::duration<double>(Trace::Clock::now() - begin).count();
  }

  /// Lets the thread that reads ahead copy a slot's samples while the device works on those before. It copies to memory
  /// that nothing else uses: not to the mirror of the arena, where the bytes of an input may belong to another slot's,
  /// or to values that pass through the host meanwhile.
  void fillAhead(int64_t slot, int64_t first) {
    if (rooms.empty() || slot >= image.mesh().slots())
      return;
    std::swap(rooms.front(), rooms.back());
    device->awaitUploads(rooms.front());
    readAhead.fill(slot, first, rooms.front());
  }

  void lendRooms() {
    const uint64_t bytes = readAhead.layout().bytes;
    for (size_t i = 0; i < kSampleRooms && bytes > 0; ++i)
      if (std::byte *room = device->lend(bytes))
        rooms.push_back(room);
    if (rooms.size() < kSampleRooms)
      rooms.clear();
    // The driver and NCCL allocate in the steps, too, and how much they have by now is not known.
    else if (readAhead.layout().bytesAhead() > 0)
      device->reserveAhead(static_cast<uint64_t>(gpuOverhead(image, rank.stage).total()));
  }

  RunPosition positionAfter(int64_t step) const {
    RunPosition position = base;
    position.samples += (step - position.step) * image.training().batch;
    position.step = step;
    position.gradNorms = guard.norms();
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
  StepValues values{rank, *device};
  Evaluation evaluation{shared.options, shared.evaluated, rank,
                        executor,       values,           [this] { return agree({interruptRequested()}).interrupted; }};
  std::unique_ptr<Communicator> world;
  std::vector<std::unique_ptr<Communicator>> groups;
  std::optional<Metrics> metrics;
  std::optional<ForwardBuffers> forwardBuffers;
  std::optional<CheckpointWriter> writer;
  /// The rank's own thread goes on giving commands beside that which reads ahead.
  ReadAhead readAhead{shared.batches, image, rank.abi.rank, std::max(team.threads() - 1, 1),
                      [this](const std::byte *room) { return device->sendAhead(room); }};
  std::vector<std::byte *> rooms; /* that a slot's samples are copied to ahead; empty, or two: first the last filled */
  double dataSeconds = 0;         /* of this step, until its samples were copied */
  float ownSeconds = -1;          /* of this step, without waiting for others and exchanges with them */
  std::vector<Agreed> said;
  std::vector<HostName> hosts; /* by rank */
  std::optional<Stragglers> stragglers;
  const bool early = updatesEarly(image);
  GradNorms gradNorms{shared.options.gradNormsEvery};
  SpikeGuard guard{shared.options.maxGradNormRatio, shared.begin.gradNorms}; /* rank 0's counts */

  RunPosition base = shared.begin; /* from which positions are counted */
  /// The step of the newest checkpoint that this run began to write or resumed from.
  std::optional<int64_t> newest = shared.checkpoint ? std::optional(shared.begin.step) : std::nullopt;
  int64_t rollbacks = 0; /* to that one */
  int64_t skippedUpTo = -1, skippedInARow = 0;
  std::string ending; /* message of rank 0 */
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
