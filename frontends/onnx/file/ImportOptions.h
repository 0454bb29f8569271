//===- ImportOptions.h - What the user says about an import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of an import as a value: tools fill it in from their command lines, and
// every part of the importer reads it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FILE_IMPORTOPTIONS_H
#define DTCC_FRONTENDS_ONNX_FILE_IMPORTOPTIONS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
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
  /// The name of the output that is the loss; empty: the only scalar float output, if there is one.
  std::string lossOutput;
  /// Folder that may hold external data besides the model's own folder; empty if there is none.
  std::string externalRoot;
  /// Files that are going to be written: external data may be none of them.
  std::vector<std::string> outputs;
  /// Globs over the names of initializers: all that trains, and what of it does not. A whole name in `trainable` makes
  /// a parameter of any state.
  std::vector<std::string> trainable, freeze;
  /// Pairs of initializers that are one state.
  std::vector<std::pair<std::string, std::string>> ties;
  /// Switch dropout to training, listing what changed; false: as the file has it.
  bool forceTraining = true;
  /// The caller names the optimizer: that of a file which is a training graph is neither needed nor used.
  bool ownOptimizer = false;
  /// Whether to print the form of a model that brings no training of its own.
  bool verbose = false;
  /// Do not read the weights: every state gets an `init` by shape and role (matrices normal(0, 0.02), norm scales one,
  /// biases zero). Serves models whose file has no weight data.
  bool randomInit = false;
  /// Parameters come from a checkpoint: the file may lack their data, and then nobody asks for it here.
  bool hasWeights = false;
  /// Keep the file in the module, for programs that save it with other parameters.
  bool keepModel = false;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FILE_IMPORTOPTIONS_H
