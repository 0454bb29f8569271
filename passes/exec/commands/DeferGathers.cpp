//===- DeferGathers.cpp - Updated parameters travel beside the next forward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under ZeRO 1 and 2 a rank updates its share of a bucket, and the ranks then gather the copies in which the step
// computes. Nothing is left to compute behind the update, so that these gathers would be in sight. The next step reads
// a bucket first in a forward pass, and gathers it before that, beside the layers before it. Megatron-LM calls this the
// overlap of parameter gathers (Megatron-Core, --overlap-param-gather), PyTorch's FSDP the prefetch of its forward
// pass.
//
// Gathers follow each other from the beginning of the step, in the order in which it needs them, by the prices of the
// commands: each stands where the one before has ended. A run ends when its exchanges have ended, so a gather goes to
// the next run where the rest of one is too short for it. In a pipeline the layers of a later phase arrive during the
// runs of the phases before, a part of them in each: other stages do not wait for them, one after the other.
//
// Behind the last step the copies are those of the step before, but for each rank's own share. States are saved from
// the parameters themselves, which are up to date. An evaluation computes with the copies: a phase before it gathers
// all of them, which the runtime leaves out where no step has run since.
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/PhaseRun.h"
#include "passes/exec/MachinePass.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/Liveness.h"
#include "passes/exec/commands/ProgramPrices.h"
#include "passes/exec/commands/Runs.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_DEFERGATHERS
#include "passes/exec/Passes.h.inc"
#include <memory>
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {

/// The share of a run that gathers may have taken before one that is longer than the run.
constexpr double kLittle = 0.05;

class Deferral {
public:
  Deferral(ProgramOp program, const ProgramPrices &prices)
      : program(program), prices(prices), phases(program.getOps<PhaseOp>()) {
    for (PhaseOp phase : phases)
      timelines.push_back(timelineOf(phase));
    for (Run run : runsOf(program))
      if (!spmd::isOfEvaluation(phases[run.phase].getSymName()) && !timelines[run.phase].commands.empty())
        runs.push_back(run);
  }

  void run() {
    findGathers();
    if (gathers.empty())
      return;
    addRefresh();
    if (program.getStage())
      choosePlacesOfStage();
    else
      choosePlaces();
    for (Gather &gather : gathers)
      move(gather);
  }

private:
  /// The commands of a phase, and the seconds that it computes before each of them; the last entry is of all.
  struct Timeline {
    SmallVector<CommandOpInterface> commands;
    SmallVector<double> begins;
    double seconds() const { return begins.back(); }
  };
  /// A command of a run of the step.
  struct Place {
    size_t run = 0, command = 0;
    bool operator<(const Place &other) const { return std::pair(run, command) < std::pair(other.run, other.command); }
  };
  struct Gather {
    CollectiveOp op;
    /// The first command of a step that reads the bucket, and the command before which the gather is going to stand.
    Place reader, place;
  };

  Timeline timelineOf(PhaseOp phase) const {
    Timeline timeline;
    timeline.commands = llvm::to_vector(phase.getOps<CommandOpInterface>());
    double seconds = 0;
    for (CommandOpInterface command : timeline.commands) {
      timeline.begins.push_back(seconds);
      if (isa<KernelOp, LibraryOp>(command.getOperation()))
        seconds += prices.seconds(command);
    }
    timeline.begins.push_back(seconds);
    return timeline;
  }
  Timeline &timelineOf(const Run &run) { return timelines[run.phase]; }

  /// Whether a command only brings other ranks' shares of a copy that a step computes with.
  static bool isOfCopies(CollectiveOp op, const SymbolTable &buffers, const SymbolTable &buckets) {
    if (op.getKind() != CollectiveKind::AllGather || !op.getOfParameters())
      return false;
    return llvm::all_of(accessesOf(op), [&](Access access) {
      auto buffer = buffers.lookup<BufferOp>(bufferOf(access));
      auto bucket = buffer && buffer.getBucketAttr() ? buckets.lookup<spmd::BucketOp>(buffer.getBucketAttr().getAttr())
                                                     : spmd::BucketOp();
      return bucket && bucket.getRole() == spmd::BucketRole::Compute;
    });
  }

  static StringAttr bufferOf(Access access) { return access.view.getBufferAttr().getAttr(); }

  /// The first command of a step that reads each buffer outside of the update, as far as no command writes the buffer
  /// before that.
  llvm::DenseMap<StringAttr, Place> findFirstReaders(size_t update) {
    llvm::DenseMap<StringAttr, Place> readers;
    llvm::DenseSet<StringAttr> touched;
    llvm::DenseSet<size_t> passed{update};
    for (auto [number, run] : llvm::enumerate(runs)) {
      if (!passed.insert(run.phase).second)
        continue;
      for (auto [at, command] : llvm::enumerate(timelineOf(run).commands))
        for (Access access : accessesOf(command))
          if (touched.insert(bufferOf(access)).second && !access.writes)
            readers[bufferOf(access)] = {number, at};
    }
    return readers;
  }

  /// Finds the gathers of the update phase behind which nothing else touches what they bring.
  void findGathers() {
    auto phase = llvm::find_if(phases, [](PhaseOp each) { return each.getSymName() == spmd::kUpdatePhase; });
    if (phase == phases.end())
      return;
    const size_t update = phase - phases.begin();
    const llvm::DenseMap<StringAttr, Place> readers = findFirstReaders(update);
    const SymbolTable buffers(program), buckets(program->getParentOfType<ModuleOp>());
    llvm::DenseSet<StringAttr> touched;
    for (CommandOpInterface command : llvm::reverse(timelines[update].commands)) {
      if (auto op = dyn_cast<CollectiveOp>(command.getOperation()); op && isOfCopies(op, buffers, buckets)) {
        StringAttr buffer = op.getOuts()[0].getDefiningOp<ViewOp>().getBufferAttr().getAttr();
        if (auto reader = readers.find(buffer); reader != readers.end() && !touched.contains(buffer))
          gathers.push_back({op, reader->second, reader->second});
      }
      for (Access access : accessesOf(command))
        touched.insert(bufferOf(access));
    }
    // A command may read several buckets.
    llvm::sort(gathers, [](const Gather &a, const Gather &b) {
      return a.reader < b.reader || (!(b.reader < a.reader) && a.op != b.op && a.op->isBeforeInBlock(b.op));
    });
  }

  /// Gives a gather the place in a run where so many seconds of it are computed.
  void place(Gather &gather, size_t run, double computed) {
    const Timeline &timeline = timelineOf(runs[run]);
    const size_t command = llvm::lower_bound(timeline.begins, computed) - timeline.begins.begin();
    gather.place = std::min(Place{run, std::min(command, timeline.commands.size() - 1)}, gather.reader);
  }

  /// The time of a step is laid out run after run, by what each computes.
  void choosePlaces() {
    std::vector<double> begins{0};
    for (const Run &run : runs)
      begins.push_back(begins.back() + timelineOf(run).seconds());
    // When the gathers before have ended, and the run of that time.
    double free = 0;
    size_t run = 0;
    for (Gather &gather : gathers) {
      const double seconds = prices.seconds(gather.op);
      while (run < gather.reader.run && begins[run + 1] - std::max(free, begins[run]) < seconds)
        ++run;
      free = std::max(free, begins[run]);
      place(gather, run, free - begins[run]);
      free += seconds;
    }
  }

  /// Other stages of a pipeline wait for what is in sight in a run, one after the other, and in the run of the reader
  /// all of a gather may be. So gathers go to runs before it, as evenly as these are long: those that are due with the
  /// same run stretch all runs up to it alike.
  void choosePlacesOfStage() {
    std::vector<double> seconds, ends{0}; // of gathers; of runs
    for (const Gather &gather : gathers)
      seconds.push_back(prices.seconds(gather.op));
    for (const Run &run : runs)
      ends.push_back(ends.back() + timelineOf(run).seconds());
    auto lastOf = [](const Gather &gather) { return gather.reader.run - (gather.reader.run > 0); };
    // The first micro-batch comes to a stage when those before have run it, which take about as long.
    const size_t first = gathers.front().reader.run;
    const double wait = double(program.getStage().value_or(0)) * timelineOf(runs[first]).seconds();
    for (double &end : llvm::drop_begin(ends))
      end += wait;
    // The run that gets gathers, and how long those take that it has.
    size_t run = 0;
    double used = 0;
    for (size_t i = 0; i < gathers.size(); ++i) {
      const size_t last = lastOf(gathers[i]);
      double due = 0;
      for (size_t other = i; other < gathers.size() && lastOf(gathers[other]) == last; ++other)
        due += seconds[other];
      while (run < last) {
        const double length = ends[run + 1] - ends[run];
        const double stretched = std::max(1.0, (used + due) / (ends[last + 1] - ends[run]));
        // A run that is too short for any gather gets one.
        if (used + seconds[i] <= length * stretched || used <= kLittle * length)
          break;
        ++run, used = 0;
      }
      place(gathers[i], run, used - (run == 0 ? wait : 0));
      // All stages gather at once what the first micro-batch needs before it comes, and wait for it behind that.
      used += last < gathers[i].reader.run && last == 0 ? 0 : seconds[i];
    }
  }

  /// Adds a phase before the evaluation, which gathers all that the last step left to gather.
  void addRefresh() {
    auto first = llvm::find_if(phases, [](PhaseOp phase) {
      return spmd::isOfEvaluation(phase.getSymName()) && !spmd::exchangesAverages(phase.getSymName());
    });
    if (first == phases.end())
      return;
    OpBuilder builder(*first);
    auto refresh = PhaseOp::create(builder, program.getLoc(), spmd::kGatherPhase, /*repeat=*/1);
    builder.createBlock(&refresh.getBody());
    IRMapping mapping;
    for (Gather &gather : gathers) {
      for (Value view : gather.op->getOperands())
        if (auto op = view.getDefiningOp<ViewOp>(); op && !mapping.contains(view))
          builder.clone(*op, mapping);
      builder.clone(*gather.op, mapping);
    }
    spmd::RunsAttr actions = program.getActionsAttr();
    if (!actions)
      return;
    SmallVector<PhaseRun> all = llvm::to_vector(actions.getRuns());
    all.insert(llvm::find_if(all, [&](const PhaseRun &run) { return run.phase == first->getSymNameAttr(); }),
               {refresh.getSymNameAttr(), 0});
    program.setActionsAttr(spmd::RunsAttr::get(program.getContext(), all));
  }

  void move(Gather &gather) {
    const Run &run = runs[gather.place.run];
    gather.op->moveBefore(timelineOf(run).commands[gather.place.command]);
    gather.op.setSlot(run.slot);
    OpBuilder builder(gather.op);
    for (OpOperand &operand : gather.op->getOpOperands())
      if (auto view = operand.get().getDefiningOp<ViewOp>(); view->getParentOp() != program)
        operand.set(builder.clone(*view)->getResult(0));
  }

  ProgramOp program;
  const ProgramPrices &prices;
  SmallVector<PhaseOp> phases;
  /// One for each phase.
  std::vector<Timeline> timelines;
  /// The runs of a step that have commands.
  std::vector<Run> runs;
  /// In the order in which a step needs them.
  SmallVector<Gather> gathers;
};

struct DeferGathers : MachinePass<dtcc::exec::impl::DeferGathersBase<DeferGathers>, ProgramOp> {
  using MachinePass::MachinePass;
  void run(ProgramOp program, const cost::Machine &machine, const spmd::Mesh &mesh) override {
    Deferral(program, ProgramPrices(program, machine, mesh)).run();
  }
};
} // namespace

std::unique_ptr<Pass> dtcc::exec::createDeferGathersFor(const cost::Machine &machine) {
  return std::make_unique<DeferGathers>(machine);
}
