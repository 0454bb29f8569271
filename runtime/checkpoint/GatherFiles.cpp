//===- GatherFiles.cpp - Checkpoints on the disks of single hosts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/GatherFiles.h"

#include "runtime/checkpoint/WholeFile.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/ContentHash.h"
#include "runtime/core/Error.h"
#include "runtime/image/Block.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

constexpr int64_t pieceBytes = int64_t(4) << 20; /* of a file that is copied */

/// Facts about files, one row of bytes a disk, by the disk's first rank.
using RowsOfDisks = std::map<int64_t, std::vector<char>>;

/// Whether two ascending sequences of runs have cells in common.
bool haveCommon(HeldRuns saved, HeldRuns wanted) {
  Run from, to;
  bool more = saved.next(from) && wanted.next(to);
  while (more) {
    if (std::max(from.whole, to.whole) < std::min(from.whole + from.length, to.whole + to.length))
      return true;
    more = from.whole + from.length <= to.whole + to.length ? saved.next(from) : wanted.next(to);
  }
  return false;
}

/// One of several disks' checkpoint of a step; all ranks make and use it together.
class Gathering {
public:
  Gathering(const std::string &directory, int64_t step, const FolderDisks &disks, const Image &image,
            Communicator &world)
      : folder(checkpointPath(directory, step)), disks(disks), image(image), world(world), me(world.index()) {}

  /// Makes the folder of this rank's disk hold all that its ranks need. Otherwise says what is missing, alike on all
  /// ranks.
  std::string run() {
    std::string problem = message(folder, ": no host has a manifest that is whole");
    // A disk may hold another checkpoint of the same step, from a run that went back behind it.
    std::vector<uint64_t> hashes = hashesOfManifests(), tried;
    for (size_t holder = 0; holder < hashes.size(); ++holder) {
      if (hashes[holder] == 0 || std::find(tried.begin(), tried.end(), hashes[holder]) != tried.end())
        continue;
      tried.push_back(hashes[holder]);
      std::string text = sendToAll(static_cast<int64_t>(holder));
      problem = complete(text, hashes[static_cast<size_t>(me)] == hashes[holder]);
      if (problem.empty())
        break;
    }
    return problem;
  }

private:
  std::string manifestPath() const { return (fs::path(folder) / "manifest.json").string(); }

