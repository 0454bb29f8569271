//===- Weights.cpp - Whole parameters, loaded and saved ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Weights.h"

#include "runtime/checkpoint/WholeFile.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <cstring>
#include <optional>

namespace dtcc::rt {

void loadWholeTensor(const SafetensorsFile &file, const Rank &rank, const dtcc_state &state) {
  std::string name(rank.image.string(state.name));
  const SafetensorsEntry *entry = file.find(name);
  if (!entry)
    fail(file.path(), ": tensor '", name, "' is missing");
  std::vector<int64_t> saved(state.saved_sizes, state.saved_sizes + state.saved_rank), factored;
  for (uint32_t d = 0; d < state.rank; ++d)
    factored.push_back(state.dims[d].size);
  if (entry->shape != saved && entry->shape != factored)
    fail(file.path(), ": tensor '", name, "' must have the shape ", shapeText(saved),
         ", got: ", shapeText(entry->shape));
  FileType type = file.type(name, *entry);
  const std::byte *data = file.data(*entry);
  int64_t width = fileTypeSize(type);
  StateRuns runs(rank, state);
  for (StateRun run; runs.next(run);) {
    int64_t bad = convertElements(type, data + run.whole * width, state.dtype, run.address, run.length, true);
    if (bad >= 0)
      fail(file.path(), ": tensor '", name, "': element ", run.whole + bad, " of type ", fileTypeName(type),
           " does not fit ", dtypeName(state.dtype), ", got: ", elementAsDouble(type, data, run.whole + bad));
  }
}

void saveWholeTensors(const std::string &path, const Rank &rank) {
  const Image &image = rank.image;
  SafetensorsLayout layout;
  std::vector<const dtcc_state *> states;
  for (const dtcc_state &state : image.states()) {
    if (state.role == DTCC_STATE_SLOT || image.isCopy(state))
      continue;
    states.push_back(&state);
    layout.add(std::string(image.string(state.name)), state.dtype,
               {state.saved_sizes, state.saved_sizes + state.saved_rank});
  }
  layout.setMetadata("format", "pt");
  layout.setMetadata("producer", "dtcc");
  layout.finish();

  std::string temporary = path + ".tmp";
  std::optional<WholeFile> file;
  if (rank.abi.rank == 0) {
    file.emplace(temporary, layout.fileBytes(), /*create=*/true);
    std::memcpy(file->data(), layout.headerBytes().data(), layout.headerBytes().size());
  }
  if (rank.world)
    rank.world->barrier();
  if (!file)
    file.emplace(temporary, layout.fileBytes(), /*create=*/false);
  for (size_t i = 0; i < states.size(); ++i) {
    const dtcc_state &state = *states[i];
    if (!ownsCells(image.mesh(), layoutOf(image, state), rank.coordinates.data()))
      continue;
    int64_t width = dtcc_dtype_size(state.dtype);
    StateRuns runs(rank, state);
    for (StateRun run; runs.next(run);)
      std::memcpy(file->data() + layout.offset(i) + static_cast<uint64_t>(run.whole * width), run.address,
                  static_cast<size_t>(run.length * width));
  }
  if (rank.world)
    rank.world->barrier();
  if (rank.abi.rank == 0) {
    file->sync();
    renameDurably(temporary, path);
  }
}

} // namespace dtcc::rt
