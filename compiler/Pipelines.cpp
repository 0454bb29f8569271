//===- Pipelines.cpp - The compiler as lists of passes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines.h"
#include "dialects/exec/Exec.h"
#include "mlir/Transforms/Passes.h"
#include "passes/exec/Passes.h"

using namespace mlir;
using namespace dtcc;

void dtcc::buildExecPipeline(OpPassManager &manager, const Options &) {
  // Norms, softmax and rotary embedding as cells and sums, which kernels compute.
  manager.addPass(exec::createExpandComposites());
  manager.addPass(createCSEPass());
  // Neighbours that share their loops become one kernel: fewer passes over memory.
  manager.addPass(exec::createFuse());
  // Values become boxes of memory, ops commands.
  manager.addPass(exec::createBufferize());
  // Many commands look at the same boxes.
  manager.addPass(createCSEPass());
  // Boxes that live at different times share bytes.
  manager.addNestedPass<exec::ProgramOp>(exec::createPlanArena());
}

void dtcc::buildCodePipeline(OpPassManager &manager, const Options &) {
  manager.addPass(exec::createGenerateKernels());
}
