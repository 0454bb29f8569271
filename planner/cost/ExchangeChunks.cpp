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

/// `product(parts)`, `exchange(parts)`: seconds of those of one part.
template <typename Product, typename Exchange>
static ExchangeChunks choose(int64_t rows, double apart, const Constants &constants, Product product,
                             Exchange exchange) {
  ExchangeChunks best;
  double whole = 0;
  for (int64_t parts = 1; parts <= kMostParts; ++parts) {
    if (rows % parts)
      continue;
    double makes = product(parts), sends = exchange(parts);
    // All but one exchange run beside all but one product, as far as either lasts.
    double beside = double(parts - 1) * std::min(makes, sends);
    double seconds = double(parts) * (makes + sends) - beside + constants.contended * beside;
    seconds += parts > 1 ? apart : 0;
    if (parts == 1)
      whole = seconds;
    if (whole - seconds > best.saved)
      best = {parts, whole - seconds};
  }
  return best;
}

static double secondsOfPart(Gemm gemm, int64_t parts, const Kernels &kernels, const Constants &constants) {
  gemm.m /= double(parts);
  return std::max(kernels.seconds(gemm), constants.launch);
}

/// Seconds of the copies of one part, of those of the whole. A part of one row needs none.
static double copiesOfPart(double whole, int64_t rows, int64_t parts) {
  return parts > 1 && parts == rows ? 0 : whole / double(parts);
}

ExchangeChunks chunkExchange(const ChunkedProducts &given, const Kernels &kernels, const Collectives &collectives,
                             const Constants &constants) {
  return choose(
      given.rows, given.apart, constants,
      [&](int64_t parts) {
        double seconds = 0;
        for (const Gemm &gemm : given.products)
          seconds += secondsOfPart(gemm, parts, kernels, constants);
        return seconds;
      },
      [&](int64_t parts) {
        Transfer part = given.exchange;
        part.bytes /= double(parts);
        return collectives.seconds(part) + copiesOfPart(given.copies, given.rows, parts);
      });
}

double savedByChunks(const ChunkedExchange &given, const Kernels &kernels, const Constants &constants) {
  const double apart = given.apartBytes > 0 ? kernels.secondsForStream(given.apartBytes) : 0;
  return choose(
             given.rows, apart, constants,
             [&](int64_t parts) { return secondsOfPart(given.product, parts, kernels, constants); },
             [&](int64_t parts) {
               if (parts == 1)
                 return given.seconds;
               return given.start + (given.seconds - given.start - given.copies) / double(parts) +
                      copiesOfPart(given.copies, given.rows, parts);
             })
      .saved;
}

} // namespace dtcc::cost
