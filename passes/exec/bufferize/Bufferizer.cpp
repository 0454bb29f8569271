//===- Bufferizer.cpp - Places of values -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/Bufferizer.h"
#include "dialects/spmd/OnHost.h"
#include "passes/exec/Target.h"
#include "passes/exec/commands/Liveness.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

Bufferizer::Bufferizer(spmd::ProgramOp source, ModuleOp module, const SymbolTable &symbols, const TargetMemory &target)
    : storage(module, symbols, target.usesHost), source(source), theModule(module), targetMemory(target),
      lifetimes(source), commands(module.getContext()), here(source.getLoc()) {}

LogicalResult Bufferizer::run() {
  FailureOr<spmd::Mesh> found = spmd::findMesh(&source.getBody().front().front());
  if (failed(found))
    return source.emitOpError("must have a mesh");
  theMesh = *found;
  OpBuilder builder(source);
  program = ProgramOp::create(builder, source.getLoc(), source.getSymNameAttr(), source.getMeshAttr(),
                              source.getStageAttr(), source.getAxisAttr(), source.getActionsAttr(), Attribute());
  source.walk([&](spmd::UpdateBucketOp update) { program.setOptimizerAttr(update.getOptimizer()); });
  // An optimizer may leave some buckets to another one: the program names it.
  if (Attribute optimizer = source->getAttr(graph::kOptimizerAttr))
    program.setOptimizerAttr(optimizer);
  if (Attribute average = source->getAttr(graph::kAverageAttr))
    program->setAttr(graph::kAverageAttr, average);
  if (source->hasAttr(graph::kEarlyAttr))
    program->setAttr(graph::kEarlyAttr, UnitAttr::get(program.getContext()));
  program.getBody().emplaceBlock();
  storage.setProgram(program, theMesh);
  communicators.setProgram(program);
  for (auto phase : source.getOps<spmd::PhaseOp>())
    if (failed(lowerPhase(phase)))
      return failure();
  return success();
}

LogicalResult Bufferizer::lowerPhase(spmd::PhaseOp phase) {
  OpBuilder end = OpBuilder::atBlockEnd(&program.getBody().front());
  auto target = PhaseOp::create(end, phase.getLoc(), phase.getSymName(), phase.getRepeat());
  // Buffers of this phase too are declared before the first one.
  if (phase == *source.getOps<spmd::PhaseOp>().begin())
    storage.setFirstPhase(target);
  commands.setInsertionPointToEnd(&target.getBody().emplaceBlock());

  Block &body = phase.getBody().front();
  current = &body;
  for (Operation &op : body.without_terminator())
    if (!findRule(&op))
      return op.emitOpError("has no kernel and no library op for these types");
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (auto aim = findRule(&op)->aim)
      aim(&op, *this);
  for (Operation &op : body.without_terminator()) {
    here = op.getLoc();
    if (failed(findRule(&op)->lower(&op, *this)))
      return failure();
  }
  for (auto [value, result] : llvm::zip_equal(body.getTerminator()->getOperands(), phase.getResults())) {
    Place place = placeOf(value); // a copy: the map may grow
    if (keepsSlots(phase) && !storage.isPersistent(place.buffer)) {
      if (cutByTime.contains(place.buffer))
        place = copied(place, "part");
      kept.insert(place.buffer);
    }
    setPlace(result, place);
  }
  return success();
}

bool Bufferizer::keepsSlots(spmd::PhaseOp phase) { return source.getActionsAttr() && phase.getRepeat() > 1; }

/// Whether the plan leaves what a forward op makes, alone or in a kernel, to the host.
static bool waitsOnHost(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto fused = dyn_cast_or_null<FusedOp>(op)) {
    Operation *yield = fused.getBody().front().getTerminator();
    op = yield->getOperand(cast<OpResult>(value).getResultNumber()).getDefiningOp();
  }
  return op && op->hasAttr(spmd::kOnHostAttr);
}

void Bufferizer::setPlace(Value value, const Place &place) {
  // `place` may stand in the map, which may grow.
  Place copy = place;
  valuesOf[copy.buffer].push_back(value);
  if (targetMemory.usesHost && !storage.isPersistent(copy.buffer) && waitsOnHost(value))
    storage.bufferOp(copy.buffer)->setAttr(spmd::kOnHostAttr, commands.getUnitAttr());
  places[value] = std::move(copy);
}

