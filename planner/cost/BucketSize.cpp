//===- BucketSize.cpp - How much to reduce at a time
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/BucketSize.h"
#include <cmath>

namespace dtcc::cost {

double bucketBytes(double total, double latencyBytes) { return std::sqrt(total * latencyBytes); }

} // namespace dtcc::cost
