//===- CheckpointFuzz.cpp - Any bytes as a checkpoint -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is the manifest and the files of the ranks (splitParts), which are named "0", "1", ... It is loaded by both
// ranks of the tests' program.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/core/Error.h"
#include "tests/fuzz/Target.h"
#include "tests/unit/runtime/LinearRegression.h"

#include <filesystem>

using namespace dtcc;

/// A rank of the program, with memory for all its arenas.
struct Loader {
  Loader(const rt::Image &image, int64_t number) : team(1), rank(image, number, team, /*seed=*/0) {
    for (size_t i = 0; i < image.arenas().size(); ++i) {
      memory.emplace_back(image.arenas()[i].bytes / 8 + 8);
      rank.arenas[i] = reinterpret_cast<std::byte *>(memory.back().data());
    }
  }
  rt::ThreadTeam team;
  std::vector<std::vector<uint64_t>> memory;
  rt::Rank rank;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  static const std::vector<uint64_t> bytes =
      rt::test::linearRegressionImage({.ranks = 2, .microbatches = 1, .batch = 8, .features = 5});
  static const rt::Image image(bytes.data(), rt::test::linearRegressionKernelCount);
  static Loader loaders[] = {{image, 0}, {image, 1}};
  std::vector<std::string_view> parts = fuzz::splitParts(fuzz::textOf(data, size));
  if (parts.empty())
    return 0;
  std::string manifest = folder.write("manifest.json", parts[0]);
  for (size_t i = 1; i < 4; ++i)
    folder.write(std::to_string(i - 1), i < parts.size() ? parts[i] : std::string_view());
  try {
    rt::CheckpointReader reader(std::filesystem::path(manifest).parent_path().string());
    for (Loader &loader : loaders)
      reader.load(loader.rank);
  } catch (const rt::Error &) {
  }
  return 0;
}
