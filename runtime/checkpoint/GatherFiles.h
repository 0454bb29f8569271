//===- GatherFiles.h - Checkpoints on the disks of single hosts -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where each host has a folder of its own (FolderDisks.h), it holds the files of its ranks. Together the folders hold a
// checkpoint, but a rank may need files of other hosts: it holds a replica that another rank wrote, the plan is
// another, or ranks have moved. So before a checkpoint is loaded, the files that the ranks of a disk need and that it
// lacks are copied from a disk that has them, and no others: the state of a large model fits no single disk. A copy
// stays beside the disk's own files, where it counts as one of them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_GATHERFILES_H
#define DTCC_RUNTIME_CHECKPOINT_GATHERFILES_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/folder/FolderDisks.h"
#include "runtime/image/Image.h"

namespace dtcc::rt {

/// The newest checkpoint that the folders `directory` on `disks` hold together, with the files that the ranks of
/// `image` need on each; null if there is none at all. Warns of each newer one that is damaged or not there in all its
/// parts. All ranks of `world` call it. Throws Error if there are checkpoints and none is whole.
std::unique_ptr<CheckpointReader> gatherNewestCheckpoint(const std::string &directory, const FolderDisks &disks,
                                                         const Image &image, Communicator &world);

/// The highest step below `below` of which any disk has a checkpoint, whole or not; -1: none has. All ranks call it.
int64_t newestStep(const std::string &directory, int64_t below, Communicator &world);

/// The checkpoint of `step`, likewise. Throws Error if it is not whole.
std::unique_ptr<CheckpointReader> gatherCheckpoint(const std::string &directory, int64_t step, const FolderDisks &disks,
                                                   const Image &image, Communicator &world);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_GATHERFILES_H
