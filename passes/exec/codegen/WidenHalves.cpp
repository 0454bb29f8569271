//===- WidenHalves.cpp - Halves in memory, f32 in registers -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory is read and written as integers: LLVM has masked loads of these for all vectors.
// The integer arithmetic of runtime/core/HalfFloat.h was tried for bf16 and gave wrong
// numbers in some masked kernels with AVX-512.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/WidenHalves.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dtcc::exec {

static bool isHalfType(Type element) { return element.isBF16() || element.isF16(); }

/// `element` in the shape of `like`.
static Type inShapeOf(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

void widenHalves(Block &body) {
  Type f32 = Float32Type::get(body.getParentOp()->getContext());
  auto widen = [&](Value value) {
    auto type = cast<ShapedType>(value.getType());
    if (isHalfType(type.getElementType()))
      value.setType(type.clone(f32));
  };
  for (BlockArgument argument : body.getArguments())
    widen(argument);
  for (Operation &op : body.without_terminator()) {
    // A cast that rounds gives a half, which is widened again.
    if (auto rounding = dyn_cast<graph::CastOp>(op); rounding && rounding.getRounds()) {
      OpBuilder builder(op.getContext());
      builder.setInsertionPointAfter(rounding);
      Value half = rounding.getY(), wide = graph::Build(builder, op.getLoc()).cast(half, f32);
      half.replaceAllUsesExcept(wide, wide.getDefiningOp());
      continue;
    }
    if (auto constant = dyn_cast<graph::ConstantOp>(op); constant && graph::isHalf(constant.getResult())) {
      auto cells = cast<DenseElementsAttr>(constant.getValue());
      constant.setValueAttr(cells.mapValues(f32, [](llvm::APFloat number) {
        bool inexact;
        number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
        return number.bitcastToAPInt();
      }));
    }
    for (Value result : op.getResults())
      widen(result);
  }
}

Type bitsOfHalf(Type element) { return isHalfType(element) ? IntegerType::get(element.getContext(), 16) : element; }

Value fromHalf(OpBuilder &builder, Location loc, Value bits, Type half) {
  Type f32 = inShapeOf(bits.getType(), builder.getF32Type());
  Value value = arith::BitcastOp::create(builder, loc, inShapeOf(bits.getType(), half), bits);
  return arith::ExtFOp::create(builder, loc, f32, value);
}

Value toHalf(OpBuilder &builder, Location loc, Value value, Type half) {
  Type i16 = inShapeOf(value.getType(), builder.getIntegerType(16));
  Value narrow = arith::TruncFOp::create(builder, loc, inShapeOf(value.getType(), half), value);
  return arith::BitcastOp::create(builder, loc, i16, narrow);
}

} // namespace dtcc::exec
