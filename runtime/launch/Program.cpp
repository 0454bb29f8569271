//===- Program.cpp - A training run --------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Program.h"

#include "runtime/abi/Cores.h"
#include "runtime/abi/console/AmountText.h"
#include "runtime/checkpoint/WholeFile.h"
#include "runtime/checkpoint/folder/FolderLock.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"
#include "runtime/core/OpenMp.h"
#include "runtime/core/Signals.h"
#include "runtime/generate/Generation.h"
#include "runtime/launch/Agreement.h"
#include "runtime/launch/Info.h"
#include "runtime/launch/RankRun.h"
#include "runtime/launch/Resume.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

/// Threads of a rank: its share of the cores that this process may use.
int defaultThreads(const Launch &launch) {
  if (launch.launcher.empty())
    return std::max<int>(1, availableCores() / static_cast<int>(launch.ranks));
  // A process that is bound to some cores has these for itself.
  if (availableCores() < machineCores())
    return availableCores();
  return std::max<int>(1, machineCores() / static_cast<int>(std::max<int64_t>(1, launch.nodeProcesses)));
}

/// Checks that this machine has the memory that its ranks need. A GPU checks its own memory.
void checkMemory(const Image &image, const std::vector<int64_t> &ranks) {
  uint64_t needed = 0, available = availableMemory();
  for (int64_t rank : ranks) {
    const dtcc_stage &stage = image.stageAt(image.mesh().coordinates(rank, 0));
    needed += image.isForGpus() ? hostBytes(image, stage) : arenaBytes(image, stage);
  }
  if (needed > available)
    failWith(Status::Memory, "the plan needs ", formatBytes(static_cast<double>(needed)), " of memory for ",
             ranks.size(), ranks.size() == 1 ? " rank, and " : " ranks, and ",
             formatBytes(static_cast<double>(available)), " are free");
}

/// Permissions do not say all (a read-only or virtual file system, a quota): only making
/// a file shows that files can be made.
void checkFolder(const std::string &path, const fs::path &folder) {
  std::string probe = folder / ".dtcc-probe-XXXXXX";
  int file = mkstemp(probe.data());
  if (file < 0)
    fail("cannot write ", path, ": ", std::strerror(errno));
  close(file);
  unlink(probe.c_str());
}

/// For a file that is written in place, or a device.
void checkWritable(const std::string &path) {
  int file = open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
  // A pipe that nobody reads yet is no reason to fail.
  if (file < 0 && errno != ENXIO)
    fail("cannot write ", path, ": ", std::strerror(errno));
  if (file >= 0)
    close(file);
}

/// A path that a run writes to.
struct Output {
  const std::string &path;
  bool isFolder = false;    /* appears with what is written into it, so that bad data leaves none behind */
  bool isOfEach = false;    /* every process writes there; else process 0 alone */
  bool isAppended = false;  /* may be a device or a pipe; other files are written beside their place and renamed */
  bool isReadAlone = false; /* a file that is there may need no writing */
};

std::vector<Output> outputsOf(const Options &options) {
  auto saved = [](const SaveOptions &save) { return Output{save.path, save.form() == SaveForm::Folder}; };
  return {saved(options.save),
          saved(options.saveAverage),
          saved(options.evaluation.best),
          {options.checkpoint, /*isFolder=*/true, /*isOfEach=*/true},
          {options.profile, /*isFolder=*/false, /*isOfEach=*/true},
          {.path = options.metrics, .isAppended = true},
          {.path = options.tune, .isReadAlone = true}};
}

void checkOutput(const Output &output) {
  const std::string &path = output.path;
  std::error_code error;
  if (output.isFolder) {
    fs::path folder = fs::path(path) / "";
    while (!fs::exists(folder, error) && folder.has_relative_path())
      folder = folder.parent_path();
    return checkFolder(path, folder.empty() ? "." : folder);
  }
  const bool exists = fs::exists(path, error);
  if (fs::is_directory(path, error))
    fail("cannot write ", path, ": it is a folder");
  if (exists && !output.isAppended && !fs::is_regular_file(path, error))
    fail("cannot write ", path, ": it must be a regular file");
  if (exists && output.isAppended)
    return checkWritable(path);
  fs::path folder = fs::path(path).parent_path();
  if (!exists || !output.isReadAlone)
    checkFolder(path, folder.empty() ? "." : folder);
}