std::optional<Bufferizer::Destination> Bufferizer::destinationOf(Value value) const {
  auto found = destinations.find(value);
  if (found == destinations.end())
    return std::nullopt;
  return found->second;
}

void Bufferizer::aim(Value value, const Place &place, int64_t accumulate) {
  Operation *producer = value.getDefiningOp();
  const OpRule *rule = producer ? findRule(producer) : nullptr;
  // A block's parent is the phase: a producer of another phase has run already.
  if (!rule || isa<spmd::PhaseOp>(producer) || producer->getBlock() != current || destinations.count(value) ||
      place.isTorn())
    return;
  bool handsOn = rule->isView && rule->aim;
  bool writes = !rule->isView && (rule->writesStrided || place.isDense()) && (!accumulate || rule->accumulates);
  if (!handsOn && !writes)
    return;
  const bool rounds = place.element != cast<ShapedType>(value.getType()).getElementType();
  if (rounds && !handsOn && !(rule->mayRound && rule->mayRound(value, place.element, *this)))
    return;
  // A value that is accumulated into another buffer, or rounded there, has no buffer of its own, so nothing else may
  // read it.
  if ((accumulate || rounds) && !value.hasOneUse())
    return;
  destinations[value] = {place, accumulate};
  valuesOf[place.buffer].push_back(value);
}

Bufferizer::Destination Bufferizer::ensureDestination(Value result) {
  if (auto known = destinationOf(result))
    return *known;
  Place place = storage.allocate(cast<ShapedType>(result.getType()), result.getDefiningOp()->getName().stripDialect());
  valuesOf[place.buffer].push_back(result);
  return destinations[result] = {place, Overwrite};
}

Place Bufferizer::place(Value result) {
  Place where;
  if (auto destination = destinationOf(result))
    where = destination->place;
  else
    where = allocateRows(result);
  setPlace(result, where);
  return where;
}

bool Bufferizer::diesAt(Value value, Operation *op) const {
  StringAttr buffer = placeOf(value).buffer;
  return !storage.isPersistent(buffer) && llvm::all_of(valuesOf.find(buffer)->second, [&](Value v) {
    return lifetimes.lastUse(v) <= lifetimes.position(op);
  });
}

/// Whether a library op that takes rows can work in the place itself: all but the last dimension are one dimension with
/// one stride, and the cells of a row are neighbours. Rows of a slice, as of logits without their first positions, come
/// in groups with gaps between them; the classes of an image's pixels lie a whole image apart.
static bool liesInRows(const Place &place) {
  int64_t last = std::max<int64_t>(place.rank() - 1, 0);
  SmallVector<int64_t> groups[] = {dimRange(0, last), dimRange(last, place.rank())};
  std::optional<Place> rows = place.merged(groups);
  return rows && (rows->sizes[1] == 1 || rows->strides[1] == 1);
}

Place Bufferizer::placeOver(Value result, Value operand, Operation *op) {
  const Place &from = placeOf(operand);
  auto type = cast<ShapedType>(result.getType());
  bool same = findRule(op)->takesRows && ArrayRef<int64_t>(from.sizes) == type.getShape() && liesInRows(from);
  bool fits = (same || from.isDense()) && !from.blockOf && from.element == type.getElementType() &&
              from.elements() == type.getNumElements();
  if (destinationOf(result) || !fits || !diesAt(operand, op))
    return place(result);
  Place where = same ? from : *from.reshaped(type.getShape());
  setPlace(result, where);
  return where;
}

/// Whether all that make and read a value may have its rows stand apart, and one of them is a product.
static bool isMatrix(Value value) {
  bool wanted = false;
  auto takes = [&](Operation *op) {
    const OpRule *rule = findRule(op);
    wanted |= rule && rule->wantsAlignedRows;
    return rule && rule->takesRows;
  };
  return takes(value.getDefiningOp()) && llvm::all_of(value.getUsers(), takes) && wanted;
}

Place Bufferizer::allocateRows(Value value) {
  auto type = cast<ShapedType>(value.getType());
  StringRef name = value.getDefiningOp()->getName().stripDialect();
  int64_t each = getElementBytes(type.getElementType()), columns = type.getRank() > 1 ? type.getShape().back() : 0;
  int64_t row = rowBytes(columns * each, targetMemory.rowAlignment) / each;
  if (row == columns || !isMatrix(value))
    return storage.allocate(type, name);
  SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank(), 0), steps(type.getRank(), 1);
  shape.back() = row;
  return storage.allocate(type.clone(shape), name).sliced(offsets, steps, type.getShape());
}
