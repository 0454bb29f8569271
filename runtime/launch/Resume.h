//===- Resume.h - The checkpoint that a run goes on from -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run that goes on where it was not meant to, or begins anew where it was to go on, trains something else than its
// user wrote. So what a checkpoint was written by is compared with what is to go on from it, and the first process says
// where the run begins.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_RESUME_H
#define DTCC_RUNTIME_LAUNCH_RESUME_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/folder/FolderDisks.h"
#include "runtime/launch/options/Options.h"

namespace dtcc::rt {

/// Identity of this program and its data. Several rules or settings of one program all count. `evaluated`: what is
/// evaluated, or null.
RunIdentity identityOf(const Image &image, const Batches &batches, const Batches *evaluated,
                       const EvaluationOptions &evaluation);

/// The checkpoint that the run goes on from, or null: it starts anew. All ranks of `world` call it; null: there is one
/// process. `disks`: on which the folder lies. `speaks`: this is the first process. Throws Error if the folder holds
/// checkpoints and --resume is not given, or if they are not this run's.
std::unique_ptr<CheckpointReader> chooseCheckpoint(const Options &options, const Image &image,
                                                   const RunIdentity &identity, const FolderDisks &disks,
                                                   Communicator *world, bool speaks);

/// The disks on which the folder of checkpoints lies. All ranks of `world` call it, when rank 0 has made the folder.
/// Throws Error, the same on all ranks, where hosts have folders of their own and --checkpoint-local is not given.
FolderDisks findCheckpointDisks(const Options &options, Communicator &world);

/// Whether the least loss of a checkpoint is that of another evaluation than those of this run.
bool hasOtherEvaluation(const CheckpointReader &reader, const RunIdentity &identity);
/// Whether the steps of a checkpoint had another batch than those of this run.
bool hasOtherBatch(const CheckpointReader &reader, const RunIdentity &identity);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_RESUME_H
