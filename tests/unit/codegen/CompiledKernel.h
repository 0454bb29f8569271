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
#include <memory>
#include <string>
#include <vector>

namespace dtcc::test {

/// How a kernel is run: on a processor whole, or each iteration in a call of its own, last
/// ones first; on the threads of an emulated GPU.
enum class Run { Whole, Split, Gpu };

/// Memory that a kernel may touch.
struct Buffer {
  void *start;
  int64_t bytes;
};

/// The kernels of a module of exec.funcs, compiled in memory.
class CompiledKernel {
public:
  /// Generates code for all of the module and takes the kernel `name`. For a GPU it is the text
  /// that --emit=ptx prints.
  CompiledKernel(mlir::ModuleOp module, llvm::StringRef name, Run run);

  /// Runs the kernel and returns a description of what went wrong, or "". Errors are a missing
  /// kernel and, on a GPU, an access outside of the buffers, a misaligned access, a race, and a
  /// kernel that never ends. `predicate` is read by launches on a GPU alone, and may be null.
  std::string call(dtcc_rank &rank, std::vector<Buffer> buffers, const int32_t *predicate = nullptr);

private:
  std::string launch(dtcc_rank &rank, const std::vector<Buffer> &buffers, const int32_t *predicate);

  Run run;
  std::string name, ptx;
  int64_t grid = 1, block = 1, extent = 0;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void *function = nullptr;
};

/// All dialects, and what translates them to LLVM.
mlir::DialectRegistry kernelDialects();

/// Compiles the kernel `k` of a module's text and runs it as rank 0 of one: what went wrong, or "".
std::string runKernel(llvm::StringRef text, Run run, std::vector<Buffer> buffers);

} // namespace dtcc::test

#endif // DTCC_TESTS_UNIT_CODEGEN_COMPILEDKERNEL_H
