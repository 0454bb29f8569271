//===- SavedTensor.h - What --save writes --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Common part of the forms of --save (one safetensors file, a folder, an ONNX model), which differ in
// names and files: a list of tensors with their types in the file, and a function by which a rank
// writes its cells of a tensor into a file that all ranks have mapped.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_SAVE_SAVEDTENSOR_H
#define DTCC_RUNTIME_CHECKPOINT_SAVE_SAVEDTENSOR_H

#include "runtime/checkpoint/ModelWeights.h"

namespace dtcc::rt {

/// --save-type: the type of saved floats. Model stands for the type that the model's file, or --weights, gives a
/// tensor.
enum class SaveType { Model, F32, BF16, F16 };

enum class SaveForm { File, Folder, Onnx };

struct SaveOptions {
  std::string path; /* empty: nothing is saved */
  SaveType type = SaveType::Model;
  uint64_t shardBytes = 5'000'000'000;
  bool trainedOnly = false; /* only parameters that train: one file, or a folder of adapters */
  bool merged = false;      /* adapters are added to the layers that they adapt */

  /// The form that `path` asks for: a folder if it ends in a slash or is one, else by its extension.
  SaveForm form() const;
};

struct SavedTensor {
  std::string name;
  std::string type; /* safetensors' name */
  std::vector<int64_t> shape;
  uint64_t bytes;
  /// The state that holds the tensor; null for `value`, which the run did not change. With both the state holds `value`
  /// in 16 bits, unless a checkpoint brought another one.
  const dtcc_state *state;
  std::optional<SourceTensor> value;
  /// The file holds the transpose of the state.
  bool transposed = false;
  /// Two matrices, up and down, of which the product or its transpose is added, times a scale; or nothing.
  std::vector<SavedTensor> factors = {};
  double factorScale = 0;
  bool factorsTurned = false;
};

/// The tensor `model.tensors()[i]`, with or without a state. Nothing if it has no value anywhere.
std::optional<SavedTensor> savedTensor(const ModelWeights &weights, size_t i, const std::string &name, SaveType type);

/// As savedTensor(), but in the type of the model's file, whatever type --weights has.
std::optional<SavedTensor> savedInOwnType(const ModelWeights &weights, size_t i, const std::string &name);

/// A tensor of the checkpoint as it is.
SavedTensor savedTensor(const std::string &name, const SourceTensor &value);

/// Writes the cells that `rank` owns to the tensor's place in a mapped file.
void writeCells(const SavedTensor &tensor, const Rank &rank, std::byte *to);

/// Parameters and buffers under their own names: what one safetensors file holds.
std::vector<SavedTensor> savedTensors(const ModelWeights &weights, SaveType type);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_SAVE_SAVEDTENSOR_H
