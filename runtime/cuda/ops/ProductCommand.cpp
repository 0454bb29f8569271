//===- ProductCommand.cpp - A command that multiplies matrices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/ProductCommand.h"

namespace dtcc::rt::cuda {
namespace {

/// Binds the operands that both product commands have; `out` is known.
void bindFactors(ProductCommand &c, const CheckedOperands &operands) {
  const dtcc_view &lhs = operands.floats(0, "lhs", {-1, -1, -1});
  const dtcc_view &rhs =
      operands.tensor(1, "rhs", {lhs.sizes[0], lhs.sizes[2], -1}, static_cast<dtcc_dtype>(lhs.dtype));
  c.g = lhs.sizes[0], c.m = lhs.sizes[1], c.k = lhs.sizes[2], c.n = rhs.sizes[2];
  const dtcc_view &out = operands.floats(c.out, "out", {c.g, c.m, c.n});
  c.type = lhs.dtype, c.outType = out.dtype;
  if (c.outType != c.type && c.outType != DTCC_F32)
    operands.reject("out must have the operands' element type or f32, got: ", int{out.dtype});
  c.accumulate = operands.accumulation(0);
}

/// One of the matrices of an activation: [g, m, n] like out, the cells of a row adjacent.
void checkRows(const ProductCommand &c, const CheckedOperands &operands, size_t operand, const char *name) {
  const dtcc_view &view = operands.tensor(operand, name, {c.g, c.m, c.n}, static_cast<dtcc_dtype>(c.outType));
  operands.expectContiguousRows(view, name);
}

} // namespace

ProductCommand ProductCommand::matmul(const CheckedOperands &operands) {
  ProductCommand c;
  if (operands.attributeCount() == 2 && operands.flag(1))
    c.bias = c.out++;
  operands.expect(c.out + 1, 2);
  bindFactors(c, operands);
  if (c.bias)
    operands.tensor(*c.bias, "bias", {c.n});
  return c;
}

ProductCommand ProductCommand::matmulEpilogue(const CheckedOperands &operands) {
  ProductCommand c;
  if (operands.attributeCount() != 4)
    operands.expect(c.out + 1, 4); // says what it must be
  const int64_t activation = operands.integer(2), sums = operands.integer(3);
  if (activation < 0 || activation > static_cast<int64_t>(ProductActivation::Slope))
    operands.reject("activation must be 0 to 3, got: ", activation);
  c.activation = static_cast<ProductActivation>(activation);
  if (operands.flag(1))
    c.bias = c.out++;
  if (c.activation == ProductActivation::Slope)
    c.at = c.out++;
  size_t next = c.out + 1;
  if (c.activation == ProductActivation::GeluKept)
    c.kept = next++;
  if (sums != -1)
    c.sums = next++;
  operands.expect(next, 4);
  bindFactors(c, operands);
  if (c.g != 1)
    operands.reject("must be one product, got: ", c.g);
  const auto type = static_cast<dtcc_dtype>(c.outType);
  if (c.bias)
    operands.tensor(*c.bias, "bias", {c.n}, type), c.biasType = type;
  if (c.at)
    checkRows(c, operands, *c.at, "at");
  if (c.kept)
    checkRows(c, operands, *c.kept, "kept");
  if (c.sums) {
    operands.tensor(*c.sums, "sums", {c.n}, type);
    c.sumsAccumulate = operands.accumulation(3);
  }
  if (c.activation != ProductActivation::None && c.accumulate != Accumulation::Never)
    operands.reject("an activation of a sum with what is there is none of the product");
  if (c.sums && (c.bias || c.activation != ProductActivation::None))
    operands.reject("sums stand beside a plain product");
  return c;
}

ProductCommand ProductCommand::alone() const {
  ProductCommand c = *this;
  c.activation = ProductActivation::None;
  c.bias = c.at = c.kept = c.sums = std::nullopt;
  return c;
}

} // namespace dtcc::rt::cuda
