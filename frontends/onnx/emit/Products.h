//===- Products.h - Products of matrices and channels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// numpy's matmul as a contraction with a letter a dimension.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_PRODUCTS_H
#define DTCC_FRONTENDS_ONNX_EMIT_PRODUCTS_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// numpy's matmul.
Tensor matmul(Emitter &emit, const Tensor &x, const Tensor &y);
Tensor contract(Emitter &emit, llvm::StringRef spec, const Tensor &x, const Tensor &y);
/// x [n, c, ..] times scale [c], plus bias [c]. Null, ones and zeros, which exporters write for none, make no op.
Tensor affineChannels(Emitter &emit, const Tensor &x, const Tensor &scale, const Tensor &bias);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_PRODUCTS_H
