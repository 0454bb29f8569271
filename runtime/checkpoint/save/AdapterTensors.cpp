//===- AdapterTensors.cpp - Tensors with their adapters added - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/save/AdapterTensors.h"

#include "runtime/checkpoint/SharedOutput.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <filesystem>

namespace dtcc::rt {

const SavedForm *adapterForm(const SaveOptions &options, const ModelWeights &weights) {
  const std::optional<AdapterForms> &forms = weights.table().adapters();
  if (!forms)
    return nullptr;
  if (options.merged)
    return &forms->merged;
  return options.trainedOnly && options.form() == SaveForm::Folder && !forms->alone.names.empty() ? &forms->alone
                                                                                                  : nullptr;
}

void checkAdapterForm(const SaveOptions &options, const ModelWeights &weights) {
  if (options.path.empty())
    return;
  if (options.trainedOnly && options.form() != SaveForm::File && !adapterForm(options, weights))
    fail("--save-trained is for a file of safetensors, got: ", options.path);
  if (!options.merged)
    return;
  const std::optional<AdapterForms> &forms = weights.table().adapters();
  if (!forms)
    fail("--save-merged needs a model that was exported with its adapters: give export() adapters=..");
  if (!forms->problem.empty())
    fail("--save-merged cannot merge the adapters of this model: ", forms->problem);
  if (options.form() == SaveForm::Onnx)
    fail("--save-merged is for safetensors, got: ", options.path);
}

/// A factor of a sum, as f32.
static SavedTensor factorOf(const ModelWeights &weights, const std::string &name) {
  const std::vector<ModelTensor> &model = weights.table().tensors();
  auto found = std::find_if(model.begin(), model.end(), [&](const ModelTensor &each) { return each.name == name; });
  std::optional<SavedTensor> tensor;
  if (found != model.end())
    tensor = savedTensor(weights, static_cast<size_t>(found - model.begin()), name, SaveType::F32);
  if (!tensor || tensor->shape.size() != 2)
    fail("the export of the model names an adapter that it does not have, got: ", name);
  return *tensor;
}

std::vector<SavedTensor> tensorsOfForm(const SavedForm &form, const ModelWeights &weights, SaveType type) {
  const std::map<std::string, LowRankSum> &sums = weights.table().adapters()->sums;
  bool merges = &form == &weights.table().adapters()->merged;
  std::vector<SavedTensor> all;
  for (size_t i = 0; i < weights.table().tensors().size(); ++i) {
    const ModelTensor &tensor = weights.table().tensors()[i];
    std::vector<std::string> names{tensor.name};
    names.insert(names.end(), tensor.aliases.begin(), tensor.aliases.end());
    auto sum = merges ? sums.find(tensor.name) : sums.end();
    for (const std::string &name : names) {
      auto named = form.names.find(name);
      std::optional<SavedTensor> saved;
      if (named == form.names.end() || !(saved = savedTensor(weights, i, named->second, type)))
        continue;
      if (sum != sums.end()) {
        saved->factors = {factorOf(weights, sum->second.up), factorOf(weights, sum->second.down)};
        saved->factorScale = sum->second.scale;
        saved->factorsTurned = sum->second.turned;
        const std::vector<int64_t> &up = saved->factors[0].shape, &down = saved->factors[1].shape;
        std::vector<int64_t> product{up[0], down[1]};
        if (saved->factorsTurned)
          std::swap(product[0], product[1]);
        if (up[1] != down[0] || product != saved->shape)
          fail("the export of the model adds adapters of another shape to ", name);
      }
      all.push_back(std::move(*saved));
    }
  }
  return all;
}

FactorFile::FactorFile(const std::string &path, const std::vector<SavedTensor> &tensors, const Rank &rank)
    : tensors(tensors) {
  uint64_t bytes = 0;
  for (const SavedTensor &tensor : tensors) {
    places.push_back(bytes);
    for (const SavedTensor &factor : tensor.factors)
      bytes += factor.bytes;
  }
  std::string name = path + ".adapters";
  auto write = [&](std::byte *start) {
    for (const SavedTensor &tensor : tensors)
      for (const SavedTensor &factor : tensor.factors) {
        writeCells(factor, rank, start);
        start += factor.bytes;
      }
  };
  writeTogether(name, "", bytes, rank, write, /*rename=*/false,
                [&](std::byte *, int64_t, int64_t) { file.emplace(name + ".tmp", path); });
  waitForAll(rank);
  std::error_code error;
  if (rank.abi.rank == 0)
    std::filesystem::remove(name + ".tmp", error);
}

void FactorFile::add(size_t i, std::byte *cells) const {
  const SavedTensor &tensor = tensors[i];
  if (tensor.factors.empty())
    return;
  const auto *up = reinterpret_cast<const float *>(file->bytes().data() + places[i]);
  const float *down = up + tensor.factors[0].bytes / sizeof(float);
  int64_t between = tensor.factors[0].shape[1], rows = tensor.shape[0], columns = tensor.shape[1];
  int64_t upRow = between, upStep = 1, downStep = columns, downColumn = 1;
  if (tensor.factorsTurned) {
    // The transposed product is that of the transposed factors in the other order.
    std::swap(up, down);
    upRow = 1, upStep = rows, downStep = 1, downColumn = between;
  }
  FileType type = *fileTypeNamed(tensor.type);
  std::vector<double> row(static_cast<size_t>(columns));
  for (int64_t r = 0; r < rows; ++r) {
    std::byte *at = cells + r * columns * fileTypeSize(type);
    convertElements(type, at, DTCC_F64, row.data(), columns, true);
    for (int64_t k = 0; k < between; ++k) {
      double factor = tensor.factorScale * static_cast<double>(up[r * upRow + k * upStep]);
      for (int64_t c = 0; c < columns; ++c)
        row[static_cast<size_t>(c)] += factor * static_cast<double>(down[k * downStep + c * downColumn]);
    }
    convertElements(FileType::F64, row.data(), static_cast<uint32_t>(type), at, columns, true);
  }
}

} // namespace dtcc::rt
