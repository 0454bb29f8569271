//===- Bufferize.cpp - The pass that gives every tensor a place in memory -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Passes.h"
#include "passes/exec/bufferize/Bufferizer.h"

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_BUFFERIZE
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;

namespace {
struct Bufferize : exec::impl::BufferizeBase<Bufferize> {
  using BufferizeBase::BufferizeBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<spmd::ProgramOp>())) {
      if (failed(exec::Bufferizer(program, getOperation(), symbols,
                                  {packsRows, plansWorkspace, usesHost, rowAlignment, splitsSums, channelsLast})
                     .run()))
        return signalPassFailure();
      program.erase();
    }
  }
};
} // namespace
