//===- ShapeList.cpp - Shapes of a search, in families
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/ShapeList.h"

namespace dtcc::plan {

/// The shape without what families in a row may differ in.
static Parallelism baseOf(Parallelism shape) {
  shape.schedule = {};
  shape.virtualStages = 1;
  return shape;
}

void ShapeList::add(const ShapeFamily &family) {
  const Parallelism base = baseOf(family.fewest);
  if (bases.empty() || bases.back() != base)
    bases.push_back(base);
  all.push_back({uint32_t(bases.size() - 1), family.fewest.schedule, int32_t(family.fewest.virtualStages),
                 int32_t(family.count)});
  count += size_t(family.count);
}

void ShapeList::push_back(const Parallelism &shape) {
  const bool continues = !all.empty() && all.back().schedule == shape.schedule &&
                         all.back().fewestStages + all.back().count == shape.virtualStages &&
                         bases.back() == baseOf(shape);
  if (!continues)
    return add({shape});
  ++all.back().count;
  ++count;
}

} // namespace dtcc::plan
