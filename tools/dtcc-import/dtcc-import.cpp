//===- tools/dtcc-import/dtcc-import.cpp - Prints what an ONNX file becomes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The importer alone, for tests and for looking: graph IR on stdout, weights left out
// unless asked for.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "frontends/onnx/Import.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

#include "tools/model/Diagnostics.h"

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("MODEL.onnx"));
static cl::list<std::string> bind("bind", cl::CommaSeparated, cl::desc("values of symbolic dimensions, NAME=N,..."));
static cl::opt<std::string> loss("loss", cl::desc("loss to attach, KIND:key=value,..."));
static cl::opt<std::string> lossOutput("loss-output", cl::desc("which output is the loss"));
static cl::opt<std::string> externalRoot("external-root", cl::desc("folder that external data may also lie in"));
static cl::list<std::string> trainable("trainable", cl::desc("glob of initializers that train, and no others"));
static cl::list<std::string> freeze("freeze", cl::desc("glob of initializers that do not train"));
static cl::list<std::string> tie("tie", cl::desc("A=B: two initializers that are one parameter"));
static cl::opt<std::string> trainMode("train-mode", cl::init("force"), cl::desc("force or as-is"));
static cl::opt<std::string> init("init", cl::init("model"), cl::desc("model or random"));
static cl::opt<bool> ownOptimizer("own-optimizer", cl::desc("as if an optimizer were given: leave the file's out"));
static cl::opt<bool> verbose("v", cl::desc("say which form the model has"));
static cl::opt<bool> weights("print-weights", cl::desc("print the weights too"));
static cl::opt<bool> quiet("no-print", cl::desc("only import"));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "dtcc-import: error: " << message << "\n";
  return 2;
}

int main(int argc, char **argv) {
  llvm::InitLLVM start(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "dtcc-import: ONNX to the graph dialect\n");
  dtcc::onnx::ImportOptions options;
  for (StringRef item : bind) {
    auto [name, text] = item.rsplit('=');
    int64_t value;
    if (name.empty() || text.getAsInteger(10, value))
      return fail("--bind takes NAME=N,..., got: " + item);
    options.bindings.emplace_back(name.str(), value);
  }
  if (!loss.empty()) {
    std::string error;
    options.loss = dtcc::onnx::LossSpec::parse(loss, error);
    if (!options.loss)
      return fail(error);
  }
  for (StringRef item : tie) {
    auto [a, b] = item.split('=');
    options.ties.emplace_back(a.str(), b.str());
  }
  if ((init != "model" && init != "random") || (trainMode != "force" && trainMode != "as-is"))
    return fail("--init takes model or random, --train-mode force or as-is");
  options.lossOutput = lossOutput;
  options.externalRoot = externalRoot;
  options.trainable.assign(trainable.begin(), trainable.end());
  options.freeze.assign(freeze.begin(), freeze.end());
  options.forceTraining = trainMode == "force";
  options.ownOptimizer = ownOptimizer;
  options.verbose = verbose;
  options.randomInit = init == "random";

  DialectRegistry registry;
  dtcc::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  dtcc::printDiagnostics(context);
  FailureOr<OwningOpRef<ModuleOp>> module = dtcc::onnx::importOnnx(&context, input, options);
  if (failed(module))
    return 1;
  if (!quiet) {
    OpPrintingFlags flags;
    if (!weights)
      flags.elideLargeElementsAttrs(64).elideLargeResourceString(0);
    (*module)->print(llvm::outs(), flags);
  }
  return 0;
}
