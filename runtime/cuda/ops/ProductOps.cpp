//===- ProductOps.cpp - Matrix products as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/kernels/Product.h"
#include "runtime/cuda/ops/Operands.h"

namespace dtcc::rt::cuda {
namespace {

void bindStrides(int64_t (&strides)[3], const dtcc_view &view) {
  for (int i = 0; i < 3; ++i)
    strides[i] = strideOf(view, i);
}

class MatmulOp final : public CudaOp {
public:
  explicit MatmulOp(const CheckedOperands &operands) {
    hasBias = operands.attributeCount() == 2 && operands.flag(1);
    required = hasBias ? 4 : 3;
    operands.expect(required, 2);
    const dtcc_view &lhs = operands.floats(0, "lhs", {-1, -1, -1});
    const dtcc_view &rhs =
        operands.tensor(1, "rhs", {lhs.sizes[0], lhs.sizes[2], -1}, static_cast<dtcc_dtype>(lhs.dtype));
    p.g = lhs.sizes[0], p.m = lhs.sizes[1], p.k = lhs.sizes[2], p.n = rhs.sizes[2];
    const dtcc_view &out = operands.floats(required - 1, "out", {p.g, p.m, p.n});
    p.type = lhs.dtype, p.outType = out.dtype;
    if (p.outType != p.type && p.outType != DTCC_F32)
      operands.reject("out must have the operands' element type or f32, got: ", int{out.dtype});
    bindStrides(p.lhsStrides, lhs);
    bindStrides(p.rhsStrides, rhs);
    bindStrides(p.outStrides, out);
    if (hasBias)
      p.biasStride = strideOf(operands.tensor(2, "bias", {p.n}), 0);
    accumulate = operands.accumulation(0);
  }
  void loadKernel(Launcher &launcher) { kernel = Kernel(launcher, "Product", "product"); }
  void run(Rank &rank, const Call &call) override {
    p.lhs = call.buffers[0], p.rhs = call.buffers[1], p.out = call.buffers[required - 1];
    if (hasBias)
      p.bias = address<const float>(call, 2);
    p.accumulate = accumulates(accumulate, rank);
    LaunchShape shape;
    shape.grid[0] = static_cast<unsigned>(productTiles(p.m, p.n));
    shape.grid[2] = static_cast<unsigned>(std::min<int64_t>(p.g, 65535));
    shape.block[0] = productThreads;
    kernel(call, shape, p);
  }

private:
  Product p = {};
  Accumulation accumulate;
  size_t required;
  bool hasBias;
  Kernel kernel;
};

} // namespace

template <>
std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_MATMUL>(const CheckedOperands &operands, Rank &rank, Launcher &launcher) {
  auto own = std::make_unique<MatmulOp>(operands); // checks the command
  // The library asks no predicate.
  if (!operands.isPredicated())
    if (std::unique_ptr<CudaOp> library = bindLibraryProduct(operands, rank, launcher))
      return library;
  own->loadKernel(launcher);
  return own;
}

} // namespace dtcc::rt::cuda