/// Finds out before the run, not after it, that its results cannot be written. `isFirst`: whether this is process 0.
void checkOutputs(const Options &options, bool isFirst) {
  for (const Output &output : outputsOf(options))
    if (!output.path.empty() && (isFirst || output.isOfEach))
      checkOutput(output);
}

/// The first failure of a rank stops the others; theirs (PeerLost) are its echo and
/// may be recorded before it.
class Failures {
public:
  void record(std::exception_ptr failure, bool echo) {
    std::lock_guard<std::mutex> guard(lock);
    if (first && (!firstIsEcho || echo))
      return;
    first = failure;
    firstIsEcho = echo;
  }
  void rethrow() const {
    if (first)
      std::rethrow_exception(first);
  }

private:
  std::mutex lock;
  std::exception_ptr first;
  bool firstIsEcho = false;
};

void writeTrace(const std::string &path, const Launch &launch, const std::vector<RankResult> &results,
                const std::vector<int64_t> &ranks) {
  std::string text = "[";
  for (const RankResult &result : results)
    text += (text.size() > 1 ? ",\n" : "") + result.trace;
  // Processes write a file each: Perfetto opens several at once.
  bool several = !launch.launcher.empty() && ranks[0] != 0;
  writeWhole(several ? path + ".rank-" + std::to_string(ranks[0]) : path, text + "]\n");
}

int statusOf(const std::exception &error) {
  if (auto *known = dynamic_cast<const Error *>(&error))
    return static_cast<int>(known->status);
  return static_cast<int>(dynamic_cast<const std::bad_alloc *>(&error) ? Status::Memory : Status::BadInput);
}

