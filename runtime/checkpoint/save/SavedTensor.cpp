//===- SavedTensor.cpp - What --save writes ------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/save/SavedTensor.h"

#include "runtime/core/Error.h"
#include "runtime/image/Block.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace dtcc::rt {
namespace {

bool isFloatName(const std::string &type) {
  std::optional<FileType> found = fileTypeNamed(type);
  return found && static_cast<uint32_t>(*found) <= DTCC_BOOL && isFloatType(static_cast<uint32_t>(*found));
}

std::string typeIn(const std::string &own, SaveType asked) {
  static const char *const names[] = {"", "F32", "BF16", "F16"};
  return asked == SaveType::Model || !isFloatName(own) ? own : names[static_cast<int>(asked)];
}

std::optional<SavedTensor> inType(const ModelWeights &weights, size_t i, const std::string &name,
                                  const std::string &type) {
  const ModelTensor &tensor = weights.table().tensors()[i];
  SavedTensor saved{name, type, tensor.shape, 0, tensor.state, std::nullopt};
  if (tensor.state && isFrozenHalf(*tensor.state)) {
    saved.value = weights.valueOf(i);
    if (saved.value && (!fileTypeNamed(saved.value->entry->dtype) || saved.value->entry->shape != saved.shape))
      saved.value.reset();
  } else if (!tensor.state) {
    saved.value = weights.valueOf(i);
    if (!saved.value)
      return std::nullopt;
    saved.shape = saved.value->entry->shape;
    // A type that is not converted, such as integers, is saved as it is.
    if (type.empty() || !fileTypeNamed(saved.value->entry->dtype))
      saved.type = saved.value->entry->dtype;
  }
  std::optional<FileType> known = fileTypeNamed(saved.type);
  saved.bytes = known ? static_cast<uint64_t>(fileTypeSize(*known)) : saved.value->entry->bytes;
  for (int64_t size : saved.shape)
    saved.bytes *= known ? static_cast<uint64_t>(size) : 1;
  return saved;
}

/// Writes a run of a matrix into its transpose.
void writeTurned(const SavedTensor &tensor, const StateRun &run, uint32_t type, std::byte *to) {
  int64_t rows = tensor.shape[1], columns = tensor.shape[0]; // of the state
  int64_t from = dtcc_dtype_size(tensor.state->dtype), width = dtcc_dtype_size(type);
  for (int64_t i = 0; i < run.length; ++i) {
    int64_t cell = run.whole + i, at = cell % columns * rows + cell / columns;
    convertElements(fileTypeOf(tensor.state->dtype), run.address + i * from, type, to + at * width, 1, true);
  }
}

/// Writes a run of a frozen parameter from the value that it started with, where its cells of 16 bits are this value's:
/// those of a checkpoint may be others.
void writeFrozen(const SavedTensor &tensor, const StateRun &run, uint32_t type, std::byte *to) {
  constexpr int64_t piece = 16384;
  const auto &[file, entry] = *tensor.value;
  const FileType from = *fileTypeNamed(entry->dtype), held = fileTypeOf(tensor.state->dtype);
  const int64_t bytes = fileTypeSize(from), width = dtcc_dtype_size(type);
  uint16_t halves[piece];
  for (int64_t at = 0; at < run.length; at += piece) {
    const int64_t count = std::min(piece, run.length - at);
    const std::byte *start = file->data(*entry) + (run.whole + at) * bytes, *cells = run.address + at * 2;
    convertElements(from, start, tensor.state->dtype, halves, count, true);
    const bool isStart = std::memcmp(halves, cells, static_cast<size_t>(count) * 2) == 0;
    convertElements(isStart ? from : held, isStart ? start : cells, type, to + at * width, count, true);
  }
  const uint64_t first = entry->offset + static_cast<uint64_t>(run.whole * bytes);
  file->release(first, first + static_cast<uint64_t>(run.length * bytes));
}

} // namespace

SaveForm SaveOptions::form() const {
  std::error_code error;
  if (path.empty())
    return SaveForm::File;
  if (path.back() == '/' || std::filesystem::is_directory(path, error))
    return SaveForm::Folder;
  return std::filesystem::path(path).extension() == ".onnx" ? SaveForm::Onnx : SaveForm::File;
}

std::optional<SavedTensor> savedTensor(const ModelWeights &weights, size_t i, const std::string &name, SaveType type) {
  const ModelTensor &tensor = weights.table().tensors()[i];
  std::string own = tensor.type;
  if (const SourceTensor *found = weights.matched(i))
    own = found->entry->dtype;
  if (tensor.state && isFloatName(own) != isFloatType(tensor.state->dtype))
    own = safetensorsName(fileTypeOf(tensor.state->dtype));
  return inType(weights, i, name, typeIn(own, type));
}

std::optional<SavedTensor> savedInOwnType(const ModelWeights &weights, size_t i, const std::string &name) {
  return inType(weights, i, name, weights.table().tensors()[i].type);
}

SavedTensor savedTensor(const std::string &name, const SourceTensor &value) {
  return {name, value.entry->dtype, value.entry->shape, value.entry->bytes, nullptr, value};
}

void writeCells(const SavedTensor &tensor, const Rank &rank, std::byte *to) {
  std::optional<FileType> type = fileTypeNamed(tensor.type);
  if (!tensor.state) {
    if (rank.abi.rank != 0)
      return;
    const auto &[file, entry] = *tensor.value;
    if (entry->dtype == tensor.type)
      std::memcpy(to, file->data(*entry), entry->bytes);
    else
      convertElements(*fileTypeNamed(entry->dtype), file->data(*entry), static_cast<uint32_t>(*type), to,
                      entry->elements(), true);
    file->release(entry->offset, entry->offset + entry->bytes);
    return;
  }
  const dtcc_state &state = *tensor.state;
  // Each stage has rows of its own; a copy in another stage is not the one that is saved.
  if (!ownsCells(rank.image.mesh(), layoutOf(rank.image, state), rank.coordinates.data()))
    return;
  auto stored = static_cast<uint32_t>(*type);
  int64_t width = fileTypeSize(*type);
  StateRuns runs(rank, state);
  for (StateRun run; runs.next(run);) {
    if (tensor.transposed)
      writeTurned(tensor, run, stored, to);
    else if (tensor.value)
      writeFrozen(tensor, run, stored, to + run.whole * width);
    else
      convertElements(fileTypeOf(state.dtype), run.address, stored, to + run.whole * width, run.length, true);
  }
}

std::vector<SavedTensor> savedTensors(const ModelWeights &weights, SaveType type) {
  std::vector<SavedTensor> tensors;
  for (size_t i = 0; i < weights.table().tensors().size(); ++i)
    if (const ModelTensor &tensor = weights.table().tensors()[i]; tensor.state) {
      // A frozen parameter that the step holds in halves, and no file, has no more digits to save.
      bool halves = type == SaveType::Model && !weights.valueOf(i) && isFrozenHalf(*tensor.state);
      tensors.push_back(halves ? *inType(weights, i, tensor.name, safetensorsName(fileTypeOf(tensor.state->dtype)))
                               : *savedTensor(weights, i, tensor.name, type));
    }
  return tensors;
}

} // namespace dtcc::rt
