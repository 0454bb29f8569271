//===- PlaceUnits.cpp - When units are gathered, released and reduced
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowering gathers a unit at each read of a state, and reduces it at the end of the phase.
// This pass lets one gather serve all uses that are near each other: a block is gathered once
// for the forward and once for the backward pass with its recomputation, and a tied embedding
// once for each of its ends. Each bucket is reduced as soon as it is complete, and each message
// is sent as soon as its value is computed.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "dialects/interfaces/PhaseRun.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Remarks.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/partition/ComputeTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDPLACEUNITS
#include "passes/spmd/Passes.h.inc"
#include "llvm/ADT/StringMap.h"

namespace {

/// An operand that reads a state of a unit, possibly through ops that only move cells.
struct Use {
  OpOperand *operand;
  int64_t position;
};

/// Uses of a unit that one gather serves.
struct Span {
  StringRef unit;
  SmallVector<Use> uses;
  int64_t first() const { return uses.front().position; }
  int64_t last() const { return uses.back().position; }
};

class PhasePlacer {
public:
  PhasePlacer(PhaseOp phase, const SymbolTable &symbols) : block(phase.getBody().front()), symbols(symbols) {
    for (Operation &op : block)
      positions[&op] = ops.size(), ops.push_back(&op);
  }

  void run() {
    placeReductions();
    llvm::MapVector<StringRef, SmallVector<Use>> units;
    for (auto view : block.getOps<UnitViewOp>()) {
      replaced.insert(gatherOf(view));
      collect(view, units[unitOf(view)]);
    }
    SmallVector<Span> spans;
    for (auto &[unit, uses] : units) {
      llvm::sort(uses, [](const Use &a, const Use &b) {
        return std::pair(a.position, a.operand->getOperandNumber()) <
               std::pair(b.position, b.operand->getOperandNumber());
      });
      split(unit, uses, units, spans);
    }
    llvm::sort(spans, [](const Span &a, const Span &b) {
      return std::pair(a.first(), a.unit) < std::pair(b.first(), b.unit);
    });
    // Ops stand still until all places are known by number.
    for (size_t i = 0; i < spans.size(); ++i)
      emit(spans[i], ops[spans[i ? i - 1 : 0].first()]);
    for (Operation *op : llvm::reverse(ops))
      if (replaced.contains(op) && op->use_empty())
        op->erase();
  }

private:
  static GatherUnitOp gatherOf(UnitViewOp view) { return view.getUnit().getDefiningOp<GatherUnitOp>(); }
  /// The name of the unit, or of the bucket if it has none.
  StringRef unitOf(UnitViewOp view) const {
    GatherUnitOp gather = gatherOf(view);
    auto bucket = symbols.lookup<BucketOp>(gather.getBucketAttr().getAttr());
    auto unit = bucket->getAttrOfType<StringAttr>("unit");
    return unit ? unit.getValue() : gather.getBucket();
  }

  void collect(Operation *op, SmallVector<Use> &uses) {
    replaced.insert(op);
    for (OpOperand &use : op->getUses())
      if (onlyMovesCells(use.getOwner()))
        collect(use.getOwner(), uses);
      else
        uses.push_back({&use, positions.lookup(use.getOwner())});
  }

  /// Cuts the uses at the widest gaps in which at least two other units are needed. If there were one, the gather ahead
  /// of the next use would follow the release at once. A tied embedding with recomputation has three ends, hence two
  /// cuts; a unit that every block reads must not be gathered for each block.
  static constexpr size_t kMostCuts = 2;
  static void split(StringRef unit, ArrayRef<Use> uses, const llvm::MapVector<StringRef, SmallVector<Use>> &units,
                    SmallVectorImpl<Span> &spans) {
    SmallVector<std::pair<int64_t, size_t>> gaps; // by width
    for (size_t i = 1; i < uses.size(); ++i) {
      int64_t from = uses[i - 1].position, to = uses[i].position;
      auto needed = llvm::count_if(units, [&](const auto &other) {
        return other.first != unit &&
               llvm::any_of(other.second, [&](const Use &use) { return use.position > from && use.position < to; });
      });
      if (needed > 1)
        gaps.push_back({from - to, i});
    }
    llvm::sort(gaps);
    SmallVector<size_t> cuts;
    for (auto [width, at] : ArrayRef(gaps).take_front(kMostCuts))
      cuts.push_back(at);
    llvm::sort(cuts);
    cuts.push_back(uses.size());
    size_t first = 0;
    for (size_t cut : cuts) {
      if (cut > first)
        spans.push_back({unit, SmallVector<Use>(uses.slice(first, cut - first))});
      first = cut;
    }
  }

