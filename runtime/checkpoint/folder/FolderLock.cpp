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
  std::error_code error;
  created = fs::create_directories(directory, error);
  if (error)
    fail("cannot write ", directory, ": ", error.message());
  file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    fail("cannot write ", path, ": ", std::strerror(errno));
  // A lock of the open file, which NFS carries to its server, unlike flock on old ones.
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(file, F_OFD_SETLK, &lock) != 0) {
    int code = errno;
    if (code != EAGAIN && code != EACCES) {
      std::cerr << "warning: cannot lock " << path << ": " << std::strerror(code)
                << ": nothing keeps a second run out of this folder\n";
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

FolderLock::~FolderLock() {
  std::error_code error;
  if (created && std::distance(fs::directory_iterator(directory, error), fs::directory_iterator()) == 1) {
    fs::remove(path, error);
    fs::remove(directory, error);
  }
  close(file);
}

} // namespace dtcc::rt
