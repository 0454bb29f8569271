//===- Parallel.cpp - Degrees of a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Parallel.h"
#include <algorithm>

namespace dtcc::cost {

Parallel Parallel::ofExperts() const {
  Parallel plan = *this;
  plan.tp = splitsExperts() ? tp * ep : ep;
  plan.cp = plan.ep = 1;
  plan.dp = std::max<int64_t>(1, ranks() / pp / plan.tp);
  if (shareGroup > 0)
    plan.shareGroup = std::max<int64_t>(1, shareGroup / ep);
  return plan;
}

} // namespace dtcc::cost