/// Whether this process should report an error. All processes may have met the same bad
/// input: the others let process 0 say so, whose end makes the launcher end them. Its
/// SIGTERM only sets a flag, and stands for "another has spoken".
bool speaks(const Launch &launch) {
  if (launch.process == 0)
    return true;
  for (int tenths = 0; tenths < 20; ++tenths) {
    if (interruptRequested())
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return !interruptRequested();
}

/// Says why, and ends all processes.
void reportAndAbort(const Launch &launch, Transport &transport, const std::exception &error) {
  std::optional<bool> agreed = transport.speaks();
  // At once: a launcher mixes what processes write in pieces.
  if (agreed ? *agreed : speaks(launch)) {
    bool hangs = statusOf(error) == static_cast<int>(Status::Hang);
    std::cerr << message("error: ", error.what(), hangs ? transport.everyRank() : "", "\n") << std::flush;
  }
  transport.abort(statusOf(error));
}

/// The step at which a run begins, and what keeps others out of its folder.
struct Start {
  RunPosition begin;
  std::unique_ptr<FolderLock> lock;
  FolderDisks disks;
  std::unique_ptr<CheckpointReader> checkpoint; /* null: anew */
};

Start startOf(const Launch &launch, const Image &image, const Options &options, const RunIdentity &identity,
              Communicator *world) {
  Start start;
  start.begin = {0, 0, options.seed, options.data.shuffle};
  if (options.checkpoint.empty())
    return start;
  auto takeFolder = [&] {
    start.lock = std::make_unique<FolderLock>(options.checkpoint);
    removeUnfinished(options.checkpoint);
  };
  if (launch.process == 0 && options.trains())
    takeFolder();
  if (world)
    start.disks = findCheckpointDisks(options, *world);
  if (launch.process != 0 && options.trains() && start.disks.leads(launch.process))
    takeFolder();
  start.checkpoint = chooseCheckpoint(options, image, identity, start.disks, world, /*speaks=*/launch.process == 0);
  if (!start.checkpoint)
    return start;
  start.begin = start.checkpoint->position();
  if (options.hasSeed)
    start.begin.seed = options.seed;
  // Passes over the data end by their samples, of which the steps before had another number.
  if (options.trains() && hasOtherBatch(*start.checkpoint, identity))
    start.begin.epochShift = start.begin.step - start.begin.samples / image.training().batch;
  if (start.begin.best && hasOtherEvaluation(*start.checkpoint, identity)) {
    start.begin.best.reset();
    if (launch.process == 0)
      std::cerr << "note: " << start.checkpoint->folder()
                << " was written with evaluations of other data: the best model is looked for anew\n";
  }
  if (const std::optional<uint64_t> &shuffle = start.begin.shuffle; options.trains() && shuffle != options.data.shuffle)
    fail("checkpoint ", start.checkpoint->folder(), " was written with ",
         shuffle ? "--shuffle=" + std::to_string(*shuffle) + ": give the same to go on"
                 : std::string("no --shuffle: leave it out to go on"));
  return start;
}

/// Writes the options that the run had beside its metrics, as a file that --config takes. A pipe has nothing beside it.
void writeOptions(const Options &options, const Image &image) {
  std::error_code error;
  if (options.metrics.empty() || (fs::exists(options.metrics, error) && !fs::is_regular_file(options.metrics, error)))
    return;
  writeWhole(options.metrics + ".toml", "# Options of a run of " +
                                            printable(std::string(image.string(image.header().model))) +
                                            ": PROGRAM --config=FILE repeats it.\n" + options.record);
}

/// Steps of so many passes over the data.
int64_t stepsOf(const Batches &batches, int64_t epochs) {
  if (batches.stepsPerEpoch() == INT64_MAX)
    failWith(Status::Usage, "the model reads no inputs: give --steps=N");
  constexpr int64_t most = int64_t(1) << 40;
  if (epochs > most / batches.stepsPerEpoch())
    failWith(Status::Usage, "--epochs must make at most ", most, " steps, got: ", epochs, " passes of ",
             batches.stepsPerEpoch(), " steps");
  return epochs * batches.stepsPerEpoch();
}

/// Refuses a window of --profile without a step of this run in it.
void checkWindow(const Options &options, int64_t first, int64_t last) {
  const StepWindow &window = options.profileSteps;
  if (!options.profile.empty() && options.trains() && first <= last && (window.first > last || window.last < first))
    failWith(Status::Usage, "--profile-steps must name steps of this run, which are ", first, " to ", last,
             ", got: ", window.first, ":", window.last);
}

/// Runs the ranks of this process, each on a thread of its own. Throws the error of a rank that failed.
std::vector<RankResult> runThreads(const SharedRun &shared, const std::vector<int64_t> &ranks) {
  std::vector<RankResult> results(ranks.size());
  Failures failures;
  auto guarded = [&](size_t i) {
    try {
      results[i] = runRank(shared, ranks[i]);
    } catch (const std::exception &error) {
      failures.record(std::current_exception(), statusOf(error) == static_cast<int>(Status::PeerLost));
      // A rank that fails before its run begins has not told the others.
      if (shared.launch.launcher.empty())
        shared.transport.abort(statusOf(error));
    }
  };
  // The first rank runs on the process's own thread: the only one that may call MPI.
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < ranks.size(); ++i)
      threads.emplace_back(guarded, i);
    guarded(0);
  } catch (const std::system_error &error) {
    // Threads that have begun wait for the others.
    failures.record(
        std::make_exception_ptr(Error(Status::Memory, message("cannot start a thread for each of the ", ranks.size(),
                                                              " ranks of this process: ", error.code().message()))),
        /*echo=*/false);
    shared.transport.abort(static_cast<int>(Status::Memory));
  }
  for (std::thread &thread : threads)
    thread.join();
  failures.rethrow();
  return results;
}

/// Tells of a run that does not do what its options seem to ask for: because its steps were done before, or because it
/// ends before its warm-up does.
void printStepNotes(const Options &options, int64_t done, int64_t steps) {
  if (!options.trains())
    return;
  if (done >= steps)
    std::cerr << message("note: the run has ", steps, steps == 1 ? " step" : " steps",
                         " in all, which were done before: nothing more is trained (a larger --steps goes on)\n");
  else if (options.rate.restart >= steps)
    std::cerr << message("note: --lr-restart=", options.rate.restart, " is not before the last of ", steps,
                         steps == 1 ? " step" : " steps",
                         ": the schedule goes on until then, and does not begin anew\n");
  else if (options.rate.restart == 0 && options.rate.warmup > steps)
    std::cerr << message("note: --warmup=", options.rate.warmup, " is longer than the run of ", steps,
                         steps == 1 ? " step" : " steps", ": the learning rate ends at ", options.rate.at(steps, steps),
                         " of ", options.rate.base, "\n");
}

