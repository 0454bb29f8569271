//===- AllDialects.cpp - The list of dialects of dtcc
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

void dtcc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect>();
  registry.insert<graph::GraphDialect, spmd::SpmdDialect, exec::ExecDialect>();
}
