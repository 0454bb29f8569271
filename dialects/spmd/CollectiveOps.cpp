//===- CollectiveOps.cpp - What ranks exchange
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Spmd.h"
#include <algorithm>

using namespace mlir;

namespace dtcc::spmd {

/// The mesh around `op`, after a check that its axes exist there, once each. Time
/// axes may stand where nothing is communicated.
static FailureOr<Mesh> meshOf(Operation *op, ArrayAttr names, bool timeAllowed) {
  FailureOr<Mesh> mesh = findMesh(op);
  if (failed(mesh))
    return op->emitOpError("must stand in an spmd.program with a mesh");
  Axes axes = toAxes(names);
  for (size_t i = 0; i < axes.size(); ++i) {
    const MeshAxis *axis = mesh->find(axes[i]);
    if (!axis)
      return op->emitOpError("axis must be one of the mesh, got: ") << axes[i];
    if (axis->time && !timeAllowed)
      return op->emitOpError("cannot communicate over the time axis: ") << axes[i];
    if (std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i)
      return op->emitOpError("axis must stand once, got twice: ") << axes[i];
  }
  return mesh;
}

/// Checks that the result is the operand with dimension `grows` times and dimension
/// `shrinks` divided by the size of the group (-1: no such dimension).
static LogicalResult verifyExchange(Operation *op, ArrayAttr names, int64_t grows, int64_t shrinks, bool timeAllowed) {
  FailureOr<Mesh> mesh = meshOf(op, names, timeAllowed);
  if (failed(mesh))
    return failure();
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t dim : {grows, shrinks})
    if (dim < -1 || dim >= from.getRank())
      return op->emitOpError("dimension must be below the rank ") << from.getRank() << ", got: " << dim;
  int64_t size = mesh->product(toAxes(names));
  SmallVector<int64_t> shape(from.getShape());
  if (grows >= 0)
    shape[grows] *= size;
  if (shrinks >= 0) {
    if (shape[shrinks] % size)
      return op->emitOpError("dimension ")
             << shrinks << " must divide by the group of " << size << ", got: " << shape[shrinks];
    shape[shrinks] /= size;
  }
  auto expected = RankedTensorType::get(shape, from.getElementType());
  if (to != expected)
    return op->emitOpError("result must be ") << expected << ", got: " << to;
  return success();
}

/// Checks that `peers` are coordinates on a rank axis of the mesh around `op`.
static LogicalResult verifyPeers(Operation *op, StringRef axisName, ArrayRef<int64_t> peers) {
  FailureOr<Mesh> mesh = findMesh(op);
  if (failed(mesh))
    return op->emitOpError("must stand in an spmd.program with a mesh");
  const MeshAxis *axis = mesh->find(axisName.str());
  if (!axis || axis->time)
    return op->emitOpError("axis must be a rank axis of the mesh, got: ") << axisName;
  for (int64_t peer : peers)
    if (peer < 0 || peer >= axis->size)
      return op->emitOpError("peer must be one of the ") << axis->size << " of axis " << axisName << ", got: " << peer;
  return success();
}

/// Checks that a message goes to another stage, or comes from one.
static LogicalResult verifyMessage(Operation *op, StringRef axis, int64_t peer) {
  if (failed(verifyPeers(op, axis, peer)))
    return failure();
  auto program = op->getParentOfType<ProgramOp>();
  if (!program.getStage() || *program.getAxis() != axis)
    return op->emitOpError("must stand in the program of a stage over its axis, got: ") << axis;
  if (static_cast<int64_t>(*program.getStage()) == peer)
    return op->emitOpError("peer must be another stage, got: ") << peer;
  return success();
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &) { return verifyMessage(*this, getAxis(), getPeer()); }
LogicalResult ReceiveOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyMessage(*this, getAxis(), getPeer());
}

/// Checks the members of a collective over one axis: the coordinates that alone take part.
static LogicalResult verifyMembers(Operation *op, ArrayAttr axes, ArrayRef<int64_t> members) {
  if (axes.size() != 1)
    return op->emitOpError("members must be of one axis, got: ") << axes;
  if (members.size() < 2 || !llvm::is_sorted(members) ||
      std::adjacent_find(members.begin(), members.end()) != members.end())
    return op->emitOpError("members must be at least two coordinates, ascending");
  return verifyPeers(op, cast<StringAttr>(axes[0]).getValue(), members);
}

/// Checks a dimension that an attribute gives, where -1 would mean "none" to verifyExchange.
static LogicalResult verifyDim(Operation *op, int64_t dim) {
  return dim >= 0 ? success() : op->emitOpError("dimension must not be negative, got: ") << dim;
}

