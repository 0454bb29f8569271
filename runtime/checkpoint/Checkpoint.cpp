//===- Checkpoint.cpp - Sharded checkpoints ------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/WholeFile.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

std::string rankFile(int64_t rank) {
  std::string number = std::to_string(rank);
  return "rank-" + std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number + ".safetensors";
}

void writeRankFile(const fs::path &path, const Rank &rank) {
  const Image &image = rank.image;
  SafetensorsLayout layout;
  std::vector<const dtcc_state *> owned;
  for (const dtcc_state &state : rank.states()) {
    if (image.isCopy(state) || !ownsCells(image.mesh(), layoutOf(image, state), rank.coordinates.data()))
      continue;
    int64_t cells = 0;
    StateRuns runs(rank, state);
    for (StateRun run; runs.next(run);)
      cells += run.length;
    owned.push_back(&state);
    layout.add(std::string(image.string(state.name)), state.dtype, {cells});
  }
  layout.finish();
  WholeFile file(path.string(), layout.fileBytes(), /*create=*/true);
  std::memcpy(file.data(), layout.headerBytes().data(), layout.headerBytes().size());
  for (size_t i = 0; i < owned.size(); ++i) {
    std::byte *to = file.data() + layout.offset(i);
    StateRuns runs(rank, *owned[i]);
    for (StateRun run; runs.next(run);) {
      auto bytes = static_cast<size_t>(run.length * dtcc_dtype_size(owned[i]->dtype));
      std::memcpy(to, run.address, bytes);
      to += bytes;
    }
  }
  file.sync();
}

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

int64_t stepOf(const std::string &name) {
  if (name.rfind("step-", 0) != 0 || name.find_first_not_of("0123456789", 5) != std::string::npos || name.size() == 5)
    return -1;
  return std::strtoll(name.c_str() + 5, nullptr, 10);
}

} // namespace

struct CheckpointReader::Contents {
  Manifest manifest;
  std::vector<SafetensorsFile> files; /* by rank */
};

void writeCheckpoint(const std::string &directory, const RunPosition &position, const Rank &rank) {
  std::string name = "step-" + std::to_string(position.step);
  fs::path temporary = fs::path(directory) / (name + ".tmp"), final = fs::path(directory) / name;
  auto barrier = [&] {
    if (rank.world)
      rank.world->barrier();
  };
  std::error_code error;
  if (rank.abi.rank == 0) {
    fs::remove_all(temporary, error); // what an interrupted run left
    fs::create_directories(temporary, error);
    if (error)
      failWith(Status::Write, "cannot create ", temporary.string(), ": ", error.message());
  }
  barrier();
  writeRankFile(temporary / rankFile(rank.abi.rank), rank);
  barrier();
  if (rank.abi.rank != 0)
    return;
  std::vector<std::string> files;
  for (int64_t i = 0; i < rank.abi.ranks; ++i)
    files.push_back(rankFile(i));
  writeWhole((temporary / "manifest.json").string(), manifestText(rank.image, position, files));
  // A repeated run writes a step again: the older checkpoint gives way.
  fs::remove_all(final, error);
  renameDurably(temporary.string(), final.string());
  writeWhole((fs::path(directory) / "latest").string(), name + "\n");
}

std::string latestCheckpoint(const std::string &directory) {
  std::error_code error;
  std::ifstream file(fs::path(directory) / "latest");
  std::string name;
  if (file >> name && stepOf(name) >= 0 && fs::exists(fs::path(directory) / name / "manifest.json", error))
    return (fs::path(directory) / name).string();
  // The program was stopped between the rename and `latest`, or `latest` was lost.
  int64_t newest = -1;
  for (const auto &entry : fs::directory_iterator(directory, error))
    if (fs::exists(entry.path() / "manifest.json", error))
      newest = std::max(newest, stepOf(entry.path().filename().string()));
  return newest < 0 ? "" : (fs::path(directory) / ("step-" + std::to_string(newest))).string();
}

CheckpointReader::CheckpointReader(const std::string &path) : path(path), contents(new Contents) {
  contents->manifest = readManifest((fs::path(path) / "manifest.json").string());
  where = contents->manifest.position;
  for (const std::string &file : contents->manifest.files)
    contents->files.emplace_back((fs::path(path) / file).string());
}

CheckpointReader::~CheckpointReader() = default;

void CheckpointReader::load(const Rank &rank) const {
  const Image &image = rank.image;
  const Mesh &mesh = contents->manifest.mesh;
  for (const dtcc_state &state : rank.states()) {
    std::string name(image.string(state.name));
    auto found = contents->manifest.states.find(name);
    if (found == contents->manifest.states.end())
      fail("checkpoint ", path, ": tensor '", name, "' is missing");
    const SavedState &saved = found->second;
    StateLayout wanted = layoutOf(image, state);
    // Parameters that are computed in halves are saved in f32, but for frozen ones: a program of another precision
    // rounds or widens them.
    bool same = (saved.dtype == state.dtype || (isFloatType(saved.dtype) && isFloatType(state.dtype))) &&
                saved.layout.dims.size() == wanted.dims.size();
    for (size_t d = 0; same && d < wanted.dims.size(); ++d)
      same = saved.layout.dims[d].size == wanted.dims[d].size;
    if (!same)
      fail("checkpoint ", path, ": tensor '", name, "' has another shape or type than in this program");
    int64_t needed = 0, copied = 0;
    StateRuns held(rank, state);
    for (StateRun run; held.next(run);)
      needed += run.length;
    for (int64_t r = 0; r < mesh.ranks(); ++r) {
      std::vector<int64_t> coordinates = mesh.coordinates(r, 0);
      if (!ownsCells(mesh, saved.layout, coordinates.data()))
        continue;
      const SafetensorsFile &file = contents->files[static_cast<size_t>(r)];
      const SafetensorsEntry *entry = file.find(name);
      int64_t cells = 0;
      HeldRuns stored(mesh, saved.layout, coordinates.data(), nullptr);
      for (Run run; stored.next(run);)
        cells += run.length;
      if (!entry || entry->bytes != static_cast<uint64_t>(cells * dtcc_dtype_size(saved.dtype)))
        fail(file.path(), ": tensor '", name, "' must hold ", cells, " elements, got: ", entry ? entry->elements() : 0);
      copyCommon(HeldRuns(mesh, saved.layout, coordinates.data(), nullptr), file.data(*entry), fileTypeOf(saved.dtype),
                 StateRuns(rank, state), state.dtype, copied);
    }
    if (copied != needed)
      fail("checkpoint ", path, ": tensor '", name, "' holds ", copied, " of the ", needed, " elements needed");
  }
}

} // namespace dtcc::rt