/// Says that data is evaluated on which the run trains: its loss says nothing about other data.
void printShared(const Batches &trained, const Batches &evaluated) {
  if (const std::string file = trained.fileSharedWith(evaluated); !file.empty())
    std::cerr << "note: " << printable(file)
              << " is evaluated, and the run trains on it too: its loss there says little about other data\n";
}

/// Prints what the data and the weights have to say.
void printNotes(const Batches &batches, const ModelWeights &weights) {
  for (const std::vector<std::string> &notes : {batches.notes(), weights.notes()})
    for (const std::string &note : notes)
      std::cerr << "note: " << printable(note) << std::endl;
}

/// The communicator by which the processes of a run agree on its start; null if there is one process.
std::unique_ptr<Communicator> worldOf(const Launch &launch, Transport &transport, int64_t rank) {
  if (launch.processes <= 1)
    return nullptr;
  std::vector<int64_t> all(static_cast<size_t>(launch.ranks));
  std::iota(all.begin(), all.end(), 0);
  return transport.group("start", all, rank);
}

/// The data of a run, which its ranks share.
class RunData {
public:
  RunData(const Image &image, const Options &options) {
    const EvaluationOptions &evaluation = options.evaluation;
    if (evaluation.isAsked())
      evaluated.emplace(image, evaluation.data);
    // Bad prompts are found here; the ranks have windows of their own.
    if (options.generate.isAsked())
      generation.emplace(image, options.generate, options.seed);
    else
      files.emplace(image, evaluation.only ? evaluation.data : options.data);
  }
  /// The batches of training, of an evaluation alone, or of a window that is generated.
  const Batches &batches() const { return generation ? generation->window().batches() : *files; }
  /// The batches that the loss is evaluated on, or null.
  const Batches *evaluation() const { return evaluated ? &*evaluated : nullptr; }

private:
  std::optional<Batches> evaluated, files;
  std::optional<Generation> generation;
};

/// The start, the weights and the number of steps of a run, on which its processes agree.
struct Beginning {
  Start start;
  std::unique_ptr<ModelWeights> weights;
  int64_t steps; /* of the whole run; those before the start count */
};

/// Opens the checkpoint and the weights of a run, and checks them and its options against each other. `world` connects
/// the processes, or is null.
Beginning beginRun(const Launch &launch, const Image &image, const Options &options, const Batches &batches,
                   const RunIdentity &identity, Communicator *world) {
  const EvaluationOptions &evaluation = options.evaluation;
  const int64_t epochs = std::max<int64_t>(options.epochs, 1);
  int64_t steps = options.steps > 0 ? options.steps : stepsOf(batches, epochs);
  if (world)
    checkAgreement(*world, termsOf(image, options, steps, batches.sampleCount(), identity));
  Start start = startOf(launch, image, options, identity, world);
  if (options.steps == 0 && start.begin.epochShift != 0)
    steps = std::max(start.begin.step, steps + start.begin.epochShift);
  checkWindow(options, start.begin.step + 1, steps);
  if (!options.trains())
    steps = start.begin.step;
  auto weights = std::make_unique<ModelWeights>(image, options.weights, /*starts=*/!start.checkpoint);
  for (const SaveOptions *save : {&options.save, &evaluation.best, &options.saveAverage})
    checkSave(*save, image, *weights);
  if (evaluation.ofAverages && steps == 0)
    fail("--eval-average needs a trained step, before which parameters have no averages: give --checkpoint");
  if (launch.process == 0) {
    printNotes(batches, *weights);
    printStepNotes(options, start.begin.step, steps);
    writeOptions(options, image);
  }
  if (world)
    checkAgreement(*world, termsOf(start.begin));
  return {std::move(start), std::move(weights), steps};
}

