//===- GroupNorm.cpp - Normalisation of groups of channels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/GroupNorm.h"
#include "frontends/onnx/emit/Products.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

GroupNorm dtcc::onnx::normaliseGroups(Emitter &emit, const Tensor &x, int64_t groups, const Tensor &scale,
                                      const Tensor &bias, double eps) {
  OpBuilder &builder = emit.getBuilder();
  SmallVector<int64_t> split{shapeOf(x)[0], groups, shapeOf(x)[1] / groups};
  llvm::append_range(split, shapeOf(x).drop_front(2));
  Tensor cells = emit.reshape(x, split);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(2, rankOf(cells)));
  RankedTensorType statistics = typeLike(x, shapeOf(cells).take_front(2));
  RankedTensorType table = typeLike(x, shapeOf(cells).drop_front(2));
  auto op =
      graph::LayerNormOp::create(builder, emit.getLoc(), TypeRange{cells->type, statistics, statistics},
                                 emit.value(cells), emit.value(emit.splat(table, 1)), emit.value(emit.splat(table, 0)),
                                 builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(eps));
  Tensor y = emit.reshape(emit.fromValue(op.getY()), shapeOf(x));
  return {affineChannels(emit, y, scale, bias), emit.fromValue(op.getMean()), emit.fromValue(op.getRstd())};
}
