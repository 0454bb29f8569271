//===- ConstantKernel.cpp - Kernels that no op of a model asks for -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/ConstantKernel.h"
#include "dialects/graph/Build.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

LogicalResult dtcc::exec::emitConstant(Operation *op, ElementsAttr value, const Place &to, Bufferizer &b) {
  int64_t bytes = to.elements() * getElementBytes(to.element);
  if (bytes > (int64_t(64) << 20))
    return op->emitOpError("constant must have at most 64 MiB, got: ") << bytes << " bytes";
  if (!isa<DenseElementsAttr>(value))
    value = DenseElementsAttr::get(value.getShapedType(), SmallVector<Attribute>(value.getValues<Attribute>()));
  Location loc = op->getLoc();
  Block body;
  OpBuilder builder(loc.getContext());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, loc, graph::ConstantOp::create(builder, loc, value.getType(), value).getResult());
  return b.kernel(loc, "constant", body, {}, {{to, Overwrite}}, {-1});
}

LogicalResult dtcc::exec::emitZeroFill(Location loc, const Place &from, const Place &to, ArrayAttr axes,
                                       Bufferizer &b) {
  SmallVector<int64_t> shape = {from.elements()};
  auto type = RankedTensorType::get(shape, from.element);
  Block body;
  Value x = body.addArgument(type, loc);
  OpBuilder builder(loc.getContext());
  builder.setInsertionPointToEnd(&body);
  graph::Build build(builder, loc);
  // Cells counted over all members: those of the first are below the number of cells.
  auto counts = RankedTensorType::get(shape, builder.getI64Type());
  Value number = graph::IotaOp::create(builder, loc, counts, /*dim=*/0, /*start=*/0, /*step=*/1, axes);
  auto constant = [&](RankedTensorType of, Attribute cell) -> Value {
    return graph::ConstantOp::create(builder, loc, of, DenseElementsAttr::get(of, cell));
  };
  Value mine = build.compare(graph::Predicate::lt, number, constant(counts, builder.getI64IntegerAttr(shape[0])));
  Value zero = constant(type, builder.getZeroAttr(from.element));
  YieldOp::create(builder, loc, build.select(mine, x, zero));
  return b.kernel(loc, "zero_fill", body, {*from.reshaped(shape)}, {{*to.reshaped(shape), Overwrite}}, {-1});
}
