//===- CheckpointFolder.h - The checkpoints of a run, as a folder -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of checkpoints belongs to one run: step-N is what it was behind step N. The newest is the one with the
// highest number, whatever `latest` says, because a run never goes below a checkpoint that it has written.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_FOLDER_CHECKPOINTFOLDER_H
#define DTCC_RUNTIME_CHECKPOINT_FOLDER_CHECKPOINTFOLDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace dtcc::rt {

/// The checkpoints that stay when a new one is complete.
struct KeepOptions {
  int64_t newest = 0; /* so many; 0: all */
  int64_t every = 0;  /* besides, those of steps that this divides; 0: none */
};

/// "DIR/step-N"
std::string checkpointPath(const std::string &directory, int64_t step);

/// Where the checkpoint in the place of a new one waits until that is there. removeUnfinished brings it back if the new
/// one never came.
std::string formerPath(const std::string &directory, int64_t step);

/// Steps of the checkpoints in `directory`, ascending; whole or not.
std::vector<int64_t> checkpointSteps(const std::string &directory);

/// Removes what runs that were killed have left half written. No other run may use the folder: see FolderLock.h.
void removeUnfinished(const std::string &directory);

/// Removes the checkpoints that `options` do not keep. A removal that is cut short leaves nothing that counts as a
/// checkpoint.
void pruneCheckpoints(const std::string &directory, const KeepOptions &options);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_FOLDER_CHECKPOINTFOLDER_H
