//===- CheckpointWriter.cpp - Checkpoints written beside the steps
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/CheckpointWriter.h"

#include "runtime/checkpoint/SharedOutput.h"
#include "runtime/checkpoint/WholeFile.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/ContentHash.h"
#include "runtime/core/Error.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/image/StateValues.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

std::string rankFile(int64_t rank) {
  std::string number = std::to_string(rank);
  return "rank-" + std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number + ".safetensors";
}

template <typename Bits> bool areFinite(const std::byte *from, int64_t count, Bits exponent) {
  // Without a branch in the loop: as fast as memory.
  unsigned bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * static_cast<int64_t>(sizeof bits), sizeof bits);
    bad |= (bits & exponent) == exponent;
  }
  return bad == 0;
}
bool areFinite(uint32_t dtype, const std::byte *from, int64_t count) {
  switch (dtype) {
  case DTCC_F32:
    return areFinite<uint32_t>(from, count, 0x7f800000);
  case DTCC_BF16:
    return areFinite<uint16_t>(from, count, 0x7f80);
  case DTCC_F16:
    return areFinite<uint16_t>(from, count, 0x7c00);
  default:
    return true;
  }
}

fs::path unfinishedPath(const std::string &directory, int64_t step) { return checkpointPath(directory, step) + ".tmp"; }

} // namespace

void placeCheckpoint(const std::string &finished, const std::string &directory, int64_t step) {
  const std::string place = checkpointPath(directory, step), former = formerPath(directory, step);
  std::error_code error;
  if (!fs::exists(place, error))
    return renameDurably(finished, place);
  // Swapped at once, neither is ever missing; a run that is killed behind this leaves the former as unfinished.
  if (renameat2(AT_FDCWD, finished.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) {
    syncFolder(directory);
    fs::remove_all(finished, error);
    return;
  }
  if (errno != EINVAL && errno != ENOSYS)
    failWith(Status::Write, "cannot write ", place, ": ", std::strerror(errno));
  fs::remove_all(former, error);
  renameDurably(place, former);
  renameDurably(finished, place);
  fs::remove_all(former, error);
}

CheckpointWriter::CheckpointWriter(const std::string &directory, const FolderDisks &disks, const RunIdentity &identity,
                                   const KeepOptions &keep, const Rank &rank, int64_t machineRanks)
    : directory(directory), disks(disks), identity(identity), keep(keep), rank(rank), machineRanks(machineRanks) {
  const Image &image = rank.image;
  for (const dtcc_state &state : rank.states()) {
    if (image.isCopy(state) || !ownsCells(image.mesh(), layoutOf(image, state), rank.coordinates.data()))
      continue;
    int64_t cells = 0;
    StateRuns runs(rank, state);
    for (StateRun run; runs.next(run);)
      cells += run.length;
    std::string name(image.string(state.name));
    tensors.push_back({&state, cells});
    layout.add(name, valueTypeOf(state), {cells});
    layout.setMetadata(checksumKey(name), hashText(0)); // its length counts
  }
  layout.finish();
}

CheckpointWriter::~CheckpointWriter() {
  if (writing.joinable())
    writing.join();
}

void CheckpointWriter::reserve() {
  // A quarter is left to the cache of files, through which the copy goes to the disk.
  if (!copy && availableMemory() / 4 * 3 / static_cast<uint64_t>(machineRanks) > layout.fileBytes())
    copy.emplace(layout.fileBytes(), "copy of the state", rank.team);
}

void CheckpointWriter::copyCells(std::byte *to) const {
  constexpr int64_t grain = 1 << 20;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::byte *place = to + layout.offset(i);
    StateValues values(rank, *tensors[i].state);
    values.read();
    StateRuns runs = values.runs();
    for (StateRun run; runs.next(run);) {
      int64_t bytes = run.length * dtcc_dtype_size(valueTypeOf(*tensors[i].state));
      rank.team.parallelFor(bytes, grain, [&](int64_t begin, int64_t end) {
        std::memcpy(place + begin, run.address + begin, static_cast<size_t>(end - begin));
      });
      place += bytes;
    }
  }
}

