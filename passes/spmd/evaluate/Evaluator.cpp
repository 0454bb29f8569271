//===- Evaluator.cpp - Runs the program of a rank for all its ranks at once
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/evaluate/Evaluator.h"
#include "passes/spmd/program/StageExchanges.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtcc::spmd {

/// The mesh of the ranks that run `program`.
static Mesh meshOf(ProgramOp program) {
  Mesh mesh = *findMesh(&program.getBody().front().front());
  for (MeshAxis &axis : mesh.axes)
    if (program.getAxis() == axis.name)
      axis.size = 1;
  return mesh;
}

static LogicalResult runInput(InputOp op, RankStorage &storage, int64_t slot) {
  const Mesh &mesh = storage.lockStep.mesh;
  auto whole = storage.inputs->find(op.getName());
  if (whole == storage.inputs->end())
    return op->emitError("has no value");
  Shards parts = scatter(whole->second, cast<TensorType>(op.getLayout()).getLayout(), mesh, 0, 0);
  storage.lockStep.values[op.getY()].assign(parts.begin() + slot * mesh.ranks(),
                                            parts.begin() + (slot + 1) * mesh.ranks());
  return success();
}

static LogicalResult runView(ViewOp op, RankStorage &storage, int64_t) {
  Shards &all = storage.clear(op.getY());
  storage.forEachRank([&](int64_t rank) {
    HostTensor &y = all[rank];
    const std::vector<double> &stored = storage.buckets[op.getBucket()][rank];
    for (int64_t i = 0; i < y.size(); ++i)
      if (y.isFloat())
        y.floats[i] = stored[op.getOffset() + i];
      else
        y.ints[i] = static_cast<int64_t>(stored[op.getOffset() + i]);
  });
  return success();
}

static LogicalResult runStore(StoreOp op, RankStorage &storage, int64_t) {
  storage.forEachRank([&](int64_t rank) {
    const HostTensor &x = storage.lockStep.values[op.getX()][rank];
    for (int64_t i = 0; i < x.size(); ++i)
      storage.buckets[op.getBucket()][rank][op.getOffset() + i] = x.isFloat() ? x.floats[i] : x.ints[i];
  });
  return success();
}

static LogicalResult runAccumulate(AccumulateOp op, RankStorage &storage, int64_t slot) {
  auto bucket = storage.module.lookupSymbol<BucketOp>(op.getBucket());
  bool overwrites = !op.getAgain() && (slot == 0 || bucket.getRole() == BucketRole::Transient);
  storage.forEachRank([&](int64_t rank) {
    const HostTensor &x = storage.lockStep.values[op.getX()][rank];
    for (int64_t i = 0; i < x.size(); ++i) {
      double &cell = storage.buckets[op.getBucket()][rank][op.getOffset() + i];
      cell = (overwrites ? 0 : cell) + x.floats[i];
    }
  });
  return success();
}

static void addProgramOps(StorageOps &ops) { ops.on(runInput).on(runView).on(runStore).on(runAccumulate); }

ProgramEvaluator::ProgramEvaluator(ModuleOp module, ProgramOp program, uint64_t seed)
    : storage{module, program, LockStep(meshOf(program), seed)} {
  llvm::StringSet<> own, others;
  for (auto any : module.getOps<ProgramOp>())
    if (auto uses = SymbolTable::getSymbolUses(any.getOperation()))
      for (SymbolTable::SymbolUse use : *uses)
        (any == program ? own : others).insert(use.getSymbolRef().getLeafReference());
  for (auto bucket : module.getOps<BucketOp>()) {
    // The first stage keeps a bucket that no stage reads.
    bool holds = own.contains(bucket.getSymName()) ||
                 (program.getStage().value_or(0) == 0 && !others.contains(bucket.getSymName()));
    if (!holds)
      continue;
    int64_t length = bucket.getLength() / storage.lockStep.mesh.product(toAxes(bucket.getFlat()));
    storage.buckets[bucket.getSymName()].assign(storage.lockStep.mesh.ranks(), std::vector<double>(length));
  }
  for (auto phase : program.getBody().getOps<PhaseOp>()) {
    phases[phase.getSymName()] = phase;
    if (!program.getActions())
      for (int64_t slot = 0; slot < static_cast<int64_t>(phase.getRepeat()); ++slot)
        runs.push_back({phase.getSymNameAttr(), slot});
  }
  if (RunsAttr actions = program.getActionsAttr())
    runs = llvm::to_vector(actions.getRuns());
  // The evaluation of the whole step, with which this one is compared, is of the parameters.
  llvm::erase_if(runs, [](const PhaseRun &run) { return exchangesAverages(run.phase); });
  addProgramOps(ops);
  addUnitOps(ops);
  addUpdateOps(ops);
}

