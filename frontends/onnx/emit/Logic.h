//===- Logic.h - And, or, not
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flags that are known decide: a mask that is all true makes no op.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_LOGIC_H
#define DTCC_FRONTENDS_ONNX_EMIT_LOGIC_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

Tensor logicalAnd(Emitter &emit, const Tensor &x, const Tensor &y);
Tensor logicalOr(Emitter &emit, const Tensor &x, const Tensor &y);
Tensor logicalNot(Emitter &emit, const Tensor &x);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_LOGIC_H
