//===- Product.cpp - A product of matrices, and what follows it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cublaslt/Product.h"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace dtcc::emulator {

// cudaDataType
constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kBF16 = 14;
// cublasComputeType_t
constexpr int kCompute32 = 68, kCompute32Pedantic = 69, kComputeTf32 = 77, kCompute64 = 70;

static Element elementOf(int type) {
  return type == kF64 ? Element::F64 : type == kF16 ? Element::F16 : type == kBF16 ? Element::BF16 : Element::F32;
}
static bool isKnownType(int type) { return type == kF32 || type == kF64 || type == kF16 || type == kBF16; }

Element Layout::element() const { return elementOf(type); }
bool Layout::isKnown() const { return isKnownType(type) && (order == 0 || order == 1); }
int64_t Layout::span() const {
  if (rows == 0 || columns == 0 || batches == 0)
    return 0;
  return at(int64_t(rows) - 1, int64_t(columns) - 1) + 1 + (batches - 1) * batchStride;
}

Element Product::biasElement() const { return how.biasType >= 0 ? elementOf(how.biasType) : d.element(); }
Element Product::auxElement() const { return how.auxType >= 0 ? elementOf(how.auxType) : d.element(); }

const char *Product::problem() const {
  uint64_t m = how.transposeA ? a.columns : a.rows, k = how.transposeA ? a.rows : a.columns;
  uint64_t otherK = how.transposeB ? b.columns : b.rows, n = how.transposeB ? b.rows : b.columns;
  if (m != d.rows || n != d.columns || k != otherK || c.rows != d.rows || c.columns != d.columns)
    return "sizes of the matrices do not fit";
  for (const Layout *layout : {&a, &b, &c, &d}) {
    if (!layout->isKnown())
      return "a type or an order that the emulator does not know";
    if (layout->leading < int64_t(layout->order == 1 ? layout->columns : layout->rows))
      return "a leading dimension less than a column";
    if (layout->batches != d.batches)
      return "matrices of another number of batches";
  }
  if (a.type != b.type || c.type != d.type || (d.type != a.type && d.type != kF32))
    return "types that cublasLt has no product for";
  bool pedantic = how.computeType == kCompute32 || how.computeType == kCompute32Pedantic;
  bool doubles = a.type == kF64;
  if (doubles ? how.computeType != kCompute64 : !pedantic && !(how.computeType == kComputeTf32 && a.type == kF32))
    return "a compute type that cublasLt has no product for";
  if (how.scaleType != (doubles ? kF64 : kF32) || how.pointerMode != 0)
    return "alpha and beta must be f32 on the host";
  return epilogueProblem();
}

const char *Product::epilogueProblem() const {
  // cublasLtEpilogue_t but for those with relu's bit mask.
  static constexpr uint32_t known[] = {kPlain,
                                       kRelu,
                                       kBias,
                                       kRelu | kBias,
                                       kGelu,
                                       kGelu | kAux,
                                       kGelu | kBias,
                                       kGelu | kAux | kBias,
                                       kGeluGradient | kAux,
                                       kGeluGradient | kAux | kBiasGradient,
                                       kBiasGradientA,
                                       kBiasGradientB};
  if (std::find(std::begin(known), std::end(known), how.epilogue) == std::end(known))
    return "an epilogue that cublasLt has not or the emulator does not know";
  // CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: elements as those of the output, but for int8 and fp8.
  if (how.usesBias() && biasElement() != d.element())
    return "a bias or its gradient of another type than the output";
  if (!how.has(kAux))
    return nullptr;
  // CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, _BATCH_STRIDE, _DATA_TYPE.
  if (how.auxLeading < rows())
    return "an auxiliary matrix with a leading dimension less than a column";
  if (how.auxLeading % 8 != 0 || (d.batches > 1 && how.auxStride % 8 != 0))
    return "an auxiliary matrix whose leading dimension or batch stride does not divide by 8";
  if (auxElement() != d.element())
    return "an auxiliary matrix of another type than the output";
  if (reinterpret_cast<uint64_t>(how.aux) % 16 != 0)
    return "an auxiliary matrix that is not aligned to 16 bytes";
  return nullptr;
}

static double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
static double geluSlope(double x) {
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x), t = std::tanh(inner);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/// TF32 keeps 10 bits behind the point.
static float toTf32(float x) {
  auto bits = std::bit_cast<uint32_t>(x);
  return std::isfinite(x) ? std::bit_cast<float>((bits + 0x1000) & ~0x1fffu) : x;
}

void Product::run() const {
  int64_t m = rows(), n = columns(), k = depth();
  bool tf32 = how.computeType == kComputeTf32;
  std::vector<float> left(size_t(m * k)), right(size_t(k * n)), sum(size_t(m * n));
  std::vector<double> gradient(size_t(biasCells()), 0.0);
  auto value = [&](const char *data, const Layout &layout, int64_t batch, int64_t row, int64_t column) {
    auto cell = float(loadFloat(data, batch * layout.batchStride + layout.at(row, column), layout.element()));
    return tf32 ? toTf32(cell) : cell;
  };
  for (int64_t batch = 0; batch < d.batches; ++batch) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l)
        left[size_t(i * k + l)] = how.transposeA ? value(aData, a, batch, l, i) : value(aData, a, batch, i, l);
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        right[size_t(l * n + j)] = how.transposeB ? value(bData, b, batch, j, l) : value(bData, b, batch, l, j);
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l) {
        float factor = left[size_t(i * k + l)];
        float *to = &sum[size_t(i * n)];
        const float *from = &right[size_t(l * n)];
        for (int64_t j = 0; j < n; ++j)
          to[j] += factor * from[j];
        for (int64_t j = 0; roundsParts && l % 8 == 7 && j < n; ++j) {
          char cell[8];
          storeFloat(cell, 0, d.element(), to[j]);
          to[j] = float(loadFloat(cell, 0, d.element()));
        }
      }
    if (how.has(kBiasGradientA) || how.has(kBiasGradientB))
      for (int64_t l = 0; l < k; ++l)
        for (int64_t i = 0; i < biasCells(); ++i)
          gradient[size_t(i)] += how.has(kBiasGradientA) ? left[size_t(i * k + l)] : right[size_t(l * n + i)];
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) {
        double x = alpha * sum[size_t(i * n + j)];
        // With beta 0 what stands in C is not read: it may be no number.
        if (beta != 0)
          x += beta * loadFloat(cData, batch * c.batchStride + c.at(i, j), c.element());
        if (how.has(kBias))
          x += loadFloat(biasData, batch * how.biasStride + i, biasElement());
        int64_t auxAt = batch * how.auxStride + i + j * how.auxLeading;
        if (how.has(kGelu)) {
          if (how.has(kAux))
            storeFloat(auxData, auxAt, auxElement(), x);
          x = gelu(x);
        } else if (how.has(kGeluGradient)) {
          x *= geluSlope(loadFloat(auxData, auxAt, auxElement()));
        } else if (how.has(kRelu)) {
          x = x < 0 ? 0 : x;
        }
        if (how.has(kBiasGradient))
          gradient[size_t(i)] += x;
        storeFloat(dData, batch * d.batchStride + d.at(i, j), d.element(), x);
      }
  }
  if (how.has(kBiasGradient) || how.has(kBiasGradientA) || how.has(kBiasGradientB))
    for (int64_t i = 0; i < biasCells(); ++i)
      storeFloat(biasData, i, biasElement(), gradient[size_t(i)]);
}

} // namespace dtcc::emulator
