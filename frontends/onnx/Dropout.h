//===- Dropout.h - Dropout of several operators
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the rule of Dropout and by those of ONNX Runtime's fused forms.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_DROPOUT_H
#define DTCC_FRONTENDS_ONNX_DROPOUT_H

#include "frontends/onnx/Rules.h"

namespace dtcc::onnx {

/// Drops cells of `x` out and defines result 1, the mask, if somebody uses it. The operands `ratio` and `training` of
/// the node hold the ratio, 0.5 if absent, and whether it trains, false if absent. Null: the error is out.
Tensor dropout(OpBinder &node, const Tensor &x, unsigned ratio, unsigned training);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_DROPOUT_H
