//===- DistDialect.cpp - The dist dialect: where a training step lives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/dist/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/dist/DistDialect.cpp.inc"
#include "dialects/dist/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.cpp.inc"

using namespace mlir;

namespace dtcc::dist {

namespace {
/// Constants made by folding stay in their phase: a program holds nothing but phases.
struct KeepConstantsInPhase : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const override { return isa<PhaseOp>(region->getParentOp()); }
};
} // namespace

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/DistAttrs.cpp.inc"
      >();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/DistOps.cpp.inc"
      >();
  addInterfaces<KeepConstantsInPhase>();
}

Axes toAxes(ArrayAttr names) {
  Axes axes;
  for (Attribute name : names)
    axes.push_back(cast<StringAttr>(name).str());
  return axes;
}

ArrayAttr fromAxes(MLIRContext *context, const Axes &axes) {
  SmallVector<Attribute> names;
  for (const std::string &axis : axes)
    names.push_back(StringAttr::get(context, axis));
  return ArrayAttr::get(context, names);
}

Mesh toMesh(MeshOp op) {
  Mesh mesh;
  for (auto axis : op.getAxes().getAsRange<AxisAttr>())
    mesh.axes.push_back({axis.getName().str(), axis.getSize(), axis.getKind() == AxisKind::Time});
  return mesh;
}

FailureOr<Mesh> findMesh(Operation *op) {
  auto program = op->getParentOfType<ProgramOp>();
  if (!program)
    return failure();
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(program, program.getMeshAttr());
  if (!mesh)
    return failure();
  return toMesh(mesh);
}

LogicalResult AxisAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name, int64_t size,
                               AxisKind kind) {
  if (name.empty())
    return emitError() << "mesh axis needs a name";
  if (size < 1)
    return emitError() << "mesh axis size must be at least 1, got: " << size;
  return success();
}

LogicalResult MeshOp::verify() {
  llvm::StringSet<> names;
  for (auto [i, axis] : llvm::enumerate(getAxes().getAsRange<AxisAttr>())) {
    if (!names.insert(axis.getName()).second)
      return emitOpError("axis names must differ, got twice: ") << axis.getName();
    if (axis.getKind() == AxisKind::Time && i != 0)
      return emitOpError("time axis must stand first, got position: ") << i;
  }
  return success();
}

LogicalResult ReshardOp::verify() {
  TensorType from = getX().getType(), to = getY().getType();
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError("must keep shape and element type, got: ") << from << " and " << to;
  if (from.getMesh() != to.getMesh())
    return emitOpError("must keep the mesh, got: ") << from.getMesh() << " and " << to.getMesh();
  if (from.getPadded() != to.getPadded())
    return emitOpError("must keep the padded sizes, got: ") << from << " and " << to;
  return success();
}

} // namespace dtcc::dist
