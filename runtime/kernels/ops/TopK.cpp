//===- TopK.cpp - The library op of the largest cells of rows -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Routers pick few of few: every pick walks the row once.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

/// Whether cell a stands before cell b: it is larger, or equal and earlier. NaN is larger than any number.
bool before(float a, int64_t at, float b, int64_t bt) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && (!std::isnan(b) || at < bt);
  return a > b || (a == b && at < bt);
}

class TopKOp final : public LibraryOp {
public:
  TopKOp(const CheckedOperands &operands, Rank &) {
    operands.expect(3, 0);
    x = operands.tensor(0, "x", {-1, -1});
    values = operands.tensor(1, "values", {x.sizes[0], -1});
    indices = operands.tensor(2, "indices", {x.sizes[0], values.sizes[1]}, DTCC_I64);
    if (values.sizes[1] > x.sizes[1])
      operands.reject("must pick at most ", x.sizes[1], " cells, got: ", values.sizes[1]);
  }
  void run(Rank &rank, void *const *buffers) override {
    auto *from = static_cast<const float *>(buffers[0]);
    auto *to = static_cast<float *>(buffers[1]);
    auto *where = static_cast<int64_t *>(buffers[2]);
    int64_t count = x.sizes[1], picked = values.sizes[1];
    int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(count * picked, 1));
    rank.team.parallelFor(x.sizes[0], grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float *cells = from + row * x.strides[0];
        int64_t last = -1;
        for (int64_t i = 0; i < picked; ++i) {
          // The first of those that stand after the last pick.
          int64_t best = -1;
          for (int64_t c = 0; c < count; ++c) {
            float cell = cells[c * x.strides[1]];
            if (last >= 0 && !before(cells[last * x.strides[1]], last, cell, c))
              continue;
            if (best < 0 || before(cell, c, cells[best * x.strides[1]], best))
              best = c;
          }
          to[row * values.strides[0] + i * values.strides[1]] = cells[best * x.strides[1]];
          where[row * indices.strides[0] + i * indices.strides[1]] = best;
          last = best;
        }
      }
    });
  }

private:
  dtcc_view x, values, indices;
};

} // namespace

DTCC_CPU_OP(TOP_K, TopKOp)

} // namespace dtcc::rt
