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
#include "compiler/options/WorldsOption.h"
#include "compiler/pipeline/RunPasses.h"
#include "dialects/AllDialects.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include <chrono>
#include <set>

#include "tools/dtcc/Summary.h"
#include "tools/model/AnnotateModel.h"
#include "tools/model/DeepStack.h"
#include "tools/model/Diagnostics.h"
#include "tools/model/LoadModel.h"

using namespace dtcc;

/// Reads the model and compiles it by `options`: of a program one of its worlds. Messages that an earlier world had are
/// in `told`, and not repeated.
static mlir::LogicalResult compileWorld(Options &options, OutputFiles &files, ProgramParts &parts,
                                        std::set<std::string> &told) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  printDiagnostics(context, told);
  context.loadAllAvailableDialects();
  if (failed(enableRemarks(context, options)))
    return mlir::failure();
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModel(context, options);
  if (!module)
    return mlir::failure();
  if (options.emit != "onnx")
    return compileModule(*module, options, files, parts);
  ModelShapes shapes(*module);
  return mlir::success(succeeded(compileModule(*module, options, files, parts)) &&
                       succeeded(writeAnnotatedModel(*module, shapes, options, files)));
}

/// Compiles every world, and writes what was asked for; returns the exit status.
static int compile(std::vector<Options> &worlds, OutputFiles &files, const char *tool) {
  ProgramParts parts;
  std::set<std::string> told;
  for (size_t i = 0; i < worlds.size(); ++i) {
    auto begin = std::chrono::steady_clock::now();
    if (failed(compileWorld(worlds[i], files, parts, told)))
      return kBadInput;
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (worlds.size() > 1)
      messageStream() << llvm::formatv("world   {0} of {1} of --worlds={2}: {3} in {4:f1} s\n", i + 1, worlds.size(),
                                       worlds[i].worlds, worlds[i].cluster, time.count());
  }
  const Options &options = worlds.front();
  if (options.emit != "program")
    return kDone;
  if (failed(linkParts(parts, options, files, tool)))
    return kBadInput;
  llvm::Error error = printSummary(options.output, messageStream());
  return !error || succeeded(wrong(llvm::toString(std::move(error)))) ? kDone : kBadInput;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  prepareForCrashes(llvm::ArrayRef<const char *>(argv, argc));
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
  mlir::FailureOr<std::vector<Options>> worlds = optionsOfWorlds(options);
  if (failed(worlds))
    return kBadInput;
  for (Options &world : *worlds)
    if (failed(resolveTarget(world)))
      return kBadInput;
  OutputFiles files(options.output);
  llvm::StringRef weights[] = {kWeightsSuffix};
  if (failed(files.open({options.input, options.plan, options.weights},
                        options.emit == "program" && options.weightsIn == "file" ? llvm::ArrayRef(weights)
                                                                                 : llvm::ArrayRef<llvm::StringRef>())))
    return kBadInput;
  if (failed(applyMlirOptions(options)))
    return kWrongUsage;
  return onDeepStack([&] { return compile(*worlds, files, argv[0]); });
}
