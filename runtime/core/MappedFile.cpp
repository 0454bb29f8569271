//===- MappedFile.cpp - A file read through memory ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/MappedFile.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dtcc::rt {

MappedFile::MappedFile(const std::string &path, const std::string &shown) : name(shown.empty() ? path : shown) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer; a pipe is refused below.
  int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    fail("cannot read ", name, ": ", std::strerror(errno));
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    fail("cannot read ", name, ": not a regular file");
  }
  length = static_cast<size_t>(status.st_size);
  device = status.st_dev;
  node = status.st_ino;
  void *mapping = length == 0 ? nullptr : mmap(nullptr, length, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapping == MAP_FAILED)
    fail("cannot map ", name, ": ", std::strerror(errno));
  start = static_cast<const std::byte *>(mapping);
  if (start)
    memory = std::make_unique<FileMemory>(start, length, name, /*written=*/false);
}

MappedFile::~MappedFile() {
  if (start)
    munmap(const_cast<std::byte *>(start), length);
}

void MappedFile::checkLength() const {
  struct stat status;
  if (stat(name.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == node &&
      static_cast<size_t>(status.st_size) < length)
    fail("cannot read ", name, ": it became shorter while it was read");
}

void MappedFile::release(uint64_t begin, uint64_t end) const {
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = std::min<uint64_t>(end, length) / page * page;
  if (begin < end)
    madvise(const_cast<std::byte *>(start) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : name(std::move(other.name)), start(std::exchange(other.start, nullptr)), length(other.length),
      device(other.device), node(other.node), memory(std::move(other.memory)) {}

} // namespace dtcc::rt
