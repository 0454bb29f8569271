//===- Activations.h - Values and slopes of activations --------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The references of activations and of the layers of experts that end in one share these.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_REFERENCE_ACTIVATIONS_H
#define DTCC_DIALECTS_GRAPH_REFERENCE_ACTIVATIONS_H

#include <cmath>

namespace dtcc::graph {

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

inline double silu(double x) { return x * logistic(x); }
inline double siluSlope(double x) {
  double s = logistic(x);
  return s * (1 + x * (1 - s));
}

// Written so that NaN stays NaN.
inline double relu(double x) { return x <= 0 ? 0 : x; }
/// 0 at 0, as PyTorch has it.
inline double reluSlope(double x) { return x > 0 ? 1 : 0; }

inline double geluExact(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }
inline double geluExactSlope(double x) {
  return 0.5 * (1 + std::erf(x * M_SQRT1_2)) + x * std::exp(-0.5 * x * x) * 0.3989422804014326779;
}

// sqrt(2 / pi), as GPT-2 has it.
constexpr double kGeluScale = 0.7978845608028653559, kGeluCube = 0.044715;
inline double geluTanh(double x) { return 0.5 * x * (1 + std::tanh(kGeluScale * (x + kGeluCube * x * x * x))); }
inline double geluTanhSlope(double x) {
  double t = std::tanh(kGeluScale * (x + kGeluCube * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCube * x * x);
}

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_REFERENCE_ACTIVATIONS_H
