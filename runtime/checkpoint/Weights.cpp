//===- Weights.cpp - Whole tensors into a rank's state -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Weights.h"

#include "runtime/core/Error.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/image/StateValues.h"

#include <algorithm>
#include <atomic>

namespace dtcc::rt {
namespace {

/// Bytes of a file after which the pages that were read are given back, and elements that are worth a thread.
constexpr uint64_t releasedBytes = 16 << 20;
constexpr int64_t grain = 1 << 16;

/// Converts `count` elements on all threads of the rank. Returns -1 or the first element that does not fit.
int64_t convertOnTeam(ThreadTeam &team, FileType from, const std::byte *source, uint32_t to, std::byte *target,
                      int64_t count) {
  std::atomic<int64_t> bad = count;
  int64_t width = fileTypeSize(from), wide = dtcc_dtype_size(to);
  team.parallelFor(count, grain, [&](int64_t begin, int64_t end) {
    int64_t at = convertElements(from, source + begin * width, to, target + begin * wide, end - begin, true);
    for (int64_t seen = bad; at >= 0 && begin + at < seen && !bad.compare_exchange_weak(seen, begin + at);) {
    }
  });
  return bad < count ? bad.load() : -1;
}

} // namespace

void loadWholeTensor(const SafetensorsFile &file, const std::string &name, const Rank &rank, const dtcc_state &state) {
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
  const uint32_t valueType = valueTypeOf(state);
  const std::byte *data = file.data(*entry);
  int64_t width = fileTypeSize(type), wide = dtcc_dtype_size(valueType);
  auto most = static_cast<int64_t>(releasedBytes) / width;
  uint64_t released = entry->offset;
  StateValues values(rank, state);
  StateRuns runs = values.runs();
  for (StateRun run; runs.next(run);)
    for (int64_t done = 0; done < run.length; done += most) {
      int64_t count = std::min(most, run.length - done), first = run.whole + done;
      int64_t bad = convertOnTeam(rank.team, type, data + first * width, valueType, run.address + done * wide, count);
      if (bad >= 0)
        fail(file.path(), ": tensor '", name, "': element ", first + bad, " of type ", fileTypeName(type),
             " does not fit ", dtypeName(valueType), ", got: ", elementAsDouble(type, data, first + bad));
      uint64_t read = entry->offset + static_cast<uint64_t>((first + count) * width);
      if (read - released >= releasedBytes) {
        file.release(released, read);
        released = read;
      }
    }
  values.store();
  file.release(released, entry->offset + entry->bytes);
}

} // namespace dtcc::rt
