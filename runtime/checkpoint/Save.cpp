//===- Save.cpp - --save -------------------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Save.h"

#include "runtime/checkpoint/SaveOnnx.h"
#include "runtime/checkpoint/SharedOutput.h"
#include "runtime/core/Error.h"

#include <filesystem>
#include <vector>

namespace fs = std::filesystem;

namespace dtcc::rt {

void checkSave(const SaveOptions &options, const Image &image, const ModelWeights &weights) {
  std::error_code error;
  if (options.form() == SaveForm::Folder)
    if (const WeightsSource *source = weights.checkpoint();
        source && !source->folder().empty() && fs::equivalent(source->folder(), options.path, error))
      fail("--save must not be the folder of --weights, got: ", options.path);
  if (options.trainedOnly && !options.path.empty() && options.form() != SaveForm::File)
    fail("--save-trained is for a file of safetensors, got: ", options.path);
  if (options.form() == SaveForm::Onnx)
    checkOnnx(options, image);
}

static std::vector<SavedTensor> tensorsOf(const SaveOptions &options, const ModelWeights &weights) {
  std::vector<SavedTensor> tensors = savedTensors(weights, options.type);
  if (options.trainedOnly)
    std::erase_if(tensors, [](const SavedTensor &tensor) { return !tensor.state->trainable; });
  return tensors;
}

void saveModel(const SaveOptions &options, const Rank &rank, const ModelWeights &weights) {
  switch (options.form()) {
  case SaveForm::File:
    return writeSafetensors(options.path, tensorsOf(options, weights), rank);
  case SaveForm::Folder:
    return saveFolder(options, rank, weights);
  case SaveForm::Onnx:
    return saveOnnx(options, rank, weights);
  }
}

} // namespace dtcc::rt
