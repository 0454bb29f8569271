//===- ShardOffset.cpp - Where a rank's part of an index starts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/ShardOffset.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace dtcc::exec {

FailureOr<Value> shardOffset(OpBuilder &builder, Operation *op, Value coordinates, const spmd::Mesh *mesh) {
  Location loc = op->getLoc();
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  };
  auto axes = op->getAttrOfType<ArrayAttr>("offset_axes");
  if (!axes)
    return Value();
  if (!mesh)
    return op->emitOpError("works on a shard, but no mesh says where it lies");
  auto shape = cast<ShapedType>(op->getResult(0).getType()).getShape();
  SmallVector<int64_t> scales;
  SmallVector<ArrayAttr> perDim;
  if (auto iota = dyn_cast<graph::IotaOp>(op)) {
    perDim.push_back(axes);
    scales.push_back(shape[iota.getDim()] * iota.getStep());
  } else {
    auto whole = op->getAttrOfType<DenseI64ArrayAttr>("global_shape");
    SmallVector<int64_t> strides = rowMajorStrides(whole ? whole.asArrayRef() : shape);
    for (auto [dim, names] : llvm::enumerate(axes.getAsRange<ArrayAttr>())) {
      perDim.push_back(names);
      scales.push_back(shape[dim] * strides[dim]);
    }
  }
  Value offset;
  for (auto [names, scale] : llvm::zip_equal(perDim, scales)) {
    Value number;
    for (StringAttr name : names.getAsRange<StringAttr>()) {
      auto axis = llvm::find_if(mesh->axes, [&](const spmd::MeshAxis &axis) { return axis.name == name.getValue(); });
      if (axis == mesh->axes.end())
        return op->emitOpError("is split over an axis that the mesh has not: ") << name;
      Value address = LLVM::GEPOp::create(builder, loc, coordinates.getType(), builder.getI64Type(), coordinates,
                                          ArrayRef<LLVM::GEPArg>{int32_t(axis - mesh->axes.begin())});
      Value coordinate = LLVM::LoadOp::create(builder, loc, builder.getI64Type(), address);
      if (number) {
        Value outer = arith::MulIOp::create(builder, loc, number, constant(axis->size));
        coordinate = arith::AddIOp::create(builder, loc, outer, coordinate);
      }
      number = coordinate;
    }
    if (!number)
      continue;
    Value part = arith::MulIOp::create(builder, loc, number, constant(scale));
    offset = offset ? arith::AddIOp::create(builder, loc, offset, part).getResult() : part;
  }
  return offset;
}

} // namespace dtcc::exec
