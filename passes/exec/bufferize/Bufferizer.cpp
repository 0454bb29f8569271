//===- Bufferizer.cpp - Places of values -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/Bufferizer.h"
#include "dialects/spmd/OnHost.h"
#include "passes/exec/Target.h"
#include "passes/exec/bufferize/OpRules.h"
#include "passes/exec/commands/Liveness.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

Bufferizer::Bufferizer(spmd::ProgramOp source, ModuleOp module, const SymbolTable &symbols, const TargetMemory &target)
    : source(source), theModule(module), symbols(symbols), targetMemory(target), lifetimes(source),
      declarations(module.getContext()), commands(module.getContext()), here(source.getLoc()) {
  for (Operation &op : module.getOps())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      names.insert(symbol.getName());
}

LogicalResult Bufferizer::run() {
  FailureOr<spmd::Mesh> found = spmd::findMesh(&source.getBody().front().front());
  if (failed(found))
    return source.emitOpError("must have a mesh");
  theMesh = *found;
  OpBuilder builder(source);
  program = ProgramOp::create(builder, source.getLoc(), source.getSymNameAttr(), source.getMeshAttr(),
                              source.getStageAttr(), source.getAxisAttr(), source.getActionsAttr(), Attribute());
  source.walk([&](spmd::UpdateBucketOp update) { program.setOptimizerAttr(update.getOptimizer()); });
  declarations.setInsertionPointToEnd(&program.getBody().emplaceBlock());
  for (auto phase : source.getOps<spmd::PhaseOp>())
    if (failed(lowerPhase(phase)))
      return failure();
  return success();
}

LogicalResult Bufferizer::lowerPhase(spmd::PhaseOp phase) {
  OpBuilder end = OpBuilder::atBlockEnd(&program.getBody().front());
  auto target = PhaseOp::create(end, phase.getLoc(), phase.getSymName(), phase.getRepeat());
  // Buffers of this phase too are declared before the first one.
  if (!firstPhase)
    declarations.setInsertionPoint(firstPhase = target);
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
    setPlace(result, place);
  }
  return success();
}

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
  BufferInfo &buffer = buffers[copy.buffer];
  buffer.values.push_back(value);
  if (targetMemory.usesHost && !buffer.persistent && waitsOnHost(value))
    buffer.op->setAttr(spmd::kOnHostAttr, declarations.getUnitAttr());
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
  // A value that is accumulated into another buffer has no buffer of its own, so nothing else may read it.
  if (accumulate && !value.hasOneUse())
    return;
  destinations[value] = {place, accumulate};
  buffers[place.buffer].values.push_back(value);
}

Bufferizer::Destination Bufferizer::ensureDestination(Value result) {
  if (auto known = destinationOf(result))
    return *known;
  Place place = allocate(cast<ShapedType>(result.getType()), result.getDefiningOp()->getName().stripDialect());
  buffers[place.buffer].values.push_back(result);
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
  const BufferInfo &buffer = buffers.find(placeOf(value).buffer)->second;
  return !buffer.persistent &&
         llvm::all_of(buffer.values, [&](Value v) { return lifetimes.lastUse(v) <= lifetimes.position(op); });
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

StringAttr Bufferizer::uniqueName(StringRef prefix) {
  for (unsigned &i = firstFree[prefix];; ++i)
    if (std::string name = (prefix + "_" + Twine(i)).str(); names.insert(name).second)
      return StringAttr::get(theModule.getContext(), name);
}

ArenaOp Bufferizer::arena(StringRef name, bool host) {
  ArenaOp &op = arenas[name];
  if (!op) {
    OpBuilder start = OpBuilder::atBlockBegin(&program.getBody().front());
    op = ArenaOp::create(start, source.getLoc(), name, 0, host);
  }
  return op;
}

StringAttr Bufferizer::addBuffer(StringRef name, int64_t bytes, StringRef arenaName, bool persistent) {
  auto symbol = StringAttr::get(theModule.getContext(), name);
  auto op = BufferOp::create(declarations, source.getLoc(), symbol, bytes,
                             arena(arenaName, arenaName == kHostArena).getSymName(), nullptr, persistent, nullptr);
  BufferInfo &info = buffers[symbol];
  info.persistent = persistent;
  info.op = op;
  return symbol;
}

static int64_t bytesOf(ShapedType type) { return type.getNumElements() * getElementBytes(type.getElementType()); }

Place Bufferizer::allocate(ShapedType type, StringRef name, bool persistent) {
  StringAttr buffer = addBuffer(uniqueName(name), bytesOf(type), persistent ? "inputs" : "activations", persistent);
  return Place::dense(buffer, type);
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
    return allocate(type, name);
  SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank(), 0), steps(type.getRank(), 1);
  shape.back() = row;
  return allocate(type.clone(shape), name).sliced(offsets, steps, type.getShape());
}

