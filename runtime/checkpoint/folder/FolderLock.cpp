//===- FolderLock.cpp - One run in a folder of checkpoints
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/folder/FolderLock.h"

#include "runtime/core/Error.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

/// "process 123 on host", as the holder of a lock wrote it.
std::string ownName() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return message("process ", getpid(), " on ", host.data());
}

} // namespace

FolderLock::FolderLock(const std::string &directory)
    : directory(directory), path((fs::path(directory) / "lock").string()) {
  // A lock of the open file, which NFS carries to its server, unlike flock on old ones.
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  int code = 0;
  // Each further turn needs another run that ended in between. The turns are bounded because a file system without
  // stable numbers of files would show none as current.
  for (int turn = 0; turn < 100; ++turn) {
    std::error_code error;
    created = fs::create_directories(directory, error);
    if (error)
      fail("cannot write ", directory, ": ", error.message());
    if (file >= 0)
      close(file);
    file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 && errno == ENOENT)
      continue; // the other run has just removed the folder
    if (file < 0)
      fail("cannot write ", path, ": ", std::strerror(errno));
    code = fcntl(file, F_OFD_SETLK, &lock) != 0 ? errno : 0;
    if (code != 0 || isCurrent())
      break;
  }
  if (file < 0)
    fail("cannot write ", path, ": its folder is removed again and again");
  if (code != 0) {
    if (code != EAGAIN && code != EACCES) {
      std::cerr << "warning: cannot lock " << path << ": " << std::strerror(code)
                << ": nothing keeps a second run out of this folder\n";
      created = false; // another run may be in it, too
      return;
    }
    std::array<char, 300> holder{};
    ssize_t length = pread(file, holder.data(), holder.size() - 1, 0);
    close(file);
    std::string name(holder.data(), length > 0 ? static_cast<size_t>(length) : 0);
    name.resize(std::min(name.find('\n'), name.size()));
    fail("another run uses the checkpoint folder ", directory, name.empty() ? "" : ": ", name,
         "; give each run a folder of its own");
  }
  std::string name = ownName() + "\n";
  if (ftruncate(file, 0) != 0 || pwrite(file, name.data(), name.size(), 0) < 0) {
    // The lock holds without the name, which only a message wants.
  }
}

bool FolderLock::isCurrent() const {
  struct stat mine, named;
  return fstat(file, &mine) == 0 && stat(path.c_str(), &named) == 0 && mine.st_dev == named.st_dev &&
         mine.st_ino == named.st_ino;
}

FolderLock::~FolderLock() {
  std::error_code error;
  bool isAlone = created;
  // The iterator's own increment throws.
  for (fs::directory_iterator entry(directory, error), end; isAlone && !error && entry != end; entry.increment(error))
    isAlone = entry->path().filename() == "lock";
  if (isAlone && !error) {
    fs::remove(path, error);
    fs::remove(directory, error);
  }
  close(file);
}

} // namespace dtcc::rt
