//===- SpmdDialect.cpp - The spmd dialect: where a training step lives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/spmd/SpmdDialect.cpp.inc"
#include "dialects/spmd/SpmdEnums.cpp.inc"

namespace dtcc::spmd {
/// The lists of PlanAttrs.td, in brackets.
template <typename Element> static mlir::FailureOr<llvm::SmallVector<Element>> parseList(mlir::AsmParser &parser) {
  llvm::SmallVector<Element> list;
  auto parseElement = [&]() -> mlir::ParseResult {
    mlir::FailureOr<Element> element = mlir::FieldParser<Element>::parse(parser);
    if (mlir::succeeded(element))
      list.push_back(*element);
    return mlir::ParseResult(mlir::success(mlir::succeeded(element)));
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, parseElement))
    return mlir::failure();
  return list;
}
template <typename Element> static void printList(mlir::AsmPrinter &printer, llvm::ArrayRef<Element> list) {
  printer << '[';
  llvm::interleaveComma(list, printer, [&](Element element) { printer.printStrippedAttrOrType(element); });
  printer << ']';
}
} // namespace dtcc::spmd

#define GET_ATTRDEF_CLASSES
#include "dialects/spmd/SpmdAttrs.cpp.inc"

using namespace mlir;

namespace dtcc::spmd {

namespace {
/// Constants made by folding stay in their phase: a program holds nothing but phases.
struct KeepConstantsInPhase : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const override { return isa<PhaseOp>(region->getParentOp()); }
};
} // namespace

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/spmd/SpmdAttrs.cpp.inc"
      >();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/spmd/SpmdOps.cpp.inc"
      >();
  addInterfaces<KeepConstantsInPhase>();
}

SmallVector<std::pair<FlatSymbolRefAttr, int64_t>> bucketsOf(Operation *state) {
  SmallVector<std::pair<FlatSymbolRefAttr, int64_t>> result;
  Attribute bucket = state->getAttr(kBucketAttr), offset = state->getAttr(kOffsetAttr);
  if (auto one = dyn_cast_or_null<FlatSymbolRefAttr>(bucket))
    if (auto at = dyn_cast_or_null<IntegerAttr>(offset))
      result.push_back({one, at.getInt()});
  auto names = dyn_cast_or_null<ArrayAttr>(bucket);
  auto offsets = dyn_cast_or_null<DenseI64ArrayAttr>(offset);
  if (names && offsets && static_cast<int64_t>(names.size()) == offsets.size())
    for (auto [name, at] : llvm::zip_equal(names, offsets.asArrayRef()))
      if (auto symbol = dyn_cast<FlatSymbolRefAttr>(name))
        result.push_back({symbol, at});
  return result;
}

void addBucket(Operation *state, FlatSymbolRefAttr bucket, int64_t offset) {
  SmallVector<std::pair<FlatSymbolRefAttr, int64_t>> known = bucketsOf(state);
  Builder builder(state->getContext());
  if (known.empty()) {
    state->setAttr(kBucketAttr, bucket);
    state->setAttr(kOffsetAttr, builder.getI64IntegerAttr(offset));
    return;
  }
  SmallVector<Attribute> names;
  SmallVector<int64_t> offsets;
  known.push_back({bucket, offset});
  for (auto [name, at] : known) {
    names.push_back(name);
    offsets.push_back(at);
  }
  state->setAttr(kBucketAttr, builder.getArrayAttr(names));
  state->setAttr(kOffsetAttr, builder.getDenseI64ArrayAttr(offsets));
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

} // namespace dtcc::spmd
