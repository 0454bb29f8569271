//===- SpikeGuard.cpp - How large a gradient may be -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/health/SpikeGuard.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtcc::rt {

SpikeGuard::SpikeGuard(double ratio, std::vector<float> norms) : most(ratio), last(std::move(norms)) {
  if (most == 0)
    last.clear();
  else if (last.size() > window)
    last.erase(last.begin(), last.end() - window);
}

void SpikeGuard::add(double norm) {
  if (most == 0 || !std::isfinite(norm)) // a loss scale lets such steps pass
    return;
  if (last.size() == window)
    last.erase(last.begin());
  last.push_back(static_cast<float>(norm));
}

float SpikeGuard::median() const {
  std::vector<float> sorted = last;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  return sorted[sorted.size() / 2];
}

float SpikeGuard::limit() const {
  if (last.size() < window)
    return std::numeric_limits<float>::infinity();
  return static_cast<float>(most * static_cast<double>(median()));
}

} // namespace dtcc::rt
