//===- Manifest.h - The manifest of a checkpoint -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// manifest.json: format and version, step, data position, the mesh, the rank files, and
// the layout of every state. docs/checkpoints.md documents it for users.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_MANIFEST_H
#define DTCC_RUNTIME_CHECKPOINT_MANIFEST_H

#include "runtime/data/SampleSource.h"
#include "runtime/image/Block.h"

#include <map>
#include <optional>
#include <string>

namespace dtcc::rt {

/// Position of a run: everything that a resume needs besides the tensors.
struct RunPosition {
  int64_t step = 0;    /* steps done */
  int64_t samples = 0; /* samples consumed by them */
  uint64_t seed = 0;
  std::optional<uint64_t> shuffle;
  std::optional<double> best = {}; /* smallest loss of evaluations so far, if there were any */
  int64_t epochShift = 0; /* steps by which --epochs ends later, or earlier, since steps before had another batch */
  int64_t skipped = 0;    /* steps that were left out because they were not finite; without those of a loss scale */
  std::vector<float> gradNorms = {}; /* of the last steps, oldest first; empty: nobody asks (--max-grad-norm-ratio) */
  /// Ways by which commands were computed, as text (runtime/tuning/Choices.h); empty: those of no measurement (--tune).
  std::string choices = {};
};

/// Facts that must be the same when a run goes on, so that it trains what it was to train. The plan may be another.
struct RunIdentity {
  std::string optimizer; /* "adamw(0.9, 0.999, ..)"; empty: not known */
  std::vector<DataIdentity> data;
  /// Settings of the program besides those of the optimizer's rules, by name: they may differ, with a note. Empty: not
  /// known.
  std::map<std::string, std::string> settings;
};

struct SavedState {
  uint32_t dtype = 0;
  StateLayout layout;
};

/// Facts about a rank's file.
struct FileSummary {
  uint64_t bytes, headerHash;
};
struct SavedFile {
  std::string name;
  std::optional<FileSummary> summary; /* version 1 has none */
};

struct Manifest {
  RunPosition position;
  std::string model;
  RunIdentity identity;
  Mesh mesh;
  std::vector<SavedFile> files; /* by rank */
  std::map<std::string, SavedState> states;
};

/// The metadata of a rank file's header under which the checksum of a tensor stands.
inline std::string checksumKey(const std::string &tensor) { return "xxh3:" + tensor; }

std::string manifestText(const Image &image, const RunPosition &position, const RunIdentity &identity,
                         const std::vector<SavedFile> &files);

/// The manifest `text` with the checksum of what it says now.
std::string sealManifest(std::string text);

/// Reads and checks a manifest. Throws Error that names the file and the field.
Manifest readManifest(const std::string &path);
/// Likewise, of a `text` that is called `path` in messages.
Manifest parseManifest(std::string_view text, const std::string &path);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_MANIFEST_H
