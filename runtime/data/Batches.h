//===- Batches.h - The inputs of every step ------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Step k (from 0) takes samples [k * batch, (k + 1) * batch) of an endless order
// (SampleOrder.h). Each rank copies its own block of each input, for each slot.
//
// Inputs may have different first dimensions, such as the nodes and the edges of a graph.
// Step k then takes rows [k * size, (k + 1) * size) of each, and whole steps are shuffled.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_BATCHES_H
#define DTCC_RUNTIME_DATA_BATCHES_H

#include "runtime/data/InputSources.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/image/Block.h"

#include <functional>

namespace dtcc::rt {

/// The memory of a rank's blocks in one slot. A place names no Rank, whose coordinates follow the action that runs, so
/// that other threads than the rank's can fill too.
struct BatchPlace {
  const dtcc_stage &stage;
  const std::vector<int64_t> &coordinates; /* in the slot, one per mesh axis */
  ThreadTeam &team;                        /* of the thread that fills */
  std::function<std::byte *(uint32_t view)> addressOf;
};

class Batches {
public:
  /// Opens and checks a file for every input that the model reads. Throws Error; a
  /// missing option is Status::Usage.
  Batches(const Image &image, const DataOptions &options);
  /// Takes the data of every input that the model reads from `sourceOf`, which has samples for one step.
  Batches(const Image &image, const std::function<std::unique_ptr<SampleSource>(const dtcc_input &)> &sourceOf);

  /// Samples of one pass over the data: those of its full batches.
  int64_t stepsPerEpoch() const { return epochSteps; }
  int64_t sampleCount() const { return samples; }
  /// The files of each input.
  std::vector<DataIdentity> identities() const;
  /// A file of samples that both read; empty if there is none, or if they read different parts of it.
  std::string fileSharedWith(const Batches &other) const;
  /// Lines for people about what was found.
  const std::vector<std::string> &notes() const { return lines; }

  /// Writes the blocks of `rank` in `slot` for the step that begins at sample
  /// `first` of the endless order. Checks the values of integer inputs.
  void fill(const Rank &rank, int64_t slot, int64_t first) const;
  /// Writes the blocks of a rank to `place`, which another thread may fill.
  void fill(const BatchPlace &place, int64_t first) const;

  /// Reads one byte of every page of the files that `rank` is going to copy for the step that begins at sample
  /// `first`, so that the copy finds them in memory. Returns early once `stops` says so.
  void touch(int64_t rank, int64_t first, const std::function<bool()> &stops) const;

private:
  struct Input {
    const dtcc_input *input;
    std::unique_ptr<SampleSource> source;
    int64_t rows; /* of one step: the size of dimension 0 */
    int64_t steps() const { return rows > 0 ? source->samples() / rows : 0; }
  };
  void openSources(const DataOptions &options);
  void makeOrder(const DataOptions &options);
  void refuseMixture(const DataOptions &options) const;
  void holdOut(std::vector<SampleOrder::Part> &parts, const DataOptions &options);
  static void checkLengths(const Input &one, const Input &other);
  /// Calls `body` for every input that the stage reads.
  template <typename Body> void forInputsOf(const dtcc_stage &stage, const Body &body) const;
  void fillInput(const BatchPlace &place, const Input &input, int64_t first) const;
  void convert(const Input &input, int64_t sample, int64_t offset, void *target, int64_t count) const;
  /// Row of the file for row `row` of the input's global tensor, in the step that begins at sample `first`.
  int64_t rowAt(const Input &input, int64_t first, int64_t row) const;

  const Image &image;
  std::vector<Input> inputs;
  std::vector<std::string> lines;
  SampleOrder order;   /* of samples; of whole steps if uneven */
  std::string reduced; /* text of how samples are cut and which are read; empty: all, in the plain way */
  int64_t batch;
  int64_t epochSteps = 0;
  int64_t samples = 0;
  bool isPart = false; /* whether the other part of the samples of the same files is read elsewhere (--eval-fraction) */
  bool uneven = false; /* whether an input's rows of a step are not the batch */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_BATCHES_H
