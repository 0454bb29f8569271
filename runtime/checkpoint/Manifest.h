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

#include "runtime/checkpoint/Checkpoint.h"

#include <map>

namespace dtcc::rt {

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

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_MANIFEST_H
