//===- MatmulOp.cpp - The library op of matrix products -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"
#include "runtime/kernels/Matmul.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

#include <array>
#include <utility>

namespace dtcc::rt {
namespace {

void bindStrides(int64_t (&strides)[3], const dtcc_view &view) {
  for (int i = 0; i < 3; ++i)
    strides[i] = strideOf(view, i);
}

/// One that overwrites and one that adds: made if the command needs them.
using Products = std::array<std::unique_ptr<Matmul>, 2>;

class MatmulOp final : public LibraryOp, public OpWays {
public:
  MatmulOp(const CheckedOperands &operands, Rank &rank) {
    hasBias = operands.attributeCount() == 2 && operands.flag(1);
    required = hasBias ? 4 : 3;
    operands.expect(required, 2);
    const dtcc_view &lhs = operands.floats(0, "lhs", {-1, -1, -1});
    p.type = static_cast<dtcc_dtype>(lhs.dtype);
    const dtcc_view &rhs = operands.tensor(1, "rhs", {lhs.sizes[0], lhs.sizes[2], -1}, p.type);
    p.g = lhs.sizes[0], p.m = lhs.sizes[1], p.k = lhs.sizes[2], p.n = rhs.sizes[2];
    const dtcc_view &out = operands.floats(required - 1, "out", {p.g, p.m, p.n});
    p.outType = static_cast<dtcc_dtype>(out.dtype);
    if (p.outType != p.type && p.outType != DTCC_F32)
      operands.reject("out must have the operands' element type or f32, got: ", int{out.dtype});
    bindStrides(p.lhsStrides, lhs);
    bindStrides(p.rhsStrides, rhs);
    bindStrides(p.outStrides, out);
    static const float placeholder = 0;
    if (hasBias) {
      p.biasStride = strideOf(operands.tensor(2, "bias", {p.n}), 0);
      p.bias = &placeholder;
    }
    accumulate = operands.accumulation(0);
    matmul = make(rank, std::nullopt);
    byRule = methodOf(matmul);
  }

  OpWays *ways() override { return this; }
  std::string problem() const override {
    std::string text = message("matmul ", p.g, " x ", p.m, " x ", p.n, " x ", p.k, "; ", dtypeName(p.type), " to ",
                               dtypeName(p.outType));
    for (const auto &[name, strides] : {std::pair("lhs", p.lhsStrides), {"rhs", p.rhsStrides}, {"out", p.outStrides}})
      text += message("; ", name, " ", strides[0], " ", strides[1], " ", strides[2]);
    return text + message(hasBias ? "; bias" : "", "; accumulate ", static_cast<int>(accumulate));
  }
  std::vector<std::string> names(Rank &rank) override {
    std::vector<std::string> names;
    for (const auto &[method, name] : productMethodNames)
      if (method == byRule)
        names.insert(names.begin(), name);
      else if (methodOf(make(rank, method)) == method)
        names.push_back(name);
    return names;
  }
  bool take(const std::string &wanted, Rank &rank) override {
    for (const auto &[method, name] : productMethodNames) {
      if (name != wanted)
        continue;
      if (methodOf(matmul) == method)
        return true;
      Products made = make(rank, method);
      if (methodOf(made) != method)
        return false;
      matmul = std::move(made);
      return true;
    }
    return false;
  }

  void run(Rank &rank, void *const *buffers) override {
    p.lhs = buffers[0];
    p.rhs = buffers[1];
    if (hasBias)
      p.bias = static_cast<const float *>(buffers[2]);
    p.out = buffers[required - 1];
    bool adds = accumulates(accumulate, rank);
    p.accumulate = adds;
    matmul[adds]->run(rank.team, rank.scratch, p);
  }

private:
  Products make(Rank &rank, std::optional<ProductMethod> method) {
    Products made;
    for (bool adds : {false, true}) {
      if (accumulate == (adds ? Accumulation::Never : Accumulation::Always))
        continue;
      p.accumulate = adds;
      made[adds] = std::make_unique<Matmul>(p, vectorKernels(), rank.scratch, method);
    }
    return made;
  }
  /// Our own if not both can be computed by one other.
  static ProductMethod methodOf(const Products &products) {
    const auto &[overwrites, adds] = products;
    if (!overwrites || !adds)
      return (overwrites ? overwrites : adds)->method();
    return overwrites->method() == adds->method() ? adds->method() : ProductMethod::Own;
  }

  ProductProblem p;
  Products matmul;
  ProductMethod byRule;
  Accumulation accumulate;
  size_t required;
  bool hasBias;
};

} // namespace

DTCC_CPU_OP(MATMUL, MatmulOp)

} // namespace dtcc::rt
