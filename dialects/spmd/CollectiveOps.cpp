//===- CollectiveOps.cpp - What ranks exchange
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Spmd.h"

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

/// Coordinates of a rank axis of the mesh around `op`.
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

/// Besides, another stage than the program's own.
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

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  if (std::optional<ArrayRef<int64_t>> members = getMembers()) {
    if (getAxes().size() != 1)
      return emitOpError("members must be of one axis, got: ") << getAxes();
    if (members->size() < 2 || !llvm::is_sorted(*members) ||
        std::adjacent_find(members->begin(), members->end()) != members->end())
      return emitOpError("members must be at least two coordinates, ascending");
    if (failed(verifyPeers(*this, cast<StringAttr>(getAxes()[0]).getValue(), *members)))
      return failure();
  }
  return verifyExchange(*this, getAxes(), -1, -1, false);
}

LogicalResult ShiftOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyExchange(*this, getAxes(), -1, -1, false);
}

LogicalResult ZeroFillOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyExchange(*this, getAxes(), -1, -1, true);
}

/// A dimension that an attribute names: -1 would mean "none" above.
static LogicalResult verifyDim(Operation *op, int64_t dim) {
  return dim >= 0 ? success() : op->emitOpError("dimension must not be negative, got: ") << dim;
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  return success(succeeded(verifyDim(*this, getDim())) &&
                 succeeded(verifyExchange(*this, getAxes(), getDim(), -1, false)));
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  return success(succeeded(verifyDim(*this, getDim())) &&
                 succeeded(verifyExchange(*this, getAxes(), -1, getDim(), false)));
}

LogicalResult LocalSliceOp::verifySymbolUses(SymbolTableCollection &) {
  return success(succeeded(verifyDim(*this, getDim())) &&
                 succeeded(verifyExchange(*this, getAxes(), -1, getDim(), true)));
}

/// Rows that go to experts, and back: the tokens of the group on one side, a member's own on the other.
static LogicalResult verifyRows(Operation *op, ArrayAttr axes, bool gathers) {
  Type whole = (gathers ? op->getResult(0) : op->getOperand(0)).getType();
  auto rows = cast<ShapedType>(whole), ids = cast<ShapedType>(op->getOperand(1).getType());
  if (rows.getRank() < 2 || rows.getShape().drop_back() != ids.getShape().drop_back() ||
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
LogicalResult DispatchRowsOp::verifySymbolUses(SymbolTableCollection &) { return verifyRows(*this, getAxes(), true); }
LogicalResult CombineRowsOp::verifySymbolUses(SymbolTableCollection &) { return verifyRows(*this, getAxes(), false); }

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyDim(*this, getFrom())) || failed(verifyDim(*this, getTo())))
    return failure();
  if (getFrom() == getTo())
    return emitOpError("dimensions must differ, got twice: ") << getFrom();
  return verifyExchange(*this, getAxes(), getFrom(), getTo(), false);
}

} // namespace dtcc::spmd
