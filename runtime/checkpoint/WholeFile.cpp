//===- WholeFile.cpp - A file that appears whole or not at all -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/WholeFile.h"

#include "runtime/core/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace dtcc::rt {
namespace {

[[noreturn]] void failWrite(const std::string &path, int error) {
  failWith(Status::Write, "cannot write ", path, ": ", std::strerror(error));
}

} // namespace

WholeFile::WholeFile(const std::string &path, uint64_t bytes, bool create) : path(path), length(bytes) {
  file = open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0666);
  if (file < 0)
    failWrite(path, errno);
  if (create && bytes > 0) {
    int error = 0;
    do
      error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
    while (error == EINTR);
    if (error != 0) {
      close(file);
      unlink(path.c_str());
      failWrite(path, error);
    }
  }
  if (bytes == 0)
    return;
  void *mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    int error = errno;
    close(file);
    failWrite(path, error);
  }
  start = static_cast<std::byte *>(mapping);
  memory = std::make_unique<FileMemory>(start, bytes, path, /*written=*/true);
}

WholeFile::~WholeFile() {
  if (start)
    munmap(start, length);
  close(file);
}

void WholeFile::sync() {
  if ((start && msync(start, length, MS_SYNC) != 0) || fsync(file) != 0)
    failWrite(path, errno);
}

void syncFolder(const std::string &folder) {
  int directory = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return; // the rename is done; only its durability is not known
  fsync(directory);
  close(directory);
}

void renameDurably(const std::string &from, const std::string &to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    failWrite(to, errno);
  syncFolder(std::filesystem::path(to).parent_path().string());
}

void writeWhole(const std::string &path, std::string_view contents) {
  std::string temporary = path + ".tmp";
  {
    WholeFile file(temporary, contents.size(), /*create=*/true);
    if (!contents.empty())
      std::memcpy(file.data(), contents.data(), contents.size());
    file.sync();
  }
  renameDurably(temporary, path);
}

} // namespace dtcc::rt
