//===- dtcc.cpp - From a model to a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver.h"
#include "compiler/Planning.h"
#include "dialects/AllDialects.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

#include "tools/model/Diagnostics.h"
#include "tools/model/LoadModel.h"

using namespace dtcc;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  endOnInterrupt(kInterrupted);
  Options options;
  if (failed(parseOptions(argc, argv, options)))
    return kWrongUsage;
  if (options.help) {
    printHelp(llvm::outs());
    return kDone;
  }
  mlir::FailureOr<bool> elsewhere = resolveCluster(options);
  if (failed(elsewhere))
    return kBadInput;
  if (*elsewhere && options.plan.empty() && (options.emit == "program" || options.emit == "llvm")) {
    llvm::WithColor::error(llvm::errs(), "dtcc")
        << "programs are for the cores of this machine in this version; --emit=plan writes a plan for --cluster="
        << options.cluster << ", which --plan compiles for --cluster=cpu\n";
    return kBadInput;
  }
  OutputFiles files(options.output);
  llvm::StringRef weights[] = {kWeightsSuffix};
  if (failed(files.open({options.input, options.plan},
                        options.emit == "program" ? llvm::ArrayRef(weights) : llvm::ArrayRef<llvm::StringRef>())))
    return kBadInput;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  printDiagnostics(context);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModel(context, options);
  return module && succeeded(compileModule(*module, options, files, argv[0])) ? kDone : kBadInput;
}