Place Bufferizer::bucket(FlatSymbolRefAttr symbol) {
  auto [entry, isNew] = bucketPlaces.try_emplace(symbol.getAttr());
  if (!isNew)
    return entry->second;
  spmd::BucketOp op = bucketOp(symbol);
  int64_t share = op.getLength() / theMesh.product(spmd::toAxes(op.getFlat()));
  auto type = RankedTensorType::get({share}, op.getElementType());
  // A transient bucket is memory while a command touches it; nobody writes over it before that.
  bool stays = op.getRole() != spmd::BucketRole::Transient;
  StringRef where = stays ? "state" : "activations";
  if (targetMemory.usesHost && op.getHost())
    where = kHostArena;
  StringAttr buffer = addBuffer(symbol.getValue(), bytesOf(type), where, stays);
  buffers[buffer].persistent = true;
  cast<BufferOp>(&*std::prev(declarations.getInsertionPoint())).setBucketAttr(symbol);
  return entry->second = Place::dense(buffer, type);
}

Place Bufferizer::scalarPlace(ScalarKind kind) {
  std::optional<Place> &known = scalars[unsigned(kind)];
  if (known)
    return *known;
  Type element = kind == ScalarKind::step ? Type(declarations.getI64Type()) : declarations.getF32Type();
  auto type = RankedTensorType::get({}, element);
  // Bucket names may not clash with these: they hold a dot or come from the spmd level.
  known = Place::dense(addBuffer(uniqueName(stringifyScalarKind(kind)), bytesOf(type), "state", true), type);
  showScalar(kind, *known);
  return *known;
}

void Bufferizer::showScalar(ScalarKind kind, const Place &place) {
  OpBuilder saved = commands;
  commands = declarations;
  llvm::scope_exit restore([&] { commands = saved; });
  Value where = view(place);
  ScalarOp::create(commands, source.getLoc(), kind, where);
}

Place Bufferizer::inputPlace(spmd::InputOp op) {
  auto [entry, isNew] = inputs.try_emplace(op.getName());
  if (!isNew)
    return entry->second;
  entry->second = allocate(op.getType(), op.getName(), /*persistent=*/true);
  OpBuilder saved = commands;
  commands = declarations;
  llvm::scope_exit restore([&] { commands = saved; });
  auto layout = cast<spmd::TensorType>(op.getLayout());
  SmallVector<Attribute> axes(layout.getAxes().begin(), layout.getAxes().end());
  auto role = symbolizeInputRole(op.getRole().value_or("data")).value_or(InputRole::data);
  SmallVector<int64_t> padded(layout.getPadded().empty() ? layout.getShape() : layout.getPadded());
  InputOp::create(commands, op.getLoc(), op.getName(), role, view(entry->second),
                  commands.getDenseI64ArrayAttr(layout.getShape()), commands.getDenseI64ArrayAttr(padded),
                  commands.getArrayAttr(axes), op.getBoundsAttr());
  return entry->second;
}
