//===- Passes.h - Passes that search for plans
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PLANNER_MODEL_PASSES_H
#define DTCC_PLANNER_MODEL_PASSES_H

#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dtcc::spmd {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "planner/model/Passes.h.inc"
} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_PASSES_H
