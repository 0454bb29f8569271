//===- CompiledKernel.cpp - A generated kernel that can be called
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/codegen/CompiledKernel.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "passes/exec/Passes.h"
#include "passes/exec/codegen/GpuKernelGenerator.h"
#include "passes/exec/codegen/KernelGenerator.h"
#include "tests/unit/codegen/EmulatedGpu.h"

using namespace mlir;

namespace dtcc::test {

CompiledKernel::CompiledKernel(ModuleOp module, StringRef name, Run run) : run(run) {
  PassManager manager(module.getContext());
  manager.addPass(run == Run::Gpu ? exec::createGenerateGpuKernels() : exec::createGenerateKernels());
  run == Run::Gpu ? exec::buildGpuKernelLowering(manager) : exec::buildKernelLowering(manager);
  if (failed(manager.run(module)))
    return;
  // A mesh has said where shards lie: it is no code.
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
      op.erase();
  kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (run == Run::Gpu)
    emulateGpu(module);
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(2, 0, nullptr);
  options.transformer = optimize;
  auto made = ExecutionEngine::create(module, options);
  if (!made) {
    llvm::consumeError(made.takeError());
    return;
  }
  engine = std::move(*made);
  if (run == Run::Gpu)
    bindEmulatedGpu(*engine);
  // A packed call takes one pointer to each argument, as a launch does.
  auto keep = [&](auto address) {
    if (address)
      function = reinterpret_cast<void *>(*address);
    else
      llvm::consumeError(address.takeError());
  };
  if (run == Run::Gpu)
    keep(engine->lookupPacked(name));
  else
    keep(engine->lookup(name));
}

bool CompiledKernel::call(dtcc_rank &rank, std::vector<void *> buffers) {
  if (!function)
    return false;
  if (run == Run::Gpu) {
    void *record = &rank;
    std::vector<void *> arguments{&record};
    for (void *&buffer : buffers)
      arguments.push_back(&buffer);
    return launch(reinterpret_cast<void (*)(void **)>(function), arguments, number("dtcc.grid"), number("dtcc.block"));
  }
  auto called = reinterpret_cast<dtcc_kernel>(function);
  int64_t extent = number("dtcc.extent");
  if (run == Run::Whole)
    called(&rank, buffers.data(), 0, extent);
  else
    for (int64_t i = extent; i-- > 0;)
      called(&rank, buffers.data(), i, i + 1);
  return true;
}

} // namespace dtcc::test
