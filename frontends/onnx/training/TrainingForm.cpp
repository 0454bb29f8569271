//===- TrainingForm.cpp - Which form of training a file has
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/TrainingForm.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

FailureOr<std::optional<TrainingForm>> dtcc::onnx::takeTrainingForm(Model &model, const ImportOptions &options) {
  for (auto take : {takeTrainingInfo, takeRuntimeArtifacts}) {
    FailureOr<std::optional<TrainingForm>> form = take(model, options);
    if (failed(form) || *form)
      return form;
  }
  return std::optional<TrainingForm>();
}
