//===- AllPasses.cpp - The list of passes of dtcc
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/AllPasses.h"
#include "mlir/Transforms/Passes.h"
#include "passes/exec/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/spmd/Passes.h"
#include "planner/model/Passes.h"

void dtcc::registerAllPasses() {
  mlir::registerTransformsPasses();
  graph::registerGraphPasses();
  spmd::registerSpmdPasses();
  spmd::registerPlannerPasses();
  exec::registerExecPasses();
}
