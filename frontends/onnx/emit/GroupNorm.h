//===- GroupNorm.h - Normalisation of groups of channels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Group norms and, with one channel a group, instance norms are layer norms of the cells of
// each group.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_GROUPNORM_H
#define DTCC_FRONTENDS_ONNX_EMIT_GROUPNORM_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// A normalised image, and its statistics [n, groups].
struct GroupNorm {
  Tensor y, mean, rstd;
};

/// x [n, c, ..] normalised over the cells of each of `groups` runs of channels, then times scale [c], plus bias [c].
/// The groups must divide the channels.
GroupNorm normaliseGroups(Emitter &emit, const Tensor &x, int64_t groups, const Tensor &scale, const Tensor &bias,
                          double eps);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_GROUPNORM_H