LogicalResult verifyCollective(CommunicationOpInterface op) {
  Communication exchange = op.getCommunications().front();
  if (op->hasAttr("members") && failed(verifyMembers(op, exchange.axes, exchange.members)))
    return failure();
  if ((exchange.info().out == Extent::Whole && failed(verifyDim(op, exchange.joins))) ||
      (exchange.info().in == Extent::Whole && failed(verifyDim(op, exchange.splits))))
    return failure();
  if (exchange.joins >= 0 && exchange.joins == exchange.splits)
    return op->emitOpError("dimensions must differ, got twice: ") << exchange.joins;
  return verifyExchange(op, exchange.axes, exchange.joins, exchange.splits, false);
}

LogicalResult ZeroFillOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyExchange(*this, getAxes(), -1, -1, true);
}

LogicalResult LocalSliceOp::verifySymbolUses(SymbolTableCollection &) {
  return success(succeeded(verifyDim(*this, getDim())) &&
                 succeeded(verifyExchange(*this, getAxes(), -1, getDim(), true)));
}

/// Checks an exchange of packed rows: one side has a row for each pick, the other the tokens of a member.
static LogicalResult verifyPackedRows(Operation *op, ArrayAttr axes, int64_t room) {
  FailureOr<Mesh> mesh = meshOf(op, axes, false);
  if (failed(mesh))
    return failure();
  auto from = cast<ShapedType>(op->getOperand(0).getType()), to = cast<ShapedType>(op->getResult(0).getType());
  bool gathers = isa<DispatchRowsOp>(op);
  ShapedType packed = gathers ? to : from, own = gathers ? from : to;
  auto ids = cast<ShapedType>(op->getOperand(1).getType());
  if (ids.getRank() < 1 || !ids.getElementType().isInteger() || own.getRank() < 1 || ids.getShape().back() < 1 ||
      own.getNumElements() / own.getShape().back() * mesh->product(toAxes(axes)) * ids.getShape().back() !=
          ids.getNumElements())
    return op->emitOpError("picks must be integers for each of the rows of all members of ") << own << ", got: " << ids;
  if (packed.getShape() != ArrayRef<int64_t>{room, own.getShape().back()} ||
      packed.getElementType() != own.getElementType())
    return op->emitOpError("packed rows must be ")
           << RankedTensorType::get({room, own.getShape().back()}, own.getElementType()) << ", got: " << packed;
  return success();
}

LogicalResult PackPicksOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(meshOf(*this, getAxes(), false)))
    return failure();
  auto ids = cast<ShapedType>(getIds().getType()), picked = cast<ShapedType>(getPicked().getType()),
       places = cast<ShapedType>(getPlaces().getType());
  if (ids.getRank() < 1 || !ids.getElementType().isInteger())
    return emitOpError("picks must be integers, got: ") << ids;
  if (places.getRank() != 1 || picked.getShape() != ArrayRef<int64_t>{places.getShape()[0], 1} ||
      picked.getElementType() != ids.getElementType() || !places.getElementType().isInteger(64))
    return emitOpError("must have picks [room, 1] and places [room], got: ") << picked << " and " << places;
  return success();
}

/// Checks an exchange of rows with experts: one side has the tokens of the group, the other those of a member.
LogicalResult verifyRows(CommunicationOpInterface exchange) {
  Operation *op = exchange;
  Communication moved = exchange.getCommunications().front();
  ArrayAttr axes = moved.axes;
  bool gathers = moved.info().out == Extent::Whole;
  Type whole = (gathers ? op->getResult(0) : op->getOperand(0)).getType();
  if (auto room = op->getAttrOfType<IntegerAttr>("room"); room && isa<RankedTensorType>(whole))
    return verifyPackedRows(op, axes, room.getInt());
  auto rows = cast<ShapedType>(whole), ids = cast<ShapedType>(op->getOperand(1).getType());
  if (rows.getRank() < 2 || ids.getRank() < 1 || rows.getShape().drop_back() != ids.getShape().drop_back() ||
      !ids.getElementType().isInteger())
    return op->emitOpError("picks must be integers for each of the rows ") << whole << ", got: " << ids;
  if (isa<RankedTensorType>(whole) && isa<RankedTensorType>(op->getOperand(0).getType()))
    return verifyExchange(op, axes, gathers ? 0 : -1, gathers ? -1 : 0, false);
  auto from = dyn_cast<TensorType>(op->getOperand(0).getType()), to = dyn_cast<TensorType>(op->getResult(0).getType());
  if (!from || !to)
    return op->emitOpError("must be all on whole or all on local tensors");
  Layout expected = from.getLayout();
  Axes names = toAxes(axes), &dim = expected.dims[0];
  if (gathers && dim.size() >= names.size() && std::equal(names.rbegin(), names.rend(), dim.rbegin()))
    dim.resize(dim.size() - names.size());
  else if (!gathers)
    dim.insert(dim.end(), names.begin(), names.end());
  for (const std::string &name : names)
    if (!gathers)
      std::erase(expected.partial, name);
  if (to != from.withLayout(expected))
    return op->emitOpError("result must be ") << from.withLayout(expected) << ", got: " << to;
  return success();
}

