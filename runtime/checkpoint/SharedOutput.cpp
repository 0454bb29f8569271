//===- SharedOutput.cpp - A file that all ranks write --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SharedOutput.h"

#include "runtime/checkpoint/WholeFile.h"
#include "runtime/checkpoint/folder/FolderDisks.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sys/mman.h>
#include <vector>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

constexpr int64_t writtenPiece = int64_t(1) << 20; /* bytes */

/// Memory in place of a file that is on another host's disk: zeros, whose pages take none until they are written.
class UnseenFile {
public:
  UnseenFile(uint64_t bytes, const std::string &path) : bytes(std::max<uint64_t>(1, bytes)) {
    void *memory =
        mmap(nullptr, this->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      failWith(Status::Memory, "no memory for this rank's part of ", path, ": ", std::strerror(errno));
    start = static_cast<std::byte *>(memory);
  }
  ~UnseenFile() { munmap(start, bytes); }
  UnseenFile(const UnseenFile &) = delete;
  UnseenFile &operator=(const UnseenFile &) = delete;
  std::byte *data() const { return start; }

private:
  std::byte *start;
  uint64_t bytes;
};

/// Sends rank 0 the pieces in which this rank wrote anything: each one's place and bytes, and behind the last a -1.
void sendWritten(const std::byte *data, uint64_t bytes, Communicator &world) {
  world.reserveSend(0, writtenPiece);
  const auto end = static_cast<int64_t>(bytes);
  for (int64_t begin = 0; begin < end; begin += writtenPiece) {
    int64_t length = std::min(writtenPiece, end - begin);
    if (std::all_of(data + begin, data + begin + length, [](std::byte byte) { return byte == std::byte{0}; }))
      continue;
    world.send(&begin, sizeof begin, 0);
    world.send(data + begin, length, 0);
  }
  const int64_t none = -1;
  world.send(&none, sizeof none, 0);
}

/// Adds what `rank` has sent: its zeros stand where others wrote.
void addWritten(std::byte *data, uint64_t bytes, int64_t rank, Communicator &world) {
  world.reserveSend(rank, writtenPiece);
  std::vector<std::byte> piece(static_cast<size_t>(writtenPiece));
  for (int64_t begin;;) {
    world.receive(&begin, sizeof begin, rank);
    if (begin < 0)
      return;
    int64_t length = std::min(writtenPiece, static_cast<int64_t>(bytes) - begin);
    world.receive(piece.data(), length, rank);
    for (int64_t i = 0; i < length; ++i)
      data[begin + i] |= piece[static_cast<size_t>(i)];
  }
}

std::string folderOf(const std::string &path) {
  std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

} // namespace

void waitForAll(const Rank &rank) {
  if (rank.world)
    rank.world->barrier();
}

std::string textOfFirst(const std::string &mine, const Rank &rank) {
  if (!rank.world)
    return mine;
  auto length = static_cast<int64_t>(mine.size());
  rank.world->broadcast(&length, &length, 1, DTCC_I64);
  std::string text = mine;
  text.resize(static_cast<size_t>(length));
  rank.world->broadcast(text.data(), text.data(), length, DTCC_I8);
  return text;
}

void writeTogether(const std::string &path, const std::string &header, uint64_t bytes, const Rank &rank,
                   const std::function<void(std::byte *)> &write, bool rename, const FinishFile &finish) {
  std::string temporary = path + ".tmp";
  std::optional<WholeFile> file;
  std::optional<UnseenFile> unseen;
  if (rank.abi.rank == 0) {
    file.emplace(temporary, bytes, /*create=*/true);
    std::memcpy(file->data(), header.data(), header.size());
  }
  FolderDisks disks;
  if (rank.world)
    disks = findDisks(folderOf(path), *rank.world, /*seconds=*/0);
  waitForAll(rank);
  const bool sees = disks.leaderOf(rank.abi.rank) == 0;
  if (!sees)
    unseen.emplace(bytes, path);
  else if (!file)
    file.emplace(temporary, bytes, /*create=*/false);
  write(sees ? file->data() : unseen->data());
  waitForAll(rank);
  if (!sees)
    sendWritten(unseen->data(), bytes, *rank.world);
  for (int64_t other = 1; rank.abi.rank == 0 && other < rank.abi.ranks; ++other)
    if (disks.leaderOf(other) != 0)
      addWritten(file->data(), bytes, other, *rank.world);
  if (finish) {
    waitForAll(rank);
    int64_t share = 0, shares = 0;
    for (int64_t other = 0; other < rank.abi.ranks; ++other)
      if (disks.leaderOf(other) == 0) {
        share += other < rank.abi.rank;
        ++shares;
      }
    if (sees)
      finish(file->data(), share, shares);
    waitForAll(rank);
  }
  if (rank.abi.rank != 0)
    return;
  file->sync();
  if (rename)
    renameDurably(temporary, path);
}

} // namespace dtcc::rt
