//===- KernelMessageTest.cpp - What users read of kernels that cannot be lowered
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Object.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "passes/exec/codegen/KernelGenerator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtcc;

/// Integer powers of MLIR have no lowering, so that no op of ours may make them.
TEST(KernelMessage, NamesTheNodeInsteadOfTheIr) {
  MLIRContext context;
  context.loadDialect<LLVM::LLVMDialect, math::MathDialect>();
  auto module = parseSourceString<ModuleOp>(R"mlir(
llvm.func @k(%x: i64) -> i64 {
  %y = math.ipowi %x, %x : i64 loc("node 'area' (Pow)")
  llvm.return %y : i64
})mlir",
                                            &context);
  ASSERT_TRUE(module);
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    std::string place;
    llvm::raw_string_ostream(place) << diagnostic.getLocation();
    errors.push_back(place + diagnostic.str());
    return success();
  });
  llvm::LLVMContext code;
  EXPECT_FALSE(translateKernels(*module, code, exec::buildKernelLowering));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("node 'area' (Pow)"), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find("no machine code can be generated"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[0].find("math."), std::string::npos) << errors[0];
}
