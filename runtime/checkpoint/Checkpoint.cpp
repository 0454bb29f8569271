//===- Checkpoint.cpp - Sharded checkpoints ------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/abi/Cores.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/ContentHash.h"
#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"
#include "runtime/image/StateValues.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

/// Copies what two ascending sequences of runs have in common. `saved` counts
/// `local` from the start of the file's cells.
void copyCommon(HeldRuns &&saved, const std::byte *data, FileType type, StateRuns &&wanted, uint32_t dtype,
                int64_t &copied) {
  int64_t stride = fileTypeSize(type), width = dtcc_dtype_size(dtype);
  Run from;
  StateRun to;
  int64_t stored = 0;
  bool more = saved.next(from) && wanted.next(to);
  while (more) {
    int64_t begin = std::max(from.whole, to.whole);
    int64_t end = std::min(from.whole + from.length, to.whole + to.length);
    if (begin < end) {
      // Between floats alone the types may differ: every number fits.
      convertElements(type, data + (stored + begin - from.whole) * stride, dtype,
                      to.address + (begin - to.whole) * width, end - begin, /*rounding=*/true);
      copied += end - begin;
    }
    if (from.whole + from.length <= to.whole + to.length) {
      stored += from.length;
      more = saved.next(from);
    } else {
      more = wanted.next(to);
    }
  }
}

} // namespace

struct CheckpointReader::Contents {
  Manifest manifest;
  std::vector<std::optional<SafetensorsFile>> files; /* by rank; empty: not there */
};

/// A rank's file, whose header is as the manifest says.
static SafetensorsFile openFile(const fs::path &folder, const SavedFile &saved) {
  SafetensorsFile file((folder / saved.name).string());
  if (saved.summary && file.bytes() != saved.summary->bytes)
    fail(file.path(), ": the file must have ", saved.summary->bytes, " bytes, got: ", file.bytes());
  if (saved.summary && contentHash(file.header()) != saved.summary->headerHash)
    fail(file.path(), ": the header is not as it was written");
  return file;
}

CheckpointReader::CheckpointReader(const std::string &path, FilesHere files) : path(path), contents(new Contents) {
  contents->manifest = readManifest((fs::path(path) / "manifest.json").string());
  where = contents->manifest.position;
  for (const SavedFile &saved : contents->manifest.files) {
    std::optional<SafetensorsFile> &file = contents->files.emplace_back();
    try {
      file.emplace(openFile(path, saved));
    } catch (const Error &) {
      if (files == FilesHere::All)
        throw;
    }
  }
}

const std::string &CheckpointReader::model() const { return contents->manifest.model; }
const RunIdentity &CheckpointReader::identity() const { return contents->manifest.identity; }