  /// Returns the value of `from` computed from the gather of this span, with clones of the ops between that only move
  /// cells.
  Value remake(Value from, Operation *before, IRMapping &made, llvm::MapVector<Attribute, GatherUnitOp> &gathers,
               Operation *gatherBefore) {
    if (Value known = made.lookupOrNull(from))
      return known;
    Operation *op = from.getDefiningOp();
    OpBuilder builder(before);
    if (auto view = dyn_cast<UnitViewOp>(op)) {
      GatherUnitOp &gather = gathers[gatherOf(view).getBucketAttr()];
      if (!gather) {
        gather = gatherOf(view).clone();
        // A profile then shows the gather under the module, and in the pass, that it is for.
        gather->setLoc(before->getLoc());
        OpBuilder(gatherBefore).insert(gather);
      }
      // The view stands beside the gather, because the first reader need not be the first of the text.
      builder.setInsertionPointAfter(gather);
      auto again = UnitViewOp::create(builder, view.getLoc(), view.getType(), gather.getY(), view.getOffsetAttr());
      made.map(from, again.getY());
      return again.getY();
    }
    Value operand = remake(op->getOperand(0), before, made, gathers, gatherBefore);
    made.map(op->getOperand(0), operand);
    builder.clone(*op, made);
    return made.lookup(from);
  }

  void emit(const Span &span, Operation *gatherBefore) {
    IRMapping made;
    llvm::MapVector<Attribute, GatherUnitOp> gathers;
    for (const Use &use : span.uses)
      use.operand->set(remake(use.operand->get(), use.operand->getOwner(), made, gathers, gatherBefore));
    OpBuilder builder(block.getParentOp()->getContext());
    builder.setInsertionPointAfter(ops[span.last()]);
    // A value that the phase yields outlives the phase.
    if (ops[span.last()]->hasTrait<OpTrait::IsTerminator>())
      return;
    for (auto &[bucket, gather] : gathers)
      ReleaseOp::create(builder, gather.getLoc(), gather.getY());
  }

  /// Moves each reduction to just after the last accumulation into its bucket.
  void placeReductions() {
    llvm::DenseMap<Attribute, Operation *> last;
    for (auto accumulate : block.getOps<AccumulateOp>())
      last[accumulate.getBucketAttr()] = accumulate;
    for (auto reduce : llvm::make_early_inc_range(block.getOps<ReduceBucketOp>()))
      if (Operation *accumulate = last.lookup(reduce.getBucketAttr()))
        reduce->moveAfter(accumulate);
  }

  Block &block;
  const SymbolTable &symbols;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, int64_t> positions;
  /// The gathers, and what reads them through views, that each span makes for itself.
  llvm::DenseSet<Operation *> replaced;
};

/// Views cost nothing, and move with their reader.
static bool isView(Operation *op) { return isa_and_nonnull<ViewOp, UnitViewOp>(op); }

/// The last op of its block, but for views, that `op` reads a result of.
static Operation *lastRead(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands()) {
    Operation *definer = operand.getDefiningOp();
    if (isView(definer))
      definer = lastRead(definer);
    if (definer && definer->getBlock() == op->getBlock() && (!last || last->isBeforeInBlock(definer)))
      last = definer;
  }
  return last;
}

/// Moves what makes the operand of `send`, back to a product, before what it does not need: the weight gradients that
/// stand between.
static void advanceMaker(SendOp send) {
  SmallVector<Operation *> chain;
  for (Operation *op = lastRead(send); op && isMemoryEffectFree(op); op = lastRead(op)) {
    chain.push_back(op);
    if (isa<graph::ContractOp>(op))
      break;
  }
  for (Operation *op : llvm::reverse(chain)) {
    Operation *last = lastRead(op);
    if (!last)
      continue;
    op->moveAfter(last);
    for (Value operand : op->getOperands())
      if (Operation *view = operand.getDefiningOp(); isView(view) && op->isBeforeInBlock(view))
        view->moveBefore(op);
  }
}

/// The lowering sends at the end of a phase. Other stages wait for it, and what is left to compute hides it. Messages
/// of a channel stay in order; what is received comes first.
static void hoistSends(PhaseOp phase) {
  Block &block = phase.getBody().front();
  Operation *floor = nullptr;
  for (auto receive : block.getOps<ReceiveOp>())
    floor = receive;
  llvm::DenseMap<std::pair<int64_t, int64_t>, Operation *> last;
  for (auto send : llvm::make_early_inc_range(block.getOps<SendOp>())) {
    advanceMaker(send);
    Operation *&before = last[{static_cast<int64_t>(send.getPeer()), static_cast<int64_t>(send.getChannel())}];
    Operation *after = nullptr;
    for (Operation *other : {floor, send.getX().getDefiningOp(), before})
      if (other && other->getBlock() == &block && (!after || after->isBeforeInBlock(other)))
        after = other;
    if (after)
      send->moveAfter(after);
    else
      send->moveBefore(&block.front());
    before = send;
  }
}

