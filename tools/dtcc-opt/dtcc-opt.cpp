//===- dtcc-opt.cpp - Runs passes on text
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with dtcc's dialects and passes: for tests, and for looking at one pass.
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/AllPasses.h"
#include "compiler/pipeline/Pipelines.h"
#include "dialects/AllDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dtcc::registerAllDialects(registry);
  dtcc::registerAllPasses();
  dtcc::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "dtcc: passes on text\n", registry));
}