std::vector<CheckpointReader::Damage> CheckpointReader::findDamage(int64_t share, int64_t shares) const {
  struct Task {
    size_t file;
    const std::string *name;
    const SafetensorsEntry *entry;
  };
  std::vector<Task> tasks;
  for (size_t i = 0; i < contents->files.size(); ++i)
    if (contents->files[i] && contents->manifest.files[i].summary && static_cast<int64_t>(i) % shares == share)
      for (const auto &[name, entry] : contents->files[i]->entries())
        tasks.push_back({i, &name, &entry});
  std::vector<char> bad(tasks.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < tasks.size();) {
      const Task &task = tasks[i];
      const SafetensorsFile &file = *contents->files[task.file];
      const auto &metadata = file.metadata();
      auto written = metadata.find(checksumKey(*task.name));
      bad[i] = written == metadata.end() ||
               written->second != hashText(contentHash({file.data(*task.entry), task.entry->bytes}));
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(tasks.size(), static_cast<size_t>(availableCores())); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  std::vector<Damage> found;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (bad[i])
      found.push_back({tasks[i].file, *tasks[i].name});
  return found;
}

std::string CheckpointReader::damage(int64_t share, int64_t shares) const {
  std::vector<Damage> found = findDamage(share, shares);
  if (found.empty())
    return {};
  return message(contents->files[found[0].file]->path(), ": tensor '", found[0].tensor, "' is not as it was written");
}

std::vector<char> CheckpointReader::wholeFiles(int64_t share, int64_t shares) const {
  std::vector<char> whole(contents->files.size());
  for (size_t i = 0; i < whole.size(); ++i)
    whole[i] = contents->files[i] && static_cast<int64_t>(i) % shares == share;
  for (const Damage &each : findDamage(share, shares))
    whole[each.file] = false;
  return whole;
}

std::unique_ptr<CheckpointReader> newestWholeCheckpoint(const std::string &directory, Communicator *world) {
  const int64_t share = world ? world->index() : 0, shares = world ? world->size() : 1;
  std::vector<int64_t> steps = checkpointSteps(directory);
  // All look at what the first one sees, at the same time.
  auto say = [&](int64_t value) {
    if (world)
      world->broadcast(&value, &value, 1, DTCC_I64);
    return value;
  };
  /// How many ranks stand behind the first with a problem, itself included; 0: none has one.
  auto firstWithProblem = [&](bool mine) {
    auto behind = static_cast<int32_t>(mine ? shares - share : 0);
    if (world)
      world->allReduce(&behind, &behind, 1, DTCC_I32, DTCC_MAX);
    return behind;
  };
  const int64_t count = say(static_cast<int64_t>(steps.size()));
  for (int64_t i = 0; i < count; ++i) {
    int64_t step = say(i < static_cast<int64_t>(steps.size()) ? steps[steps.size() - 1 - static_cast<size_t>(i)] : 0);
    std::unique_ptr<CheckpointReader> reader;
    std::string problem;
    try {
      reader = std::make_unique<CheckpointReader>(checkpointPath(directory, step));
      problem = reader->damage(share, shares);
    } catch (const Error &error) {
      problem = error.what();
    }
    int64_t behind = firstWithProblem(!problem.empty());
    if (behind == 0)
      return reader;
    if (behind == shares - share)
      std::cerr << "warning: " << problem << ": checkpoint " << checkpointPath(directory, step) << " is left out\n";
  }
  if (count > 0)
    fail("no checkpoint of ", directory, " is whole: start anew in another folder");
  return nullptr;
}

CheckpointReader::~CheckpointReader() = default;

void CheckpointReader::load(const Rank &rank) const {
  const Image &image = rank.image;
  const Mesh &mesh = contents->manifest.mesh;
  for (const dtcc_state &state : rank.states()) {
    std::string name(image.string(state.name));
    auto found = contents->manifest.states.find(name);
    if (found == contents->manifest.states.end())
      fail("checkpoint ", path, ": tensor '", name,
           "' is missing: the program that wrote it kept no such state (another "
           "optimizer, --ema, --freeze or --precision of dtcc?); a model that --save wrote starts anew by --weights");
    const SavedState &saved = found->second;
    StateLayout wanted = layoutOf(image, state);
    // Parameters that are computed in halves are saved in f32, but for frozen ones: a program of another precision
    // rounds or widens them.
    const uint32_t type = valueTypeOf(state);
    bool same = (saved.dtype == type || (isFloatType(saved.dtype) && isFloatType(type))) &&
                saved.layout.dims.size() == wanted.dims.size();
    for (size_t d = 0; same && d < wanted.dims.size(); ++d)
      same = saved.layout.dims[d].size == wanted.dims[d].size;
    if (!same)
      fail("checkpoint ", path, ": tensor '", name, "' has another shape or type than in this program");
    int64_t needed = 0, copied = 0;
    StateValues values(rank, state);
    StateRuns held = values.runs();
    for (StateRun run; held.next(run);)
      needed += run.length;
    for (int64_t r = 0; r < mesh.ranks(); ++r) {
      std::vector<int64_t> coordinates = mesh.coordinates(r, 0);
      if (!ownsCells(mesh, saved.layout, coordinates.data()))
        continue;
      if (!contents->files[static_cast<size_t>(r)])
        continue;
      const SafetensorsFile &file = *contents->files[static_cast<size_t>(r)];
      const SafetensorsEntry *entry = file.find(name);
      int64_t cells = 0;
      HeldRuns stored(mesh, saved.layout, coordinates.data(), nullptr);
      for (Run run; stored.next(run);)
        cells += run.length;
      if (!entry || entry->bytes != static_cast<uint64_t>(cells * dtcc_dtype_size(saved.dtype)))
        fail(file.path(), ": tensor '", name, "' must hold ", cells, " elements, got: ", entry ? entry->elements() : 0);
      copyCommon(HeldRuns(mesh, saved.layout, coordinates.data(), nullptr), file.data(*entry), fileTypeOf(saved.dtype),
                 values.runs(), type, copied);
    }
    if (copied != needed)
      fail("checkpoint ", path, ": tensor '", name, "' holds ", copied, " of the ", needed, " elements needed");
    values.store();
  }
}

} // namespace dtcc::rt
