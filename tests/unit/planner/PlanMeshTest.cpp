//===- PlanMeshTest.cpp - The mesh of a Parallelism, and back
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/plan/Plan.h"
#include "planner/search/ShapeSearch.h"
#include "gtest/gtest.h"

using namespace dtcc::plan;

namespace {

/// A plan's mesh has the ranks of its parallelism, which is read off it again.
TEST(PlanMesh, RoundTrip) {
  ShapeSpace space;
  space.devices = 16;
  space.batch = 16;
  space.tp = space.cp = space.ep = space.pp = {1, 2, 4};
  space.layers = 8;
  space.hostOptimizer = space.sequenceParallel = space.stationaryWeights = {false, true};
  for (int64_t groups : {1, 2}) {
    space.groups = groups;
    for (Parallelism shape : enumerateShapes(space)) {
      if (shape.foldsExperts())
        continue;
      shape.recompute = Recompute::Selective;
      Plan plan = makeDefaultPlan(shape);
      EXPECT_EQ(plan.mesh.ranks(), shape.ranks()) << shape.str();
      EXPECT_EQ(plan.mesh.product(plan.batchAxes), shape.dp * shape.microbatches) << shape.str();
      EXPECT_EQ(plan.mesh.product(plan.flatAxes), shape.shareGroup().ranks) << shape.str();
      EXPECT_EQ(parallelismOf(plan), shape) << shape.str();
    }
  }
}

} // namespace
