//===- Import.h - ONNX files to the graph dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One topological pass that folds and infers: every ONNX value is either known now
// (shape arithmetic, positions, small constants) or a value of static type. What
// the file does not say about training (docs/onnx-import.md) is mended with a
// note where it can be inferred, and refused where not.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_IMPORT_H
#define DTCC_FRONTENDS_ONNX_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtcc::onnx {

/// A loss to attach to a forward graph: `cross_entropy:logits=NAME,labels=NAME,shift=1,ignore_index=-100`,
/// `mse:prediction=NAME,target=NAME`, `l1:` likewise, `bce:logits=NAME,labels=NAME` (with logits).
struct LossSpec {
  std::string kind;
  llvm::StringMap<std::string> options;
  /// Reads the command line's form; `error` receives what is wrong.
  static std::optional<LossSpec> parse(llvm::StringRef text, std::string &error);
};

struct ImportOptions {
  /// Values of symbolic dimensions, in the order given.
  std::vector<std::pair<std::string, int64_t>> bindings;
  std::optional<LossSpec> loss;
  /// Which output is the loss; empty: the only scalar float output, if there is one.
  std::string lossOutput;
  /// Folder that may hold external data besides the model's own folder; empty if there is none.
  std::string externalRoot;
  /// Files that are going to be written: external data may be none of them.
  std::vector<std::string> outputs;
  /// Globs over the names of initializers; the later of trainable and freeze wins where both match.
  std::vector<std::string> trainable, freeze;
  /// Pairs of initializers that are one state.
  std::vector<std::pair<std::string, std::string>> ties;
  /// Switch dropout to training, listing what changed; false: as the file has it.
  bool forceTraining = true;
  /// Do not read the weights: every state gets an `init` by shape and role (matrices normal(0, 0.02), norm scales one,
  /// biases zero). Serves models whose file has no weight data.
  bool randomInit = false;
  /// Parameters come from a checkpoint: the file may lack their data, and then nobody asks for it here.
  bool hasWeights = false;
  /// Keep the file in the module, for programs that save it with other parameters.
  bool keepModel = false;
};

/// Imports the model at `path`. Problems are diagnostics of `context`: one error, located at the file or node, or one
/// error that lists all unsupported nodes; notes on mends are remarks. The module's resources hold mappings of the
/// external data, so weights are never copied; they end with the context.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(mlir::MLIRContext *context, llvm::StringRef path,
                                                              const ImportOptions &options);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_IMPORT_H
