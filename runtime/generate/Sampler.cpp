//===- Sampler.cpp - The next token from logits -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/generate/Sampler.h"

#include "runtime/core/Error.h"
#include "runtime/core/Philox.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dtcc::rt {

int64_t pickToken(std::span<const float> logits, const GenerateOptions &options, uint64_t seed, uint64_t number) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isnan(logits[i]) || logits[i] == infinity)
      fail("the logit of token ", i, std::isnan(logits[i]) ? " is not a number" : " is infinite",
           ": the weights that generation starts from are bad, or a 16-bit type overflowed");
  auto largest = std::max_element(logits.begin(), logits.end());
  if (*largest == -infinity)
    fail("the logits of all tokens are -inf: the model allows no token here");
  if (options.temperature == 0)
    return largest - logits.begin();
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    float left = logits[static_cast<size_t>(a)], right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  });
  if (options.topK > 0)
    order.resize(std::min(order.size(), static_cast<size_t>(options.topK)));
  std::vector<double> sums;
  double sum = 0;
  for (int64_t token : order) {
    auto logit = static_cast<double>(logits[static_cast<size_t>(token)]);
    sums.push_back(sum += std::exp((logit - static_cast<double>(*largest)) / options.temperature));
  }
  double drawn = uniformElement(seed, streamOf("generate"), number) * sum;
  // The last sum is greater than what is drawn, but for rounding.
  auto at = std::min(std::upper_bound(sums.begin(), sums.end(), drawn), sums.end() - 1);
  return order[static_cast<size_t>(at - sums.begin())];
}

} // namespace dtcc::rt
