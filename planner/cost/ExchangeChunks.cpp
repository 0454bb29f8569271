//===- ExchangeChunks.cpp - Into how many parts a product and its exchange are cut
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cost/ExchangeChunks.h"
#include <algorithm>

namespace dtcc::cost {

/// More parts would save less than a tenth of the exchange beyond these.
static constexpr int64_t kMostParts = 8;

ExchangeChunks chunkExchange(const ChunkedProducts &given, const Kernels &kernels, const Collectives &collectives,
                             const Constants &constants) {
  ExchangeChunks best;
  double whole = 0;
  for (int64_t parts = 1; parts <= kMostParts; parts *= 2) {
    if (given.rows % parts)
      break;
    double product = 0;
    for (Gemm gemm : given.products) {
      gemm.m /= double(parts);
      product += std::max(kernels.seconds(gemm), constants.launch);
    }
    Transfer part = given.exchange;
    part.bytes /= double(parts);
    double exchange = collectives.seconds(part);
    // All but one exchange run beside all but one product, as far as either lasts.
    double beside = double(parts - 1) * std::min(product, exchange);
    double seconds = double(parts) * (product + exchange) - beside + constants.contended * beside;
    if (parts == 1)
      whole = seconds;
    if (whole - seconds > best.saved)
      best = {parts, whole - seconds};
  }
  return best;
}

} // namespace dtcc::cost
