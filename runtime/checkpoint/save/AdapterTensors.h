//===- AdapterTensors.h - Tensors with their adapters added --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_SAVE_ADAPTERTENSORS_H
#define DTCC_RUNTIME_CHECKPOINT_SAVE_ADAPTERTENSORS_H

#include "runtime/checkpoint/save/SavedTensor.h"

namespace dtcc::rt {

/// The form that the options ask for, if it is one of adapters; else null.
const SavedForm *adapterForm(const SaveOptions &options, const ModelWeights &weights);

/// Refuses what the model's export does not allow: --save-merged without adapters, or a folder of what trained. Throws
/// Error.
void checkAdapterForm(const SaveOptions &options, const ModelWeights &weights);

/// The tensors of a form, under its names, with the factors of what is added to them.
std::vector<SavedTensor> tensorsOfForm(const SavedForm &form, const ModelWeights &weights, SaveType type);

/// The factors of all sums of a file, which no rank holds whole: ranks write them, as f32, into a temporary file beside
/// it, and read them there. Its name is gone when the constructor returns.
class FactorFile {
public:
  /// `path` is that of the file of tensors. Called by all ranks.
  FactorFile(const std::string &path, const std::vector<SavedTensor> &tensors, const Rank &rank);
  /// Adds to tensor number `i`, whose cells from `cells` on all ranks have written.
  void add(size_t i, std::byte *cells) const;

private:
  const std::vector<SavedTensor> &tensors;
  std::vector<uint64_t> places; /* of the first factor of each tensor */
  std::optional<MappedFile> file;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_SAVE_ADAPTERTENSORS_H