  /// The hash of the manifest on each rank's disk; 0: the disk has no whole manifest.
  std::vector<uint64_t> hashesOfManifests() {
    uint64_t mine = 0;
    try {
      MappedFile file(manifestPath());
      own.assign(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
      parseManifest(own, manifestPath());
      mine = contentHash(own);
    } catch (const Error &) {
    }
    std::vector<uint64_t> hashes(static_cast<size_t>(world.size()));
    world.allGather(&mine, hashes.data(), 1, DTCC_I64);
    return hashes;
  }

  /// The manifest that `holder` has.
  std::string sendToAll(int64_t holder) {
    std::vector<int64_t> lengths(static_cast<size_t>(world.size()));
    auto length = static_cast<int64_t>(own.size());
    world.allGather(&length, lengths.data(), 1, DTCC_I64);
    std::string text = me == holder ? own : std::string();
    text.resize(static_cast<size_t>(lengths[static_cast<size_t>(holder)]));
    if (holder != 0 && (me == 0 || me == holder))
      transfer(holder, 0, reinterpret_cast<std::byte *>(text.data()), static_cast<int64_t>(text.size()));
    world.broadcast(text.data(), text.data(), static_cast<int64_t>(text.size()), DTCC_I8);
    return text;
  }

  /// `has`: the manifest `text` is on this rank's disk.
  std::string complete(const std::string &text, bool has) {
    const Manifest manifest = parseManifest(text, manifestPath());
    RowsOfDisks whole = rowsOfDisks(has ? wholeFiles() : std::vector<char>(manifest.files.size()));
    std::vector<int64_t> sources(manifest.files.size(), -1);
    for (const auto &[leader, files] : whole)
      for (size_t i = 0; i < files.size(); ++i)
        if (files[i] && sources[i] < 0)
          sources[i] = leader;
    for (size_t i = 0; i < sources.size(); ++i)
      if (sources[i] < 0)
        return message(folder, ": no host has ", manifest.files[i].name, " as it was written");
    if (!has && disks.leads(me)) {
      std::error_code error;
      fs::create_directories(folder, error);
      writeWhole(manifestPath(), text);
    }
    int64_t copies = 0;
    for (const auto &[leader, needed] : rowsOfDisks(neededFiles(manifest)))
      for (size_t i = 0; i < needed.size(); ++i)
        if (needed[i] && !whole.at(leader)[i]) {
          copyFile(manifest.files[i].name, sources[i], leader);
          ++copies;
        }
    if (copies > 0 && me == 0)
      std::cerr << "note: copied " << copies << (copies == 1 ? " file" : " files") << " of " << folder
                << " from disks of other hosts\n";
    world.barrier();
    return {};
  }

  /// Says which files on this rank's disk are whole. The ranks that share the disk check some files each.
  std::vector<char> wholeFiles() {
    std::vector<int64_t> sharers = disks.sharersOf(me);
    auto share = std::find(sharers.begin(), sharers.end(), me) - sharers.begin();
    return CheckpointReader(folder, FilesHere::Part).wholeFiles(share, static_cast<int64_t>(sharers.size()));
  }

  /// Files that hold cells of this rank's states.
  std::vector<char> neededFiles(const Manifest &manifest) const {
    std::vector<char> needed(manifest.files.size());
    const std::vector<int64_t> here = image.mesh().coordinates(me, 0);
    for (const dtcc_state &state : rowsOf(image.stageAt(here).states, image.states())) {
      auto saved = manifest.states.find(std::string(image.string(state.name)));
      // States that are missing or have another shape are refused when they are loaded.
      if (saved == manifest.states.end() || saved->second.layout.dims.size() != layoutOf(image, state).dims.size())
        continue;
      HeldRuns wanted(image.mesh(), layoutOf(image, state), here.data(), nullptr);
      for (size_t i = 0; i < needed.size(); ++i) {
        std::vector<int64_t> there = manifest.mesh.coordinates(static_cast<int64_t>(i), 0);
        if (!needed[i] && ownsCells(manifest.mesh, saved->second.layout, there.data()))
          needed[i] = haveCommon(HeldRuns(manifest.mesh, saved->second.layout, there.data(), nullptr), wanted);
      }
    }
    return needed;
  }

  /// Combines the ranks' answers by disk: a file counts if any rank of the disk names it.
  RowsOfDisks rowsOfDisks(const std::vector<char> &mine) {
    std::vector<char> all(mine.size() * static_cast<size_t>(world.size()));
    world.allGather(mine.data(), all.data(), static_cast<int64_t>(mine.size()), DTCC_I8);
    RowsOfDisks rows;
    for (size_t rank = 0; rank < static_cast<size_t>(world.size()); ++rank) {
      std::vector<char> &row = rows[disks.leaderOf(static_cast<int64_t>(rank))];
      row.resize(mine.size());
      for (size_t i = 0; i < mine.size(); ++i)
        row[i] |= all[rank * mine.size() + i];
    }
    return rows;
  }

  /// Copies a file between the disks of two ranks.
  void copyFile(const std::string &name, int64_t from, int64_t to) {
    if (me != from && me != to)
      return;
    const std::string path = (fs::path(folder) / name).string(), unfinished = path + ".tmp";
    std::optional<MappedFile> source;
    int64_t bytes = 0;
    if (me == from) {
      source.emplace(path);
      bytes = static_cast<int64_t>(source->bytes().size());
    }
    transfer(from, to, reinterpret_cast<std::byte *>(&bytes), sizeof bytes);
    if (me == from) {
      // `transfer` writes on the other side alone.
      transfer(from, to, const_cast<std::byte *>(source->bytes().data()), bytes);
      return;
    }
    WholeFile target(unfinished, static_cast<uint64_t>(bytes), /*create=*/true);
    transfer(from, to, target.data(), bytes);
    target.sync();
    renameDurably(unfinished, path);
  }

  /// Called by `from`, which sends, and `to`, which receives.
  void transfer(int64_t from, int64_t to, std::byte *data, int64_t bytes) {
    const int64_t peer = me == from ? to : from;
    if (reserved.insert({from, to}).second)
      world.reserveSend(peer, pieceBytes);
    for (int64_t begin = 0; begin < bytes; begin += pieceBytes) {
      int64_t length = std::min(pieceBytes, bytes - begin);
      if (me == from)
        world.send(data + begin, length, peer);
      else
        world.receive(data + begin, length, peer);
    }
  }

  const std::string folder;
  const FolderDisks &disks;
  const Image &image;
  Communicator &world;
  const int64_t me;
  std::string own; /* the manifest of this rank's disk */
  std::set<std::pair<int64_t, int64_t>> reserved;
};

} // namespace

std::unique_ptr<CheckpointReader> gatherCheckpoint(const std::string &directory, int64_t step, const FolderDisks &disks,
                                                   const Image &image, Communicator &world) {
  if (std::string problem = Gathering(directory, step, disks, image, world).run(); !problem.empty())
    fail(problem);
  return std::make_unique<CheckpointReader>(checkpointPath(directory, step), FilesHere::Part);
}

int64_t newestStep(const std::string &directory, int64_t below, Communicator &world) {
  int64_t mine = -1;
  for (int64_t step : checkpointSteps(directory))
    mine = step < below ? std::max(mine, step) : mine;
  std::vector<int64_t> all(static_cast<size_t>(world.size()));
  world.allGather(&mine, all.data(), 1, DTCC_I64);
  return *std::max_element(all.begin(), all.end());
}

std::unique_ptr<CheckpointReader> gatherNewestCheckpoint(const std::string &directory, const FolderDisks &disks,
                                                         const Image &image, Communicator &world) {
  int64_t step = INT64_MAX;
  bool any = false;
  while ((step = newestStep(directory, step, world)) >= 0) {
    any = true;
    std::string problem = Gathering(directory, step, disks, image, world).run();
    if (problem.empty())
      return std::make_unique<CheckpointReader>(checkpointPath(directory, step), FilesHere::Part);
    if (world.index() == 0)
      std::cerr << "warning: " << problem << ": checkpoint " << checkpointPath(directory, step) << " is left out\n";
  }
  if (any)
    fail("no checkpoint of ", directory,
         " is whole on these hosts: bring back the disk that is missing, or start anew "
         "in another folder");
  return nullptr;
}

} // namespace dtcc::rt
