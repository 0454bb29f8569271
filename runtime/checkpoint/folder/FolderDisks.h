//===- FolderDisks.h - The disks on which a folder lies ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The path of a folder may name one place that all hosts see, or a place of its own on each host. No name tells which:
// every rank makes a file in the folder, and looks for those of the others.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_FOLDER_FOLDERDISKS_H
#define DTCC_RUNTIME_CHECKPOINT_FOLDER_FOLDERDISKS_H

#include <cstdint>
#include <string>
#include <vector>

namespace dtcc::rt {

class Communicator;

struct FolderDisks {
  /// For each rank the first one that sees the same folder, which acts for all of these. Empty: all see one.
  std::vector<int64_t> leaders;

  bool areSeveral() const;
  int64_t leaderOf(int64_t rank) const { return leaders.empty() ? 0 : leaders[static_cast<size_t>(rank)]; }
  bool leads(int64_t rank) const { return leaderOf(rank) == rank; }
  /// The ranks that see the folder of `rank`, ascending.
  std::vector<int64_t> sharersOf(int64_t rank) const;
};

/// Finds the disks on which `directory` lies. All ranks of `world` call it, one a process. A rank whose folder is not
/// there, or cannot be written, counts as alone. A file system over the network may show a new file late: a rank that
/// does not see rank 0's looks again for `seconds`.
FolderDisks findDisks(const std::string &directory, Communicator &world, double seconds);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_FOLDER_FOLDERDISKS_H
