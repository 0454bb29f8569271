//===- CheckpointWriter.h - Checkpoints written beside the steps -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writing gigabytes to a disk takes longer than many steps. So a step waits for a copy of the state alone; a thread of
// each rank then computes checksums, writes the rank's file and waits for the disk, while the steps go on. The
// checkpoint counts when all ranks have done so: rank 0 writes the manifest and renames the folder, on its thread too.
// Where hosts have disks of their own, the first rank of each does, and older checkpoints are removed only when all
// have.
//
// Costs memory for the state once more, for as long as the writer lives. Where that is not free, the state is written
// without a copy, and the step waits for it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H
#define DTCC_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/folder/CheckpointFolder.h"
#include "runtime/checkpoint/folder/FolderDisks.h"
#include "runtime/core/Memory.h"

#include <future>
#include <thread>

namespace dtcc::rt {

/// Moves the complete checkpoint of `step`, which lies in the folder `finished`, to its place. A checkpoint that is
/// there already gives way, and lies on the disk until the new one has taken its place. Throws Status::Write.
void placeCheckpoint(const std::string &finished, const std::string &directory, int64_t step);

class CheckpointWriter {
public:
  /// `machineRanks`: of the run on this machine, which share its memory. All references outlive the writer.
  CheckpointWriter(const std::string &directory, const FolderDisks &disks, const RunIdentity &identity,
                   const KeepOptions &keep, const Rank &rank, int64_t machineRanks);
  /// Waits for the threads. A checkpoint that was not published does not count.
  ~CheckpointWriter();

  /// Takes the memory of the copy, so that the first checkpoint need not.
  void reserve();
  /// Copies the state of `position` and begins to write it; before, finishes the one under way. Called by all ranks.
  void begin(const RunPosition &position);
  /// Whether a checkpoint is under way that is not published; the same on all ranks.
  bool isUnderWay() const { return file.valid(); }
  /// Whether this rank still writes its file.
  bool isWriting() const;
  /// Called by all ranks when none is writing: makes the checkpoint count, soon. Throws what went wrong on the thread:
  /// Status::Nonfinite where a trained parameter or its optimizer state holds a value that is not finite.
  void publish();
  /// Waits until the checkpoint under way counts. Called by all ranks.
  void finish();

private:
  struct Tensor {
    const dtcc_state *state;
    int64_t cells;
  };
  void copyCells(std::byte *to) const;
  FileSummary writeFile(const std::string &path, int64_t step);
  /// Makes a checkpoint whose files are written one that a resume finds: writes its manifest and puts it in its place.
  void publishFolder(int64_t step, const std::string &manifest) const;

  std::string directory;
  const FolderDisks &disks;
  const RunIdentity &identity;
  KeepOptions keep;
  const Rank &rank;
  int64_t machineRanks;

  std::vector<Tensor> tensors; /* that the rank owns */
  SafetensorsLayout layout;
  std::optional<ArenaMemory> copy;
  RunPosition position; /* of the checkpoint under way */
  std::thread writing;
  std::future<FileSummary> file;
  std::future<void> publication; /* of the first rank of a disk */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H
