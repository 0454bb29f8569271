//===- RandomKernel.cpp - Philox in generated kernels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels compute the functions of dialects/interfaces/Philox.h on lanes, and so draw the numbers of the reference.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {
/// Integer arithmetic on scalars or vectors of the shape of `like`.
struct Words {
  OpBuilder &builder;
  Location loc;
  Type i32, i64;

  Words(OpBuilder &builder, Location loc, Value like) : builder(builder), loc(loc) {
    i32 = builder.getI32Type();
    i64 = builder.getI64Type();
    if (auto vector = dyn_cast<VectorType>(like.getType())) {
      i32 = VectorType::get(vector.getShape(), i32);
      i64 = VectorType::get(vector.getShape(), i64);
    }
  }
  Value constant(uint32_t value) {
    TypedAttr attr = builder.getI32IntegerAttr(static_cast<int32_t>(value));
    if (auto vector = dyn_cast<VectorType>(i32))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value low(Value wide) { return arith::TruncIOp::create(builder, loc, i32, wide); }
  Value high(Value wide) {
    TypedAttr shift = builder.getI64IntegerAttr(32);
    if (auto vector = dyn_cast<VectorType>(i64))
      shift = DenseElementsAttr::get(vector, Attribute(shift));
    return low(arith::ShRUIOp::create(builder, loc, wide, arith::ConstantOp::create(builder, loc, shift)));
  }
  Value exclusiveOr(Value a, Value b) { return arith::XOrIOp::create(builder, loc, a, b); }
  /// Returns a scalar i64 on all lanes.
  Value spread(Value scalar) {
    auto vector = dyn_cast<VectorType>(i64);
    return vector ? vector::BroadcastOp::create(builder, loc, vector, scalar).getResult() : scalar;
  }
};

/// Builds philoxWord of dialects/interfaces/Philox.h.
Value philoxWord(Words &words, int64_t id, Value index, Value seed, Value step) {
  OpBuilder &builder = words.builder;
  Location loc = words.loc;
  Value wideStep = words.spread(step);
  Value c0 = words.low(index), c1 = words.high(index), c2 = words.low(wideStep), c3 = words.high(wideStep);
  Value k0 = words.low(words.spread(seed)), k1 = words.constant(static_cast<uint32_t>(id));
  for (int round = 0; round < 10; ++round) {
    auto first = arith::MulUIExtendedOp::create(builder, loc, words.constant(0xD2511F53u), c0);
    auto second = arith::MulUIExtendedOp::create(builder, loc, words.constant(0xCD9E8D57u), c2);
    c0 = words.exclusiveOr(words.exclusiveOr(second.getHigh(), c1), k0);
    c1 = second.getLow();
    c2 = words.exclusiveOr(words.exclusiveOr(first.getHigh(), c3), k1);
    c3 = first.getLow();
    k0 = arith::AddIOp::create(builder, loc, k0, words.constant(0x9E3779B9u));
    k1 = arith::AddIOp::create(builder, loc, k1, words.constant(0xBB67AE85u));
  }
  return c0;
}

/// Builds a constant of `type`, on all lanes if the type is a vector.
Value real(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}
} // namespace

Value DropoutOp::buildIndexedCell(OpBuilder &builder, Location loc, ValueRange cells, Value index, Value seed,
                                  Value step) {
  Words words(builder, loc, cells[0]);
  Type type = cells[0].getType();
  // uniform >= ratio, in 24 bits: words >> 8 >= ceil(ratio * 2^24).
  double ratio = getRatio().convertToDouble();
  Value bits = arith::ShRUIOp::create(builder, loc, philoxWord(words, getId(), index, seed, step), words.constant(8));
  Value threshold = words.constant(static_cast<uint32_t>(std::ceil(ratio * 0x1p24)));
  Value kept = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, bits, threshold);
  Value scaled = arith::MulFOp::create(builder, loc, cells[0], real(builder, loc, type, 1 / (1 - ratio)));
  return arith::SelectOp::create(builder, loc, kept, scaled, real(builder, loc, type, 0));
}

Value UniformOp::buildIndexedCell(OpBuilder &builder, Location loc, ValueRange cells, Value index, Value seed,
                                  Value step) {
  Words words(builder, loc, cells[0]);
  Type type = cells[0].getType();
  Value bits = arith::ShRUIOp::create(builder, loc, philoxWord(words, getId(), index, seed, step), words.constant(9));
  // f32 has 24 bits of mantissa: it holds 23 bits of a word and the half unit that is added.
  Value whole = arith::SIToFPOp::create(builder, loc, type, bits);
  Value odd = arith::AddFOp::create(builder, loc, whole, real(builder, loc, type, 0.5));
  return arith::MulFOp::create(builder, loc, odd, real(builder, loc, type, 0x1p-23));
}
