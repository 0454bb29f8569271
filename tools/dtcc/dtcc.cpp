//===- dtcc.cpp - From a model to a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/ErrorStream.h"
#include "compiler/console/Version.h"
#include "compiler/driver/Driver.h"
#include "compiler/options/TargetOption.h"
#include "compiler/pipeline/RunPasses.h"
#include "dialects/AllDialects.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/InitLLVM.h"

#include "tools/dtcc/Summary.h"
#include "tools/model/AnnotateModel.h"
#include "tools/model/DeepStack.h"
#include "tools/model/Diagnostics.h"
#include "tools/model/LoadModel.h"

using namespace dtcc;

/// Reads the model and writes what was asked for; returns the exit status.
static int compile(Options &options, OutputFiles &files, const char *tool) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  printDiagnostics(context);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModel(context, options);
  if (!module)
    return kBadInput;
  if (options.emit == "onnx") {
    ModelShapes shapes(*module);
    return succeeded(compileModule(*module, options, files, tool)) &&
                   succeeded(writeAnnotatedModel(*module, shapes, options, files))
               ? kDone
               : kBadInput;
  }
  if (failed(compileModule(*module, options, files, tool)))
    return kBadInput;
  if (options.emit != "program")
    return kDone;
  llvm::Error error = printSummary(options.output, messageStream());
  return !error || succeeded(wrong(llvm::toString(std::move(error)))) ? kDone : kBadInput;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  endOnInterrupt(kInterrupted);
  Options options;
  if (failed(parseOptions(argc, argv, options)))
    return kWrongUsage;
  if (options.helpTable) {
    printHelpTable(llvm::outs());
    return kDone;
  }
  if (options.help || options.version) {
    options.help ? printHelp(llvm::outs()) : printVersion(llvm::outs(), "dtcc");
    return kDone;
  }
  if (failed(resolveTarget(options)))
    return kBadInput;
  OutputFiles files(options.output);
  llvm::StringRef weights[] = {kWeightsSuffix};
  if (failed(files.open({options.input, options.plan, options.weights},
                        options.emit == "program" ? llvm::ArrayRef(weights) : llvm::ArrayRef<llvm::StringRef>())))
    return kBadInput;
  if (failed(applyMlirOptions(options)))
    return kWrongUsage;
  return onDeepStack([&] { return compile(options, files, argv[0]); });
}
