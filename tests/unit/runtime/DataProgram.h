//===- DataProgram.h - Programs that only read data ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images of programs with inputs and nothing else, for tests of what fills the inputs.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_RUNTIME_DATAPROGRAM_H
#define DTCC_TESTS_UNIT_RUNTIME_DATAPROGRAM_H

#include "runtime/core/Error.h"
#include "runtime/data/Batches.h"
#include "tests/unit/runtime/ImageBuilder.h"
#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace dtcc::rt::test {

/// The message of the error that `body` ends in; empty if it ends in none.
inline std::string failure(const std::function<void()> &body) {
  try {
    body();
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

/// A program of `ranks` x `microbatches` that only reads its inputs.
class InputsOnly {
public:
  InputsOnly(int64_t batch, int64_t ranks = 1, int64_t microbatches = 1) : batch(batch), microbatches(microbatches) {
    dp = b.axis("dp", ranks);
    mb = b.axis("mb", microbatches, DTCC_AXIS_TIME);
    arena = b.arena("work");
    b.header.training.batch = batch;
  }
  /// An input sharded over {mb, dp} in its samples and over `columns` in dimension 1.
  dtcc_input &input(const char *name, dtcc_dtype type, std::vector<int64_t> rest, int64_t ranks = 1,
                    dtcc_input_role role = DTCC_INPUT_DATA) {
    dtcc_input row{};
    row.name = b.string(name);
    row.role = role;
    row.rank = static_cast<uint32_t>(rest.size() + 1);
    row.dims[0] = dimOf(batch, batch, {mb, dp});
    std::vector<int64_t> local{batch / (ranks * microbatches)};
    for (size_t d = 0; d < rest.size(); ++d) {
      row.dims[d + 1] = dimOf(rest[d], rest[d]);
      local.push_back(rest[d]);
    }
    row.view = b.view(arena, type, local, microbatches);
    b.inputs.push_back(row);
    return b.inputs.back();
  }
  const Image &image() {
    if (!made) {
      bytes = b.build();
      made.emplace(bytes.data(), 0);
    }
    return *made;
  }
  /// The values of input `index` on `rank` in `slot`.
  template <typename T>
  std::vector<T> values(const Batches &batches, size_t index, int64_t number, int64_t slot, int64_t first) {
    ThreadTeam team(1);
    Rank rank(image(), number, team, 0);
    std::vector<std::byte> memory(image().arenas()[0].bytes);
    rank.arenas[0] = memory.data();
    rank.enterSlot(slot);
    batches.fill(rank, slot, first);
    uint32_t view = image().inputs()[index].view;
    auto *start = static_cast<const T *>(rank.address(view, slot));
    return {start, start + elementCount(image().views()[view])};
  }

  ImageBuilder b;
  int64_t batch, microbatches;
  uint8_t dp, mb;
  uint32_t arena;
  std::vector<uint64_t> bytes;
  std::optional<Image> made;
};

/// A file of `count` 16-bit ids from `first` on.
inline void writeShard(const std::string &path, int first, int count) {
  std::vector<uint16_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), static_cast<uint16_t>(first));
  writeFile(path, std::string(reinterpret_cast<const char *>(ids.data()), ids.size() * 2));
}

/// A model of windows of 4 tokens, 2 a step, with labels a token behind.
class TokenModel : public InputsOnly {
public:
  explicit TokenModel(int64_t batch = 2) : InputsOnly(batch) {
    b.header.training.label_shift = 1;
    input("ids", DTCC_I64, {4}, 1, DTCC_INPUT_TOKENS);
    dtcc_input &labels = input("labels", DTCC_I64, {4}, 1, DTCC_INPUT_LABELS);
    labels.lower = 0;
    labels.upper = 1000;
    labels.ignore = 0;
  }
  /// First tokens of the windows of `count` steps from `step` on.
  std::vector<int64_t> firstTokens(const Batches &batches, int64_t step, int64_t count) {
    std::vector<int64_t> result;
    for (int64_t i = step; i < step + count; ++i) {
      std::vector<int64_t> ids = values<int64_t>(batches, 0, 0, 0, i * batch);
      std::vector<int64_t> labels = values<int64_t>(batches, 1, 0, 0, i * batch);
      for (size_t at = 0; at < ids.size(); at += 4) {
        EXPECT_EQ(labels[at], ids[at] + 1);
        result.push_back(ids[at]);
      }
    }
    return result;
  }
};

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_UNIT_RUNTIME_DATAPROGRAM_H
