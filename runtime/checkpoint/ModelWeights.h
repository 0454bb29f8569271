//===- ModelWeights.h - Where the model's tensors start ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Initial values have two places: the checkpoint that --weights names, to the program or
// to the compiler before it, and what the compiler stored of the ONNX file, in the program or in
// a file beside it. The checkpoint wins for every tensor that it has.
//
// Opened once a process. Every rank then reads the cells that it holds and no others, and
// gives the pages back: a rank needs little more memory than its plan says, however large
// the checkpoint is.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_MODELWEIGHTS_H
#define DTCC_RUNTIME_CHECKPOINT_MODELWEIGHTS_H

#include "runtime/abi/WeightNames.h"
#include "runtime/checkpoint/TensorTable.h"
#include "runtime/checkpoint/WeightsSource.h"
#include "runtime/image/Rank.h"

#include <optional>

namespace dtcc::rt {

class ModelWeights {
public:
  /// `path` is that of --weights, or empty: that of the compiler. Tensors are matched by name and shape; throws one
  /// Error that lists all that do not fit. Without `starts` nothing is loaded (a run that goes on from a checkpoint),
  /// and the files are opened for what --save copies from them.
  ModelWeights(const Image &image, const std::string &path, bool starts);

  /// Fills the cells of `state` that `rank` holds. False if its value is in no file.
  bool load(const Rank &rank, const dtcc_state &state) const;

  const TensorTable &table() const { return model; }
  /// The checkpoint, or null without one.
  const WeightsSource *checkpoint() const { return source ? &*source : nullptr; }
  /// The tensor of the checkpoint that is `model.tensors()[i]`, or null.
  const SourceTensor *matched(size_t i) const;
  /// The name by which the checkpoint calls a tensor of the model, or would.
  std::string nameInCheckpoint(const std::string &name) const;
  /// The value of an unused tensor, wherever it is; or nothing.
  std::optional<SourceTensor> valueOf(size_t i) const;
  /// Names in the checkpoint that no tensor of the model has.
  const std::vector<std::string> &surplus() const { return rest; }
  /// Notes on choices that the user did not ask for, a line each.
  const std::vector<std::string> &notes() const { return lines; }

private:
  void matchCheckpoint(bool starts);
  void checkTies() const;
  void openStored(const Image &image, bool starts);

  TensorTable model;
  std::optional<WeightsSource> source;
  std::optional<SafetensorsFile> stored;
  WeightMatch match;
  std::map<std::string, size_t> indices; /* by name, of the tensors with a state */
  std::vector<std::string> rest, lines;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_MODELWEIGHTS_H
