//===- Save.cpp - --save -------------------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/save/Save.h"

#include "runtime/checkpoint/SharedOutput.h"
#include "runtime/checkpoint/save/AdapterTensors.h"
#include "runtime/checkpoint/save/SaveOnnx.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <vector>

namespace fs = std::filesystem;

namespace dtcc::rt {

void checkSave(const SaveOptions &options, const Image &image, const ModelWeights &weights) {
  std::error_code error;
  if (options.form() == SaveForm::Folder)
    if (const WeightsSource *source = weights.checkpoint();
        source && !source->folder().empty() && fs::equivalent(source->folder(), options.path, error))
      fail("--save must not be the folder of --weights, got: ", options.path);
  checkAdapterForm(options, weights);
  if (options.form() == SaveForm::Onnx)
    checkOnnx(options, image);
}

static std::vector<SavedTensor> tensorsOf(const SaveOptions &options, const ModelWeights &weights) {
  if (const SavedForm *form = adapterForm(options, weights))
    return tensorsOfForm(*form, weights, options.type);
  std::vector<SavedTensor> tensors = savedTensors(weights, options.type);
  if (options.trainedOnly)
    std::erase_if(tensors, [](const SavedTensor &tensor) { return !tensor.state->trainable; });
  return tensors;
}

void writeSafetensors(const std::string &path, const std::vector<SavedTensor> &tensors, const Rank &rank, bool rename) {
  // Readers want each tensor aligned to its elements.
  auto width = [](const SavedTensor &tensor) {
    std::optional<FileType> type = fileTypeNamed(tensor.type);
    return type ? fileTypeSize(*type) : 1;
  };
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(-width(tensors[a]), a) < std::pair(-width(tensors[b]), b); });
  SafetensorsLayout layout;
  for (size_t i : order)
    layout.add(tensors[i].name, tensors[i].type, tensors[i].shape, tensors[i].bytes);
  layout.setMetadata("format", "pt");
  layout.setMetadata("producer", "dtcc");
  layout.finish();
  std::optional<FactorFile> factors;
  if (std::any_of(tensors.begin(), tensors.end(), [](const SavedTensor &tensor) { return !tensor.factors.empty(); }))
    factors.emplace(path, tensors, rank);
  auto write = [&](std::byte *start) {
    for (size_t i = 0; i < order.size(); ++i)
      writeCells(tensors[order[i]], rank, start + layout.offset(i));
  };
  FinishFile addFactors = [&](std::byte *start, int64_t share, int64_t shares) {
    for (auto i = static_cast<size_t>(share); i < order.size(); i += static_cast<size_t>(shares))
      factors->add(order[i], start + layout.offset(i));
  };
  writeTogether(path, layout.headerBytes(), layout.fileBytes(), rank, write, rename,
                factors ? addFactors : FinishFile());
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
