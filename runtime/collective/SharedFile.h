//===- SharedFile.h - Memory that the processes of one job share -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An anonymous file (memfd), made by process 0 and handed to the others over a local
// socket of the job's name. Nothing has a place in the file system, so nothing is left
// behind when a job dies, and /dev/shm's size does not matter. The file is sparse: only
// what is touched takes memory.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_SHAREDFILE_H
#define DTCC_RUNTIME_COLLECTIVE_SHAREDFILE_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace dtcc::rt {

class SharedFile {
public:
  /// Called by all `processes` of a job with the same `name`. Throws Error if the
  /// others do not come within `seconds`, or if `interrupted` (or null) says that this
  /// process shall end.
  SharedFile(const std::string &name, int64_t process, int64_t processes, int seconds, bool (*interrupted)());
  ~SharedFile();
  SharedFile(const SharedFile &) = delete;
  SharedFile &operator=(const SharedFile &) = delete;

  /// Maps [offset, offset + bytes), zero where nobody has written, at an address that
  /// divides by `alignment`; `offset` and `bytes` are multiples of 4096. The mapping lasts
  /// until unmap.
  void *map(uint64_t offset, size_t bytes, size_t alignment = 4096) const;
  static void unmap(void *address, size_t bytes);

  /// Locks number `place`, until this process ends or the object does.
  void lock(uint64_t place) const;
  /// Whether another process has locked `place`.
  bool isLocked(uint64_t place) const;

private:
  int file = -1;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_SHAREDFILE_H
