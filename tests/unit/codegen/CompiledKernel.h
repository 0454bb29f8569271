//===- CompiledKernel.h - A generated kernel that can be called
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_CODEGEN_COMPILEDKERNEL_H
#define DTCC_TESTS_UNIT_CODEGEN_COMPILEDKERNEL_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "runtime/abi/dtcc_rt.h"

namespace dtcc::test {

/// How a kernel is run: on a processor whole, or each iteration in a call of its own, last
/// ones first; on the threads of an emulated GPU.
enum class Run { Whole, Split, Gpu };

/// The kernels of a module of exec.funcs, compiled in memory.
class CompiledKernel {
public:
  /// Generates code for all of the module and takes the kernel `name`.
  CompiledKernel(mlir::ModuleOp module, llvm::StringRef name, Run run);

  /// False if there is no such kernel, or if threads of a GPU wait for ones that never come.
  bool call(dtcc_rank &rank, std::vector<void *> buffers);

private:
  int64_t number(llvm::StringRef name) { return kernel->getAttrOfType<mlir::IntegerAttr>(name).getInt(); }

  Run run;
  mlir::LLVM::LLVMFuncOp kernel;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void *function = nullptr;
};

} // namespace dtcc::test

#endif // DTCC_TESTS_UNIT_CODEGEN_COMPILEDKERNEL_H
