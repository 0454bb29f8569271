//===- FolderLock.h - One run in a folder of checkpoints -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two runs in one folder would write each other's checkpoints, and a resume would get a mixture. So the first process
// of a run holds a lock on the file DIR/lock for as long as it lives. The system gives the lock back when the process
// ends, however it ends, so that none is left behind. A run that wrote nothing removes the file with the folder that it
// created. Another process may have opened the file before and lock it afterwards, while a third locks a new file of
// that name: so whoever has a lock checks that its file still has the name, and else begins again.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_FOLDER_FOLDERLOCK_H
#define DTCC_RUNTIME_CHECKPOINT_FOLDER_FOLDERLOCK_H

#include <string>

namespace dtcc::rt {

class FolderLock {
public:
  /// Creates the folder if it is not there. Throws Error that names the process that has it.
  explicit FolderLock(const std::string &directory);
  /// Removes a folder that this run created and wrote nothing into.
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

private:
  /// Whether the file that is open is still the one with the name.
  bool isCurrent() const;

  std::string directory, path;
  int file = -1;
  bool created = false;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_FOLDER_FOLDERLOCK_H
