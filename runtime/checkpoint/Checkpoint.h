//===- Checkpoint.h - Sharded checkpoints --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a folder DIR/step-N with one safetensors file a rank, which holds
// the cells that the rank owns, and manifest.json, which says how the cells of each
// tensor lie in the files. It is written as step-N.tmp and renamed when whole;
// DIR/latest then names it.
//
// A rank file holds, for each state, the owned cells as one dimension: the runs that
// HeldRuns gives for the saved layout, one after the other. Loading intersects those
// runs with the ones that the loading plan holds, so any plan can load any other's
// checkpoint without a converter, and padding is never stored.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define DTCC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/image/Block.h"

#include <memory>
#include <optional>
#include <string>

namespace dtcc::rt {

/// Position of a run: everything that a resume needs besides the tensors.
struct RunPosition {
  int64_t step = 0;     /* steps done */
  int64_t examples = 0; /* examples consumed by them */
  uint64_t seed = 0;
  std::optional<uint64_t> shuffle;
};

/// Writes DIR/step-N. Called by all ranks.
void writeCheckpoint(const std::string &directory, const RunPosition &position, const Rank &rank);

/// The newest whole checkpoint of `directory`, as a path, or empty if there is none.
std::string latestCheckpoint(const std::string &directory);

/// A checkpoint to resume from; made once per process, used by its ranks.
class CheckpointReader {
public:
  /// Reads and checks the manifest.
  explicit CheckpointReader(const std::string &path);
  ~CheckpointReader();

  const RunPosition &position() const { return where; }
  /// Fills the cells of all states that `rank` holds. A missing tensor is an error.
  void load(const Rank &rank) const;

private:
  struct Contents;
  std::string path;
  RunPosition where;
  std::unique_ptr<Contents> contents;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_CHECKPOINT_H
