//===- ShapeList.cpp - Shapes of a search, in families
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/ShapeList.h"

namespace dtcc::plan {

void ShapeList::push_back(const Parallelism &shape) {
  ++count;
  if (!all.empty() && all.back().with(all.back().count) == shape)
    ++all.back().count;
  else
    all.push_back({shape});
}

} // namespace dtcc::plan
