//===- CompiledKernel.cpp - A generated kernel that can be called
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/codegen/CompiledKernel.h"
#include "compiler/emit/Ptx.h"
#include "compiler/emit/RoundBF16.h"
#include "compiler/options/CompileTarget.h"
#include "dialects/AllDialects.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "passes/exec/Passes.h"
#include "passes/exec/codegen/KernelGenerator.h"
#include "tests/emulator/ptx/Machine.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"

using namespace mlir;

namespace dtcc::test {

CompiledKernel::CompiledKernel(ModuleOp module, StringRef name, Run run) : run(run), name(name) {
  PassManager manager(module.getContext());
  manager.addPass(run == Run::Gpu ? exec::createGenerateGpuKernels() : exec::createGenerateKernels());
  if (run != Run::Gpu)
    exec::buildKernelLowering(manager);
  if (failed(manager.run(module)))
    return;
  // A mesh has said where shards lie: it is no code.
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
      op.erase();
  auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  auto number = [&](StringRef attr) { return kernel->getAttrOfType<IntegerAttr>(attr).getInt(); };
  if (!kernel)
    return;
  if (run == Run::Gpu) {
    grid = number("dtcc.grid");
    block = number("dtcc.block");
    FailureOr<std::unique_ptr<llvm::TargetMachine>> target = createGpuTarget("sm_90");
    FailureOr<std::string> made = succeeded(target) ? emitPtx(module, **target) : FailureOr<std::string>();
    if (succeeded(made))
      ptx = *made;
    return;
  }
  extent = number("dtcc.extent");
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  auto machine = host ? host->createTargetMachine() : host.takeError();
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return;
  }
  const llvm::TargetMachine &target = **machine;
  auto optimize = makeOptimizingTransformer(2, 0, nullptr);
  auto transform = [&](llvm::Module *made) {
    expandBF16Rounding(*made, target);
    return optimize(made);
  };
  ExecutionEngineOptions options;
  options.transformer = transform;
  auto made = ExecutionEngine::create(module, options);
  if (!made) {
    llvm::consumeError(made.takeError());
    return;
  }
  engine = std::move(*made);
  if (auto address = engine->lookup(name))
    function = *address;
  else
    llvm::consumeError(address.takeError());
}

std::string CompiledKernel::call(dtcc_rank &rank, std::vector<Buffer> buffers, const int32_t *predicate) {
  if (run == Run::Gpu)
    return ptx.empty() ? "there is no PTX" : launch(rank, buffers, predicate);
  if (!function)
    return "there is no code";
  std::vector<void *> starts;
  for (const Buffer &buffer : buffers)
    starts.push_back(buffer.start);
  auto called = reinterpret_cast<dtcc_kernel>(function);
  if (run == Run::Whole)
    called(&rank, starts.data(), 0, extent);
  else
    for (int64_t i = extent; i-- > 0;)
      called(&rank, starts.data(), i, i + 1);
  return "";
}

std::string CompiledKernel::launch(dtcc_rank &rank, const std::vector<Buffer> &buffers, const int32_t *predicate) {
  void *record = &rank;
  std::vector<const void *> parameters{&record, &predicate};
  for (const Buffer &buffer : buffers)
    parameters.push_back(&buffer.start);
  std::vector<Buffer> touched = buffers;
  touched.push_back({&rank, sizeof rank});
  if (predicate)
    touched.push_back({const_cast<int32_t *>(predicate), sizeof *predicate});
  if (rank.coordinates)
    touched.push_back({const_cast<int64_t *>(rank.coordinates), DTCC_MAX_AXES * sizeof(int64_t)});
  // Inputs that are written over are listed twice.
  emulator::DeviceMemory memory;
  for (const Buffer &buffer : touched)
    if (!memory.find(reinterpret_cast<uint64_t>(buffer.start))
             .holds(reinterpret_cast<uint64_t>(buffer.start), buffer.bytes))
      memory.add(buffer.start, buffer.bytes);
  emulator::Launch launch;
  launch.grid[0] = uint32_t(grid);
  launch.block[0] = uint32_t(block);
  launch.seed = 3; // blocks and warps in another order than on a processor
  launch.parameters = parameters.data();
  return emulator::problemOf(ptx, memory, name, launch);
}

DialectRegistry kernelDialects() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  return registry;
}

std::string runKernel(StringRef text, Run run, std::vector<Buffer> buffers) {
  MLIRContext context(kernelDialects());
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "not parsed: " + text.str();
  dtcc_rank rank{0, 1, 0, 0, 1, nullptr};
  return CompiledKernel(*module, "k", run).call(rank, std::move(buffers));
}

} // namespace dtcc::test
