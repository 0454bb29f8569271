//===- SharedOutput.cpp - A file that all ranks write --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SharedOutput.h"

#include "runtime/checkpoint/WholeFile.h"
#include "runtime/collective/Communicator.h"

#include <cstring>
#include <optional>

namespace dtcc::rt {

void waitForAll(const Rank &rank) {
  if (rank.world)
    rank.world->barrier();
}

void writeTogether(const std::string &path, const std::string &header, uint64_t bytes, const Rank &rank,
                   const std::function<void(std::byte *)> &write, bool rename) {
  std::string temporary = path + ".tmp";
  std::optional<WholeFile> file;
  if (rank.abi.rank == 0) {
    file.emplace(temporary, bytes, /*create=*/true);
    std::memcpy(file->data(), header.data(), header.size());
  }
  waitForAll(rank);
  if (!file)
    file.emplace(temporary, bytes, /*create=*/false);
  write(file->data());
  waitForAll(rank);
  if (rank.abi.rank != 0)
    return;
  file->sync();
  if (rename)
    renameDurably(temporary, path);
}

} // namespace dtcc::rt
