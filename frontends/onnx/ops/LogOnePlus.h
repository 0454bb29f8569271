//===- ops/LogOnePlus.h - Logarithms of what is near 1 -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_OPS_LOGONEPLUS_H
#define DTCC_FRONTENDS_ONNX_OPS_LOGONEPLUS_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// log(1 + x) for x from 0 to 1, to all digits of f32 however small x is, where the logarithm of a rounded sum has none
/// left. Its gradient is 1 / (1 + x), as exact. Halves are computed in f32. Null if `x` is.
Tensor logOnePlus(Emitter &emit, const Tensor &x);

/// Builds log(1 + x) as `logOnePlus` does, for any x >= 0.
Tensor logOnePlusAny(Emitter &emit, const Tensor &x);

/// log(1 + exp(x)), which neither overflows nor vanishes below 0. Its gradient is sigmoid(x), at 0 too.
Tensor softplus(Emitter &emit, const Tensor &x);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_OPS_LOGONEPLUS_H
