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

struct Manifest {
  RunPosition position;
  Mesh mesh;
  std::vector<std::string> files; /* by rank */
  std::map<std::string, SavedState> states;
};

std::string manifestText(const Image &image, const RunPosition &position, const std::vector<std::string> &files);

/// Reads and checks a manifest. Throws Error that names the file and the field.
Manifest readManifest(const std::string &path);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_MANIFEST_H
