//===- Parallelism.cpp - How the training of a model is parallelised
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/parallelism/Parallelism.h"
#include <algorithm>

namespace dtcc::plan {

MeshSizes Parallelism::meshSizes() const { return {meshDp(), tp, cp, ep, pp, groups, foldsExperts()}; }

void Parallelism::setDegrees(const MeshSizes &sizes) {
  tp = sizes.tp.value_or(tp);
  cp = sizes.cp.value_or(cp);
  ep = sizes.ep.value_or(ep);
  pp = sizes.pp.value_or(pp);
  if (!sizes.dp)
    return;
  dp = *sizes.dp * (sizes.foldsExperts ? 1 : ep);
  groups = sizes.groups;
}

cost::Group Parallelism::shareGroup() const { return {std::max<int64_t>(1, cp * dp / groups), tp}; }

Parallelism Parallelism::ofExperts() const {
  Parallelism experts = *this;
  experts.tp = splitsExperts() ? tp * ep : ep;
  experts.cp = experts.ep = 1;
  experts.dp = std::max<int64_t>(1, ranks() / pp / experts.tp);
  return experts;
}

} // namespace dtcc::plan