/// On the thread of the writer if there is a copy, else on the rank's own.
FileSummary CheckpointWriter::writeFile(const std::string &path, int64_t step) {
  WholeFile target(path, layout.fileBytes(), /*create=*/true);
  if (!copy)
    copyCells(target.data());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const dtcc_state &state = *tensors[i].state;
    std::byte *to = target.data() + layout.offset(i);
    auto bytes = static_cast<size_t>(tensors[i].cells * dtcc_dtype_size(valueTypeOf(state)));
    if (copy)
      std::memcpy(to, copy->data() + layout.offset(i), bytes);
    std::string name(rank.image.string(state.name));
    // Buffers may hold infinities on purpose, such as masks.
    if ((state.trainable || state.role == DTCC_STATE_SLOT) && !areFinite(valueTypeOf(state), to, tensors[i].cells))
      failWith(Status::Nonfinite, "tensor '", name, "' holds values that are not finite behind step ", step,
               ": no checkpoint of it is written, and those before stay");
    layout.setMetadata(checksumKey(name), hashText(contentHash({to, bytes})));
  }
  layout.finish();
  std::memcpy(target.data(), layout.headerBytes().data(), layout.headerBytes().size());
  target.sync();
  return {layout.fileBytes(), contentHash(layout.headerBytes())};
}

void CheckpointWriter::begin(const RunPosition &at) {
  finish();
  position = at;
  fs::path folder = unfinishedPath(directory, at.step);
  if (disks.leads(rank.abi.rank)) {
    std::error_code error;
    fs::remove_all(folder, error); // what an interrupted run left
    fs::create_directories(folder, error);
    if (error)
      failWith(Status::Write, "cannot create ", folder.string(), ": ", error.message());
  }
  waitForAll(rank);
  reserve();
  if (copy)
    copyCells(copy->data());
  std::packaged_task<FileSummary()> task(
      [this, path = (folder / rankFile(rank.abi.rank)).string(), step = at.step] { return writeFile(path, step); });
  file = task.get_future();
  if (copy)
    writing = std::thread(std::move(task));
  else
    task();
}

bool CheckpointWriter::isWriting() const {
  return file.valid() && file.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

void CheckpointWriter::publish() {
  if (!file.valid())
    return;
  if (writing.joinable())
    writing.join();
  FileSummary mine = file.get();
  std::vector<FileSummary> summaries(static_cast<size_t>(rank.abi.ranks), mine);
  if (rank.world)
    rank.world->allGather(&mine, summaries.data(), sizeof mine, DTCC_I8);
  std::vector<SavedFile> files;
  for (size_t i = 0; i < summaries.size(); ++i)
    files.push_back({rankFile(static_cast<int64_t>(i)), summaries[i]});
  // Rank 0 alone knows the norms of gradients.
  std::string manifest = rank.abi.rank == 0 ? manifestText(rank.image, position, identity, files) : "";
  if (disks.areSeveral())
    manifest = textOfFirst(manifest, rank);
  if (disks.leads(rank.abi.rank))
    publication = std::async(std::launch::async, [this, manifest = std::move(manifest), step = position.step] {
      publishFolder(step, manifest);
    });
}

void CheckpointWriter::publishFolder(int64_t step, const std::string &manifest) const {
  fs::path folder = unfinishedPath(directory, step), place = checkpointPath(directory, step);
  writeWhole((folder / "manifest.json").string(), manifest);
  // There may be a damaged checkpoint of this step, which a resume has left out.
  placeCheckpoint(folder.string(), directory, step);
  writeWhole((fs::path(directory) / "latest").string(), place.filename().string() + "\n");
  // A part of the one before is of no use to a host whose neighbour has lost its own of this one.
  if (!disks.areSeveral())
    pruneCheckpoints(directory, keep);
}

void CheckpointWriter::finish() {
  publish();
  if (publication.valid())
    publication.get();
  waitForAll(rank);
  if (disks.areSeveral() && disks.leads(rank.abi.rank))
    pruneCheckpoints(directory, keep);
}

} // namespace dtcc::rt