//===----------------------------------------------------------------------===//
// The communication interface of ops
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Type element, int64_t count) {
  return count * (((element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64) + 7) / 8);
}
static int64_t bytesOf(Value tensor) {
  auto type = cast<ShapedType>(tensor.getType());
  return bytesOf(type.getElementType(), type.getNumElements());
}

Communication tensorCollective(Operation *op, CollectiveKind kind) {
  Communication exchange;
  exchange.collective = kind;
  exchange.axes = op->getAttrOfType<ArrayAttr>("axes");
  exchange.bytesIn = bytesOf(op->getOperand(0));
  exchange.bytesOut = bytesOf(op->getResult(0));
  return exchange;
}

/// Describes a message over an axis.
template <typename Op> static Communication messageOf(Op op, Value value) {
  Communication message;
  message.axes = ArrayAttr::get(op.getContext(), op.getAxisAttr());
  message.peer = op.getPeer();
  message.channel = op.getChannel();
  (std::is_same_v<Op, SendOp> ? message.bytesIn : message.bytesOut) = bytesOf(value);
  return message;
}

SmallVector<Communication, 1> SendOp::getCommunications() {
  Communication message = messageOf(*this, getX());
  message.sends = true;
  message.room = getRoom();
  return {message};
}
SmallVector<Communication, 1> ReceiveOp::getCommunications() { return {messageOf(*this, getY())}; }

/// Finds the bucket that an op of a program names, and what a rank stores of it.
static BucketOp bucketOf(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<BucketOp>(op, name);
}
static int64_t groupSize(Operation *op, ArrayAttr axes) {
  FailureOr<Mesh> mesh = findMesh(op);
  return succeeded(mesh) ? mesh->product(toAxes(axes)) : 1;
}

/// Describes a gather of `bytes` over axes.
static Communication gatherOf(Operation *op, ArrayAttr axes, int64_t bytes) {
  Communication gather;
  gather.collective = CollectiveKind::AllGather;
  gather.axes = axes;
  gather.bytesIn = bytes / groupSize(op, axes);
  gather.bytesOut = bytes;
  return gather;
}

SmallVector<Communication, 1> GatherBucketOp::getCommunications() {
  BucketOp bucket = bucketOf(*this, getBucketAttr());
  return {gatherOf(*this, getAxes(), bytesOf(bucket.getElementType(), bucket.getLength()))};
}
SmallVector<Communication, 1> GatherUnitOp::getCommunications() {
  return {gatherOf(*this, getAxes(), bytesOf(getY()))};
}

SmallVector<Communication, 1> ReduceBucketOp::getCommunications() {
  BucketOp bucket = bucketOf(*this, getBucketAttr());
  int64_t bytes = bytesOf(bucket.getElementType(), bucket.getLength()) / groupSize(*this, bucket.getFlat());
  int64_t share = bytes / groupSize(*this, getScatter());
  SmallVector<Communication, 1> exchanges;
  auto add = [&](CollectiveKind kind, ArrayAttr axes, int64_t in) {
    if (axes.empty())
      return;
    Communication &exchange = exchanges.emplace_back();
    exchange.collective = kind;
    exchange.axes = axes;
    exchange.bytesIn = in;
    exchange.bytesOut = share;
    exchange.once = getSlot().has_value();
  };
  add(CollectiveKind::ReduceScatter, getScatter(), bytes);
  add(CollectiveKind::AllReduce, getSum(), share);
  return exchanges;
}

static std::string describeBucket(Operation *op, FlatSymbolRefAttr name) {
  return std::to_string(bucketOf(op, name).getLength());
}
std::string GatherBucketOp::describeContent() { return describeBucket(*this, getBucketAttr()); }
std::string GatherUnitOp::describeContent() { return describeBucket(*this, getBucketAttr()); }
std::string ReduceBucketOp::describeContent() { return describeBucket(*this, getBucketAttr()); }

} // namespace dtcc::spmd