std::pair<FlatSymbolRefAttr, int64_t> RankStorage::placeOf(graph::StateOp state) const {
  for (auto place : bucketsOf(state))
    if (buckets.contains(place.first.getValue()))
      return place;
  return {};
}

Shards &RankStorage::clear(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Shards &all = lockStep.values[value];
  all.assign(lockStep.mesh.ranks(), HostTensor(type.getShape(), type.getElementType()));
  return all;
}

void RankStorage::forEachRank(llvm::function_ref<void(int64_t)> body) const {
  for (int64_t rank = 0; rank < lockStep.mesh.ranks(); ++rank)
    body(rank);
}

LogicalResult ProgramEvaluator::initialize(const llvm::StringMap<HostTensor> &states) {
  for (auto state : storage.module.getOps<graph::StateOp>()) {
    auto value = states.find(state.getSymName());
    if (value == states.end())
      return state.emitError("has no initial value");
    auto layout = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue()).getLayout();
    auto [name, offset] = storage.placeOf(state);
    if (!name)
      continue;
    Shards own = scatter(value->second, layout, storage.lockStep.mesh, /*padding=*/0, /*seed=*/0);
    // Copies in a narrower type start as the masters do, slots as the state says.
    for (auto bucket : storage.module.getOps<BucketOp>()) {
      bool copies = bucket.getRole() == BucketRole::Compute && bucket.getOfAttr() == name;
      bool slot = bucket.getRole() == BucketRole::Slot && bucket.getOfAttr() == name && state.getSlots();
      if (bucket.getSymNameAttr() != name.getAttr() && !copies && !slot)
        continue;
      Shards parts = own;
      if (slot) {
        ArrayAttr values = *state.getSlots();
        uint64_t number = bucket.getSlot().value_or(0);
        FailureOr<HostTensor> start = number < values.size()
                                          ? HostTensor::fromAttribute(cast<ElementsAttr>(values[number]))
                                          : FailureOr<HostTensor>();
        if (failed(start))
          return state.emitError("slots must be dense or resources with their bytes, one value a slot");
        start->shape = value->second.shape;
        parts = scatter(*start, layout, storage.lockStep.mesh, /*padding=*/0, /*seed=*/0);
      }
      auto &stored = storage.buckets[bucket.getSymName()];
      for (int64_t rank = 0; rank < storage.lockStep.mesh.ranks(); ++rank) {
        int64_t size = stored[rank].size(),
                first = storage.lockStep.mesh.index(rank, 0, toAxes(bucket.getFlat())) * size;
        for (int64_t i = 0; i < parts[rank].size(); ++i)
          if (int64_t at = offset + i - first; at >= 0 && at < size)
            stored[rank][at] = parts[rank].isFloat() ? parts[rank].floats[i] : parts[rank].ints[i];
      }
    }
  }
  return success();
}

