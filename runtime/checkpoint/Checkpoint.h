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
// Every byte is under a checksum: a tensor's stands in the metadata of its file's header,
// a header's in the manifest, the manifest's in itself. Checkpoints of version 1 have none.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define DTCC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/folder/CheckpointFolder.h"

#include <memory>
#include <optional>
#include <string>

namespace dtcc::rt {

class Communicator;

/// The newest checkpoint of `directory` that is whole; null if there is none at all. Warns of each newer one that is
/// damaged. All ranks of `world` call it, and share the reading; null: this process alone. Throws Error if there are
/// checkpoints and all are damaged: to start anew then is for the user to say.
std::unique_ptr<class CheckpointReader> newestWholeCheckpoint(const std::string &directory, Communicator *world);

/// Files of a checkpoint that a folder must hold: all, or a part where others lie on the disks of other hosts.
enum class FilesHere { All, Part };

/// A checkpoint to resume from; made once per process, used by its ranks.
class CheckpointReader {
public:
  /// Reads and checks the manifest and the headers of its files. Throws Error that names the file. Of a part, a file
  /// that is absent or damaged counts as not there.
  explicit CheckpointReader(const std::string &path, FilesHere files = FilesHere::All);
  ~CheckpointReader();

  const std::string &folder() const { return path; }
  const RunPosition &position() const { return where; }
  const std::string &model() const;
  /// Empty in checkpoints of version 1.
  const RunIdentity &identity() const;
  /// Reads all tensors of the files whose number modulo `shares` is `share`, and says which is not as it was written:
  /// "FILE: tensor 'w' ..". Empty: none.
  std::string damage(int64_t share, int64_t shares) const;
  /// For each file of the checkpoint, whether it is among the files of `share`, exists, and is as it was written.
  std::vector<char> wholeFiles(int64_t share, int64_t shares) const;
  /// Fills the cells of all states that `rank` holds. A missing tensor is an error.
  void load(const Rank &rank) const;

private:
  struct Contents;
  /// A tensor of a file, by the file's number.
  struct Damage {
    size_t file;
    std::string tensor;
  };
  std::vector<Damage> findDamage(int64_t share, int64_t shares) const;

  std::string path;
  RunPosition where;
  std::unique_ptr<Contents> contents;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_CHECKPOINT_H
