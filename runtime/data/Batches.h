//===- Batches.h - The inputs of every step ------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Step k (from 0) takes examples [k * batch, (k + 1) * batch) of an endless order: the
// full batches of the files, again and again, or shuffled anew each epoch. Each rank
// copies its own block of each input, for each slot.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_BATCHES_H
#define DTCC_RUNTIME_DATA_BATCHES_H

#include "runtime/data/ExampleSource.h"
#include "runtime/image/Block.h"

#include <map>
#include <optional>

namespace dtcc::rt {

struct DataOptions {
  std::vector<std::string> data; /* DIR or NAME=FILE, as given */
  std::string tokens;
  std::optional<uint64_t> shuffle;
};

class Batches {
public:
  /// Opens and checks a file for every input that the model reads. Throws Error; a
  /// missing option is Status::Usage.
  Batches(const Image &image, const DataOptions &options);

  /// Examples of one pass: the full batches.
  int64_t stepsPerEpoch() const { return epochSteps; }
  int64_t exampleCount() const { return examples; }
  /// The files, one an input.
  std::vector<DataIdentity> identities() const;

  /// Writes the blocks of `rank` in `slot` for the step that begins at example
  /// `first` of the endless order. Checks the values of integer inputs.
  void fill(const Rank &rank, int64_t slot, int64_t first) const;

private:
  struct Input {
    const dtcc_input *input;
    std::unique_ptr<ExampleSource> source;
  };
  void fillInput(const Rank &rank, const Input &input, int64_t slot, int64_t first) const;
  void convert(const Input &input, int64_t example, int64_t offset, void *target, int64_t count) const;
  int64_t exampleAt(int64_t position) const;

  const Image &image;
  std::vector<Input> inputs;
  int64_t batch;
  int64_t epochSteps = 0;
  int64_t examples = 0;
  std::optional<uint64_t> shuffle;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_BATCHES_H
