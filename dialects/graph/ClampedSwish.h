//===- ClampedSwish.h - The activation of GPT-OSS's experts ----- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_CLAMPEDSWISH_H
#define DTCC_DIALECTS_GRAPH_CLAMPEDSWISH_H

namespace dtcc::graph {

/// ExpertActivation::clamped_swish is g * logistic(scale * g) * (u + 1), with g = min(gate, limit) and u = up between
/// -limit and limit. The numbers are fixed in OpenAI's model (github.com/openai/gpt-oss, `swiglu`).
constexpr double kSwishScale = 1.702, kSwishLimit = 7;

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_CLAMPEDSWISH_H
