//===- Object.cpp - Kernels and image as an object file -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Object.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/emit/RoundBF16.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mlir;
using namespace dtcc;

FailureOr<std::unique_ptr<llvm::TargetMachine>> dtcc::createTarget(StringRef cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) {
    errorStream() << "no code generator for " << triple.str() << ": " << message << '\n';
    return failure();
  }
  std::string features;
  bool native = cpu.empty() || cpu == "native";
  if (native) {
    cpu = llvm::sys::getHostCPUName();
    for (auto &[feature, has] : llvm::sys::getHostCPUFeatures())
      features += (has ? "+" : "-") + feature.str() + ",";
  }
  // Asked first: a machine for an unknown processor prints its own complaints.
  std::unique_ptr<llvm::MCSubtargetInfo> processors(target->createMCSubtargetInfo(triple, "", ""));
  if (!processors || !processors->isCPUStringValid(cpu)) {
    errorStream() << "--mcpu must name a processor that LLVM knows, got: " << cpu << '\n';
    return failure();
  }
  // Kernels stream over memory: full vectors pay even where a core lowers its clock for them.
  if (triple.isX86())
    features += "-prefer-256-bit";
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine) {
    errorStream() << "no code generator for " << triple.str() << '\n';
    return failure();
  }
  return machine;
}

/// Runs the passes on the kernels. What they complain about is MLIR, of which users know nothing: they are told the
/// node.
static LogicalResult lowerKernels(ModuleOp kernels, llvm::function_ref<void(OpPassManager &)> lower) {
  PassManager manager(kernels.getContext());
  lower(manager);
  std::optional<Location> culprit;
  {
    ScopedDiagnosticHandler keep(kernels.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      culprit = culprit.value_or(diagnostic.getLocation());
      return success();
    });
    if (succeeded(manager.run(kernels)))
      return success();
  }
  return emitError(culprit.value_or(kernels.getLoc()),
                   "no machine code can be generated for what this node computes: write it with other operators, and "
                   "report it as a defect of dtcc");
}

std::unique_ptr<llvm::Module> dtcc::translateKernels(ModuleOp module, llvm::LLVMContext &context,
                                                     llvm::function_ref<void(OpPassManager &)> lower) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  for (Operation &op : *module.getBody())
    if (isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
      kernels->push_back(op.clone());
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  if (failed(lowerKernels(*kernels, lower)))
    return nullptr;
  return translateModuleToLLVMIR(*kernels, context, "dtcc");
}

/// The section of the rows dtcc_world. The linker defines __start_ and __stop_ with the name of such a section.
static constexpr StringLiteral kWorlds = "dtcc_worlds";

void dtcc::addWorld(llvm::Module &module, const Image &image, int64_t ranks) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  llvm::Type *i32 = llvm::Type::getInt32Ty(context), *i64 = llvm::Type::getInt64Ty(context);
  // Kernels of different worlds have the same names.
  for (llvm::GlobalValue &value : module.global_values())
    if (!value.isDeclaration())
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
  auto constant = [&](llvm::Constant *value, const char *name, unsigned alignment) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::InternalLinkage, value, name);
    global->setAlignment(llvm::Align(alignment));
    return global;
  };
  auto *bytes = llvm::ConstantDataArray::getString(context, StringRef(image.bytes.data(), image.bytes.size()), false);
  llvm::GlobalVariable *imageGlobal = constant(bytes, "dtcc_image", 64);
  SmallVector<llvm::Constant *> table;
  for (const std::string &kernel : image.kernels)
    table.push_back(module.getFunction(kernel));
  auto *type = llvm::ArrayType::get(pointer, table.size());
  llvm::GlobalVariable *kernels = constant(llvm::ConstantArray::get(type, table), "dtcc_kernels", 8);
  llvm::GlobalVariable *world =
      constant(llvm::ConstantStruct::getAnon({imageGlobal, kernels, llvm::ConstantInt::get(i64, table.size()),
                                              llvm::ConstantInt::get(i64, ranks)}),
               "dtcc_world", 8);
  world->setSection(kWorlds);
  // The runtime finds the section by the linker's symbols alone, so without this the optimizer would drop it.
  llvm::appendToCompilerUsed(module, {world});

  auto bound = [&](const char *side) {
    auto *global = new llvm::GlobalVariable(module, i64, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                                            nullptr, side + kWorlds);
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return global;
  };
  llvm::GlobalVariable *first = bound("__start_"), *last = bound("__stop_");
  llvm::FunctionCallee runtime =
      module.getOrInsertFunction("dtcc_main", llvm::FunctionType::get(i32, {i32, pointer, pointer, pointer}, false));
  // Every world has the same one, and the linker keeps one.
  auto *main = llvm::Function::Create(llvm::FunctionType::get(i32, {i32, pointer}, false),
                                      llvm::GlobalValue::WeakODRLinkage, "main", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", main));
  builder.CreateRet(builder.CreateCall(runtime, {main->getArg(0), main->getArg(1), first, last}));
}

LogicalResult dtcc::writeObject(llvm::Module &module, llvm::TargetMachine &target, StringRef path) {
  module.setTargetTriple(target.getTargetTriple());
  module.setDataLayout(target.createDataLayout());
  // Functions carry their target, or inlining and vectorization see a plain processor.
  for (llvm::Function &function : module) {
    function.addFnAttr("target-cpu", target.getTargetCPU());
    function.addFnAttr("target-features", target.getTargetFeatureString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  expandBF16Rounding(module, target);
  auto fail = [&](const llvm::Twine &message) {
    llvm::WithColor::error() << message << '\n';
    return failure();
  };
  if (llvm::Error error = makeOptimizingTransformer(3, 0, &target)(&module))
    return fail("optimization failed: " + llvm::toString(std::move(error)));
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (code)
    return fail("cannot write " + path + ": " + code.message());
  llvm::legacy::PassManager manager;
  if (target.addPassesToEmitFile(manager, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return fail("the code generator cannot write object files");
  manager.run(module);
  stream.flush();
  if (std::error_code error = stream.error()) {
    stream.clear_error(); // else LLVM ends the process
    return fail("cannot write " + path + ": " + error.message());
  }
  return success();
}