FailureOr<llvm::StringMap<HostTensor>> ProgramEvaluator::states() const {
  llvm::StringMap<HostTensor> result;
  const Mesh &mesh = storage.lockStep.mesh;
  for (auto state : storage.module.getOps<graph::StateOp>()) {
    auto type = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue());
    auto [bucketName, offset] = storage.placeOf(state);
    if (!bucketName)
      continue;
    StringRef name = bucketName.getValue();
    RankedTensorType local = localType(type, mesh);
    Shards parts;
    // States do not differ between micro-batches: every slot sees the same.
    for (int64_t position = 0; position < mesh.ranks() * mesh.slots(); ++position) {
      HostTensor part(local.getShape(), type.getElementType());
      std::vector<double> bucket = storage.wholeBucket(name, position % mesh.ranks());
      for (int64_t i = 0; i < part.size(); ++i)
        if (part.isFloat())
          part.floats[i] = bucket[offset + i];
        else
          part.ints[i] = static_cast<int64_t>(bucket[offset + i]);
      parts.push_back(std::move(part));
    }
    llvm::Expected<HostTensor> whole = gather(parts, type.getLayout(), mesh, type.getShape());
    if (!whole)
      return state.emitError(llvm::toString(whole.takeError()));
    // Scattering it again must give the same: padding is zero.
    Shards expected = scatter(*whole, type.getLayout(), mesh, /*padding=*/0, /*seed=*/0);
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].floats != expected[i].floats || parts[i].ints != expected[i].ints)
        return state.emitError("has padded cells that are not zero");
    result[state.getSymName()] = std::move(*whole);
  }
  return result;
}

void ProgramEvaluator::reduceWithin(Operation *op) {
  if (auto bucket = dyn_cast<ReduceBucketOp>(op))
    return reduceBucket(storage, bucket, runs[run].slot);
  storage.lockStep.values[op->getResult(0)] =
      storage.lockStep.exchanged(cast<CommunicationOpInterface>(op), runs[run].slot);
}

/// The slot in which `phase` yielded the value that is read: that of the micro-batch, or 0 if it does not repeat.
static int64_t slotOf(PhaseOp phase, int64_t slot) { return phase.getRepeat() > 1 ? slot : 0; }

LogicalResult ProgramEvaluator::enterRun() {
  PhaseOp phase = phases.lookup(runs[run].phase);
  next = &phase.getBody().front().front();
  for (Operation &op : phase.getBody().front())
    for (Value operand : op.getOperands()) {
      auto maker = operand.getDefiningOp<PhaseOp>();
      if (!maker)
        continue;
      auto made = kept.find({operand, slotOf(maker, runs[run].slot)});
      if (made == kept.end())
        return op.emitError("reads in ") << where() << " what no phase of the same micro-batch has made before";
      storage.lockStep.values[operand] = made->second;
    }
  return success();
}

void ProgramEvaluator::leaveRun() {
  PhaseOp phase = phases.lookup(runs[run].phase);
  for (auto [result, value] : llvm::zip_equal(phase.getResults(), next->getOperands()))
    kept[{result, slotOf(phase, runs[run].slot)}] = storage.lockStep.values.at(value);
  next = nullptr;
  ++run;
}

void ProgramEvaluator::begin(const llvm::StringMap<HostTensor> &values) {
  storage.inputs = &values;
  run = 0;
  next = nullptr;
  kept.clear();
}

FailureOr<Operation *> ProgramEvaluator::advance() {
  while (run < runs.size()) {
    if (!next && failed(enterRun()))
      return failure();
    if (next->hasTrait<OpTrait::IsTerminator>()) {
      leaveRun();
      continue;
    }
    Operation *op = next;
    next = next->getNextNode();
    // The number of stages does not matter here.
    ProgramOp program = storage.program;
    if (program.getStage() && exchangeOf(op, *program.getAxis(), 0))
      return op;
    std::optional<LogicalResult> stored = ops(op, storage, runs[run].slot);
    if (failed(stored ? *stored : storage.lockStep.run(op, runs[run].slot, storage.step)))
      return failure();
  }
  ++storage.step;
  return nullptr;
}

} // namespace dtcc::spmd