/// Runs the ranks of this process from their start to the end of the run, and returns the status of the process.
int runRanks(const Launch &launch, const Image &image, std::span<const dtcc_kernel> kernels, const Options &options,
             Transport &transport) {
  std::vector<int64_t> ranks = transport.localRanks();
  checkMemory(image, ranks);
  checkOutputs(options, launch.process == 0);
  const RunData data(image, options);
  // An evaluation alone, or generation, may start from what was trained by any optimizer on any data.
  const RunIdentity identity =
      options.trains() ? identityOf(image, data.batches(), data.evaluation(), options.evaluation) : RunIdentity();
  auto onFailure = [&](const std::exception &error) {
    if (launch.launcher.empty())
      transport.abort(statusOf(error));
    else
      reportAndAbort(launch, transport, error);
  };
  std::unique_ptr<Communicator> world = worldOf(launch, transport, ranks[0]);
  std::optional<Beginning> beginning;
  try {
    beginning.emplace(beginRun(launch, image, options, data.batches(), identity, world.get()));
  } catch (const std::exception &error) {
    // The other ranks learn of the failure first, because they may wait for this one and `world` waits for them at its
    // end.
    if (world)
      onFailure(error);
    throw;
  }
  world.reset();
  if (launch.process == 0 && options.trains() && data.evaluation())
    printShared(data.batches(), *data.evaluation());
  const Start &start = beginning->start;
  SharedRun shared{image,
                   kernels,
                   options,
                   launch,
                   transport,
                   data.batches(),
                   data.evaluation(),
                   *beginning->weights,
                   identity,
                   start.disks,
                   start.checkpoint.get(),
                   start.begin,
                   beginning->steps,
                   Trace::Clock::now(),
                   onFailure};

  const std::vector<RankResult> results = runThreads(shared, ranks);
  if (!options.profile.empty())
    writeTrace(options.profile, launch, results, ranks);
  if (launch.process == 0 && !results[0].message.empty())
    std::cerr << "error: " << results[0].message << std::endl;
  return static_cast<int>(results[0].status);
}

/// Prints --info of every world.
void printAllInfos(const Worlds &worlds, const Options &options) {
  std::cout << "worlds   " << worlds.text() << ": as many as a launcher starts, or --ranks=N\n";
  for (const dtcc_world &world : worlds.all()) {
    Image image(world.image, world.kernel_count);
    std::cout << "\n" << printable(infoText(image, Forecast::of(image), options));
  }
}

/// Prints --info. With --profile, also writes the trace of the forecast step.
void printInfo(const Worlds &worlds, const Image &image, const Options &options) {
  if (worlds.all().size() > 1 && options.ranks == 0 && options.profile.empty())
    return printAllInfos(worlds, options);
  std::optional<Forecast> forecast = Forecast::of(image);
  if (!options.profile.empty()) {
    if (!forecast)
      fail("--info has no forecast to write to ", options.profile, ": the program names no machine that it is for");
    checkOutputs(options, /*isFirst=*/true);
    writeWhole(options.profile, forecast->trace());
  }
  std::cout << printable(infoText(image, forecast, options));
}

} // namespace

int runProgram(const Worlds &worlds, const Image &image, std::span<const dtcc_kernel> kernels, const Options &options) {
  Launch launch;
  launch.ranks = image.mesh().ranks();
  launch.hangSeconds = options.hangSeconds;
  launch.interrupted = interruptRequested;
  launch.rendezvous = options.rendezvous;
  launch.tokenFile = options.tokenFile;
  detectLauncher(launch);
  if (options.rank >= 0) {
    launch.launcher = "hand";
    launch.processes = options.ranks;
    launch.process = options.rank;
  }
  try {
    // A program of one plan answers --info whatever the launch is.
    if (!options.info || worlds.all().size() > 1)
      worlds.check(launch, options.ranks);
    if (options.info) {
      if (launch.process == 0)
        printInfo(worlds, image, options);
      return 0;
    }
    joinRun(launch);
  } catch (const Error &error) {
    if (!speaks(launch))
      return static_cast<int>(error.status);
    throw;
  }
  launch.threads = options.threads > 0 ? options.threads : defaultThreads(launch);
  int64_t local = launch.launcher.empty() ? launch.ranks : launch.nodeProcesses;
  openMp(/*oversubscribed=*/local * launch.threads > machineCores());
  std::unique_ptr<Transport> transport;
  try {
    transport = createTransport(launch);
  } catch (const Error &error) {
    if (!speaks(launch))
      return static_cast<int>(error.status);
    throw;
  }
  if (launch.launcher.empty())
    return runRanks(launch, image, kernels, options, *transport);
  try {
    return runRanks(launch, image, kernels, options, *transport);
  } catch (const std::exception &error) {
    reportAndAbort(launch, *transport, error);
    return statusOf(error);
  }
}

} // namespace dtcc::rt
