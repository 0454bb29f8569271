//===- Losses.h - Losses as a sum and a count
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the rules of loss operators and by losses attached on the command line.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_LOSSES_H
#define DTCC_FRONTENDS_ONNX_LOSSES_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// Mean cross entropy with its sum and count; classes are the last dimension of `logits` [i.., c], `labels` is [i..].
Tensor crossEntropy(Emitter &emit, Tensor logits, Tensor labels, std::optional<int64_t> ignoreIndex);
/// log(1 + exp(x)), whose gradient is sigmoid(x) at 0 too. Null if `x` is.
Tensor softplus(Emitter &emit, const Tensor &x);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_LOSSES_H
