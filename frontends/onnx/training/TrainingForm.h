//===- TrainingForm.h - What a file says about its own training
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kinds of ONNX files are training graphs: models with TrainingInfoProto, and the
// training model of ONNX Runtime's artifacts. Each is reduced to a forward pass that
// ends in its loss, and to this description of the rest. Its backward pass is dropped:
// dtcc differentiates the loss itself. Anything in the file that the description cannot
// say is refused.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_TRAINING_TRAININGFORM_H
#define DTCC_FRONTENDS_ONNX_TRAINING_TRAININGFORM_H

#include "dialects/graph/Graph.h"
#include "frontends/onnx/file/ImportOptions.h"
#include "frontends/onnx/file/Model.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace dtcc::onnx {

struct TrainingForm {
  /// One line for the user: the kind of file, its loss, its optimizer.
  std::string summary;
  /// An attribute of the graph dialect; null where the caller brings the optimizer.
  mlir::Attribute optimizer;
  /// The global norm that gradients are clipped to; 0: off.
  double clip = 0;
  /// Initializers that train, and those of them that the optimizer decays.
  llvm::StringSet<> trained, decayed;
  /// Values of the optimizer's slots at the start, by parameter, where these are not all zeros.
  llvm::StringMap<std::vector<StoredTensor>> slots;
  /// Start values of initializers under --init=random, if the file gives them.
  llvm::StringMap<graph::InitAttr> starts;
};

/// Finds out whether `model` is a training graph. If so its graph becomes the forward pass, whose only output is the
/// loss. Nothing: it is none, and the graph is left alone. Failure after one message.
mlir::FailureOr<std::optional<TrainingForm>> takeTrainingForm(Model &model, const ImportOptions &options);

/// The two kinds; each is nothing where the file is not of its kind.
mlir::FailureOr<std::optional<TrainingForm>> takeTrainingInfo(Model &model, const ImportOptions &options);
mlir::FailureOr<std::optional<TrainingForm>> takeRuntimeArtifacts(Model &model, const ImportOptions &options);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_TRAINING_TRAININGFORM_H
