//===- LoadModel.cpp - Read the model of the command line
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "tools/model/LoadModel.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/console/StatusLine.h"
#include "compiler/driver/Driver.h"
#include "dialects/graph/SavedAs.h"
#include "frontends/onnx/Import.h"
#include "mlir/Parser/Parser.h"
#include "tools/model/CheckText.h"
#include "tools/model/TransformerGraph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <tuple>

using namespace mlir;
using namespace dtcc;

/// Splits "a=b"; false if there is no '='.
static bool splitPair(StringRef text, StringRef &name, StringRef &value) {
  std::tie(name, value) = text.split('=');
  name = name.trim();
  value = value.trim();
  return !name.empty() && !value.empty();
}

static LogicalResult fillImportOptions(const Options &options, onnx::ImportOptions &import) {
  SmallVector<StringRef> bindings;
  StringRef(options.bind).split(bindings, ',', -1, /*KeepEmpty=*/false);
  for (StringRef binding : bindings) {
    StringRef name, text;
    int64_t value = 0;
    if (!splitPair(binding, name, text) || text.getAsInteger(10, value) || value < 1)
      return wrong("--bind must give positive sizes as name=size,..., got: " + binding);
    import.bindings.emplace_back(name.str(), value);
  }
  if (!options.loss.empty()) {
    std::string error;
    import.loss = onnx::LossSpec::parse(options.loss, error);
    if (!import.loss)
      return wrong("--loss: " + error);
  }
  for (const std::string &tie : options.tie) {
    StringRef a, b;
    if (!splitPair(tie, a, b))
      return wrong("--tie must name two initializers as a=b, got: " + tie);
    import.ties.emplace_back(a.str(), b.str());
  }
  import.lossOutput = options.lossOutput;
  import.externalRoot = options.externalRoot;
  if (options.output != "-")
    import.outputs = {options.output, options.output + kWeightsSuffix.str()};
  import.trainable = options.trainable;
  import.freeze = options.freeze;
  import.forceTraining = options.trainMode != "as-is";
  import.verbose = options.verbose;
  import.ownOptimizer = !options.optimizer.empty();
  import.randomInit = options.init == "random";
  import.hasWeights = !options.weights.empty();
  import.keepModel = options.emit == "program";
  return success();
}

/// A model whose weights are halves is computed in these, unless --precision says otherwise.
static void adoptPrecision(ModuleOp module, Options &options) {
  auto type = module->getAttrOfType<TypeAttr>(graph::kParameterTypeAttr);
  if (!type || !options.precisionAssumed || !type.getValue().isIntOrFloat() ||
      type.getValue().getIntOrFloatBitWidth() > 16)
    return;
  std::string own = type.getValue().isBF16() ? "bf16" : "fp16";
  if (options.precision != own)
    module.emitRemark("products are computed in ")
        << own << ", as the model's weights are; --precision=f32 computes in f32";
  options.precision = own;
}

/// The graph of a model that is given by its sizes. --bind says its batch.
static OwningOpRef<ModuleOp> loadSizes(MLIRContext &context, const Options &options) {
  int64_t batch = 0;
  StringRef text = options.bind;
  if (!text.consume_front("batch=") || text.getAsInteger(10, batch) || batch < 1) {
    (void)wrong("a model by its sizes has a batch alone to bind, got: --bind=" + options.bind);
    return nullptr;
  }
  llvm::Expected<OwningOpRef<ModuleOp>> module = buildTransformer(context, *options.sizes, batch, options.input);
  if (module)
    return std::move(*module);
  (void)wrong("--transformer: " + llvm::toString(module.takeError()));
  return nullptr;
}

OwningOpRef<ModuleOp> dtcc::loadModel(MLIRContext &context, Options &options) {
  Status status("read " + options.input);
  if (options.sizes)
    return loadSizes(context, options);
  StringRef foreign = llvm::sys::path::extension(options.input);
  if (llvm::is_contained({".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".py", ".json", ".npy", ".md"}, foreign) ||
      (foreign != ".onnx" && foreign != ".mlir" && llvm::sys::fs::is_directory(options.input))) {
    emitError(NameLoc::get(StringAttr::get(&context, options.input)))
        << "a model must be an .onnx file, or .mlir text, got: "
        << (llvm::sys::fs::is_directory(options.input) ? StringRef("a folder") : foreign)
        << "; python -m dtcc_export writes the first";
    return nullptr;
  }
  if (!StringRef(options.input).ends_with(".onnx")) {
    auto text = llvm::MemoryBuffer::getFileOrSTDIN(options.input, /*IsText=*/true);
    if (!text) {
      emitError(NameLoc::get(StringAttr::get(&context, options.input)))
          << "cannot read the model: " << text.getError().message();
      return nullptr;
    }
    if (std::optional<TextProblem> problem = checkText((*text)->getBuffer())) {
      emitError(FileLineColLoc::get(&context, options.input, problem->line, problem->column)) << problem->message;
      return nullptr;
    }
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
    return parseSourceFile<ModuleOp>(sources, &context);
  }
  onnx::ImportOptions import;
  if (failed(fillImportOptions(options, import)))
    return nullptr;
  FailureOr<OwningOpRef<ModuleOp>> module = onnx::importOnnx(&context, options.input, import);
  if (failed(module))
    return nullptr;
  adoptPrecision(**module, options);
  return std::move(*module);
}