/// Runs of a rank in a step, in order.
static SmallVector<PhaseRun> runsOf(ProgramOp program) {
  if (RunsAttr actions = program.getActionsAttr())
    return llvm::to_vector(actions.getRuns());
  SmallVector<PhaseRun> runs;
  for (auto phase : program.getOps<PhaseOp>())
    for (int64_t slot = 0; slot < int64_t(phase.getRepeat()); ++slot)
      runs.push_back({phase.getSymNameAttr(), slot});
  return runs;
}

/// Moves reductions of the update phase to where their buckets are complete. The phase that accumulates last has them
/// in its last slot, beside what is left of its backward pass, if no phase of another stage follows on the rank. Else
/// they would keep all stages of the pipeline waiting, since an action ends when its reductions have ended: those of a
/// stage are dealt out over the runs up to the last one of the next stage that is complete, each for the one slot, so
/// that every run has a few beside all that it computes.
class ReductionPlacer {
public:
  explicit ReductionPlacer(ProgramOp program) : program(program), runs(runsOf(program)) {
    for (auto phase : program.getOps<PhaseOp>())
      phases[phase.getSymName()] = phase;
    for (auto [number, run] : llvm::enumerate(runs))
      last[run.phase] = number;
  }

  void run() {
    collect();
    for (auto at = complete.begin(); at != complete.end(); ++at) {
      auto &[ready, reductions] = *at;
      auto next = std::next(at);
      size_t end = next == complete.end() ? update : next->first + 1;
      if (ready + 1 < end)
        dealOut(reductions, ready + 1, end - ready - 1);
      else
        for (ReduceBucketOp reduce : reductions)
          place(reduce, ready, &phases.lookup(runs[ready].phase).getBody().front().back());
    }
  }

private:
  /// Collects the reductions that may move, by the run after which their buckets are complete.
  void collect() {
    llvm::DenseMap<Attribute, PhaseOp> makers;
    for (auto phase : program.getOps<PhaseOp>())
      for (Operation &op : phase.getBody().front()) {
        if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
          PhaseOp &maker = makers[accumulate.getBucketAttr()];
          if (!maker || last.lookup(maker.getSymName()) < last.lookup(phase.getSymName()))
            maker = phase;
        }
        auto reduce = dyn_cast<ReduceBucketOp>(op);
        if (!reduce || reduce.getInto())
          continue;
        // The reduction stays in place, for other stages of the pipeline still wait for messages of this phase.
        if (std::optional<StringRef> axis = program.getAxis(); axis && contains(toAxes(reduce.getSum()), axis->str()))
          continue;
        PhaseOp maker = makers.lookup(reduce.getBucketAttr());
        if (!maker || maker == phase)
          continue;
        complete[last.lookup(maker.getSymName())].push_back(reduce);
        update = last.lookup(phase.getSymName());
      }
  }

  void place(ReduceBucketOp reduce, size_t run, Operation *before) {
    reduce->moveBefore(before);
    if (phases.lookup(runs[run].phase).getRepeat() > 1)
      reduce.setSlot(runs[run].slot);
  }

  /// Over `count` runs from `first` on; in each, over its ops.
  void dealOut(ArrayRef<ReduceBucketOp> reductions, size_t first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      // Early rather than late, if there are fewer than runs.
      auto before = [&](size_t run) { return (reductions.size() * run + count - 1) / count; };
      auto mine = reductions.slice(before(i), before(i + 1) - before(i));
      if (mine.empty())
        continue;
      SmallVector<Operation *> ops;
      for (Operation &op : phases.lookup(runs[first + i].phase).getBody().front())
        ops.push_back(&op);
      for (auto [number, reduce] : llvm::enumerate(mine))
        place(reduce, first + i, ops[(ops.size() - 1) * number / mine.size()]);
    }
  }

  ProgramOp program;
  SmallVector<PhaseRun> runs;
  llvm::StringMap<PhaseOp> phases;
  llvm::StringMap<size_t> last;
  std::map<size_t, SmallVector<ReduceBucketOp>> complete;
  /// The run in which they were.
  size_t update = 0;
};

struct PlaceUnits : impl::SpmdPlaceUnitsBase<PlaceUnits> {
  /// Tells how often units are gathered in a phase, and how many reads these gathers serve.
  void tell(PhaseOp phase) {
    size_t gathers = 0, views = 0;
    phase.walk([&](GatherUnitOp) { ++gathers; });
    phase.walk([&](UnitViewOp) { ++views; });
    remark::passed(phase.getLoc(), remark::RemarkOpts::name("gathers").category(getArgument()))
        << remark::metric("Phase", phase.getSymName().str()) << remark::metric("Gathers", gathers)
        << remark::metric("Reads", views);
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>()) {
      ReductionPlacer(program).run();
      for (auto phase : program.getOps<PhaseOp>()) {
        PhasePlacer(phase, symbols).run();
        hoistSends(phase);
        if (getContext().getRemarkEngine())
          tell(phase);
      }
    }
  }
};
} // namespace
} // namespace dtcc::spmd
