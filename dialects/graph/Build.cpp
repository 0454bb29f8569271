//===- Build.cpp - Short names for building graph ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;

namespace dtcc::graph {

RankedTensorType withShape(Type type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, cast<ShapedType>(type).getElementType());
}

std::optional<double> splatValue(Value value) {
  // A broadcast of a splat is one.
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat)
    return std::nullopt;
  if (isa<FloatType>(splat.getElementType())) {
    llvm::APFloat number = splat.getSplatValue<llvm::APFloat>();
    bool inexact;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number.convertToDouble();
  }
  llvm::APInt number = splat.getSplatValue<llvm::APInt>();
  // A boolean is 0 or 1.
  return number.getBitWidth() == 1 ? double(number.getZExtValue()) : double(number.getSExtValue());
}

Value Build::splat(Type type, double value) const {
  Type element = cast<ShapedType>(type).getElementType();
  Attribute cell = isa<FloatType>(element) ? Attribute(FloatAttr::get(element, value))
                                           : Attribute(IntegerAttr::get(element, static_cast<int64_t>(value)));
  auto shaped = withShape(type, cast<ShapedType>(type).getShape());
  return ConstantOp::create(builder, loc, type, DenseElementsAttr::get(shaped, cell));
}
Value Build::splat(Value like, double value) const { return splat(like.getType(), value); }

Value Build::add(Value x, Value y) const { return AddOp::create(builder, loc, x, y); }
Value Build::sub(Value x, Value y) const { return SubOp::create(builder, loc, x, y); }
Value Build::mul(Value x, Value y) const {
  if (splatValue(x) == 1.0)
    return y;
  if (splatValue(y) == 1.0)
    return x;
  return MulOp::create(builder, loc, x, y);
}
Value Build::mul(Value x, double factor) const { return factor == 1 ? x : mul(x, splat(x, factor)); }
Value Build::div(Value x, Value y) const { return DivOp::create(builder, loc, x, y); }
Value Build::neg(Value x) const { return NegOp::create(builder, loc, x); }

bool isSimplePower(double exponent) {
  return llvm::is_contained({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0}, exponent);
}
Value Build::power(Value x, double exponent) const {
  if (!isSimplePower(exponent))
    return PowOp::create(builder, loc, x, splat(x, exponent));
  if (exponent == 0)
    return splat(x, 1);
  if (exponent == 0.5)
    return SqrtOp::create(builder, loc, x);
  if (exponent == -0.5)
    return RsqrtOp::create(builder, loc, x);
  if (exponent < 0)
    return div(splat(x, 1), power(x, -exponent));
  Value product = x;
  for (int i = 1; i < exponent; ++i)
    product = mul(product, x);
  return product;
}

Value Build::compare(Predicate predicate, Value x, Value y) const {
  Type type = RankedTensorType::get(shapeOf(x), builder.getI1Type());
  return CompareOp::create(builder, loc, type, predicate, x, y);
}
Value Build::select(Value condition, Value x, Value y) const {
  return SelectOp::create(builder, loc, x.getType(), condition, x, y);
}
Value Build::sum(Value x, ArrayRef<int64_t> dims) const {
  if (dims.empty())
    return x;
  return ReduceOp::create(builder, loc, withShape(x.getType(), without(shapeOf(x), dims)), Reduction::Sum, x, dims);
}
Value Build::broadcast(Value x, Type type, ArrayRef<int64_t> dims) const {
  if (x.getType() == type)
    return x;
  return BroadcastOp::create(builder, loc, type, x, dims);
}
Value Build::transpose(Value x, ArrayRef<int64_t> permutation) const {
  if (llvm::is_sorted(permutation))
    return x;
  return TransposeOp::create(builder, loc, withShape(x.getType(), at(shapeOf(x), permutation)), x, permutation);
}
Value Build::cast(Value x, Type element) const {
  auto type = llvm::cast<ShapedType>(x.getType());
  return type.getElementType() == element ? x : CastOp::create(builder, loc, type.clone(element), x);
}
Value Build::reshape(Value x, ArrayRef<int64_t> shape) const {
  if (shapeOf(x) == shape)
    return x;
  return ReshapeOp::create(builder, loc, withShape(x.getType(), shape), x);
}

} // namespace dtcc::graph
