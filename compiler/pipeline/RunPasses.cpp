//===- RunPasses.cpp - Runs lists of passes as the command line asks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/RunPasses.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/pipeline/AllPasses.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Regex.h"
#include <memory>

using namespace mlir;
using namespace dtcc;

/// The arguments for MLIR's parser that say the same as ours; failure after one message.
static LogicalResult addPrints(StringRef option, ArrayRef<std::string> passes, std::vector<std::string> &arguments) {
  for (const std::string &pass : passes) {
    if (!PassInfo::lookup(pass))
      return wrong("--" + option + " must name a pass that dtcc-opt --help lists, as exec-fuse, got: " + pass);
    arguments.push_back(("--mlir-" + option + "=" + pass).str());
  }
  return success();
}

static bool hasMlirOptions(const Options &options) {
  return !options.mlir.empty() || !options.printIrBefore.empty() || !options.printIrAfter.empty();
}

bool dtcc::showsPasses(const Options &options) { return options.timePasses || hasMlirOptions(options); }

Options dtcc::withoutShowing(Options options) {
  options.timePasses = false;
  options.mlir.clear();
  options.printIrBefore.clear();
  options.printIrAfter.clear();
  return options;
}

LogicalResult dtcc::applyMlirOptions(const Options &options) {
  if (!hasMlirOptions(options))
    return success();
  registerAllPasses();
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  std::vector<std::string> arguments = {"dtcc"};
  arguments.insert(arguments.end(), options.mlir.begin(), options.mlir.end());
  if (failed(addPrints("print-ir-before", options.printIrBefore, arguments)) ||
      failed(addPrints("print-ir-after", options.printIrAfter, arguments)))
    return failure();
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::cl::ParseCommandLineOptions(int(pointers.size()), pointers.data(), "", &stream))
    return success();
  return wrong("options that begin with --mlir- must be MLIR's, as dtcc-opt --help lists them, got: " +
               llvm::join(options.mlir, " "));
}

LogicalResult dtcc::enableRemarks(MLIRContext &context, const Options &options) {
  if (options.remarks.empty())
    return success();
  std::string problem;
  if (!llvm::Regex(options.remarks).isValid(problem))
    return wrong("--remarks must be a regular expression over names of passes (" + problem +
                 "), got: " + options.remarks);
  remark::RemarkCategories categories;
  categories.passed = categories.missed = options.remarks;
  return remark::enableOptimizationRemarks(context, /*streamer=*/nullptr,
                                           std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
                                           /*printAsEmitRemarks=*/true);
}

LogicalResult dtcc::runPasses(ModuleOp module, const Options &options, llvm::function_ref<void(OpPassManager &)> build,
                              bool verifies) {
  PassManager manager(module.getContext());
  manager.enableVerifier(verifies);
  if (options.timePasses)
    manager.enableTiming();
  if (hasMlirOptions(options)) {
    (void)applyPassManagerCLOptions(manager);
    applyDefaultTimingPassManagerCLOptions(manager);
  }
  build(manager);
  return manager.run(module);
}
