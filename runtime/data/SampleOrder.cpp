//===- SampleOrder.cpp - The endless order of the samples of a run -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/SampleOrder.h"

#include "runtime/core/Error.h"
#include "runtime/data/Permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtcc::rt {
namespace {

constexpr int64_t longestPeriod = 10000;

/// Whole numbers in the ratio of `weights` that sum to longestPeriod, divided by what all have in common.
std::vector<int64_t> sharesOf(const std::vector<double> &weights) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> shares;
  std::vector<std::pair<double, size_t>> rest; /* largest remainders get what rounding down leaves */
  int64_t left = longestPeriod;
  for (double weight : weights) {
    double exact = weight / sum * static_cast<double>(longestPeriod);
    // 0.7 of 10,000 must be 7,000, although 0.7 has no exact binary form.
    double whole = std::floor(exact + 1e-6);
    rest.push_back({whole - exact, shares.size()});
    shares.push_back(static_cast<int64_t>(whole));
    left -= shares.back();
  }
  std::sort(rest.begin(), rest.end());
  for (size_t i = 0; left > 0; ++i, --left)
    ++shares[rest[i % rest.size()].second];
  int64_t common = 0;
  for (int64_t each : shares)
    common = std::gcd(common, each);
  for (int64_t &each : shares)
    each /= common;
  return shares;
}

} // namespace

SampleOrder::SampleOrder(std::vector<Part> theParts, int64_t batch, std::optional<uint64_t> shuffle)
    : parts(std::move(theParts)), batch(batch), shuffle(shuffle) {
  for (const Part &part : parts)
    all += part.samples;
  if (!parts.empty() && parts[0].weight > 0)
    findTurns();
}

void SampleOrder::findTurns() {
  std::vector<double> weights;
  for (const Part &part : parts)
    weights.push_back(part.weight);
  share = sharesOf(weights);
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t i = 0; i < parts.size(); ++i)
    if (share[i] < 1 || weights[i] * static_cast<double>(longestPeriod) < sum * (1 - 1e-6))
      fail("the weight of a part must be at least a ten-thousandth of the sum of all, got: ", weights[i], " of ", sum);
  // Each turn goes to the part that is furthest behind its share.
  const int64_t period = std::accumulate(share.begin(), share.end(), int64_t(0));
  std::vector<int64_t> given(parts.size());
  for (int64_t turn = 1; turn <= period; ++turn) {
    auto behind = [&](size_t i) { return turn * share[i] - given[i] * period; };
    size_t next = 0;
    for (size_t i = 1; i < parts.size(); ++i)
      if (behind(i) > behind(next))
        next = i;
    turns.push_back({static_cast<uint32_t>(next), given[next]++});
  }
}

int64_t SampleOrder::sampleOf(size_t part, int64_t place, int64_t epoch) const {
  // Parts of one size must not have one order.
  constexpr uint64_t odd = 0x9e3779b97f4a7c15;
  if (shuffle)
    place = Permutation(parts[part].samples, *shuffle + part * odd, static_cast<uint64_t>(epoch))(place);
  return parts[part].first + place;
}

int64_t SampleOrder::operator()(int64_t position) const {
  if (turns.empty()) {
    // Samples behind the last full batch are left out of an epoch; shuffled, they are others in each.
    const int64_t perEpoch = all / batch * batch;
    int64_t epoch = position / perEpoch, place = position % perEpoch;
    if (shuffle)
      place = Permutation(all, *shuffle, static_cast<uint64_t>(epoch))(place);
    auto part = parts.begin();
    for (; place >= part->samples; ++part) // ends, because the parts have `all` samples together
      place -= part->samples;
    return part->first + place;
  }
  const auto period = static_cast<int64_t>(turns.size());
  const Turn &turn = turns[static_cast<size_t>(position % period)];
  int64_t number = position / period * share[turn.part] + turn.number, samples = parts[turn.part].samples;
  return sampleOf(turn.part, number % samples, number / samples);
}

} // namespace dtcc::rt
