//===- NpyFuzz.cpp - Any bytes as data and token files -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/data/Npy.h"
#include "runtime/data/SampleSource.h"
#include "runtime/data/TokenCorpus.h"
#include "tests/fuzz/Target.h"

#include <algorithm>

using namespace dtcc;

/// Reads the first and the last sample of a source.
static void readEnds(const rt::SampleSource &source, int64_t elements) {
  std::vector<float> cells(static_cast<size_t>(elements));
  rt::CellRoom room;
  if (source.samples() > 0)
    for (int64_t sample : {int64_t(0), source.samples() - 1}) {
      rt::StoredCells stored = source.at(sample, 0, elements, room);
      rt::convertElements(stored.type, stored.data, DTCC_F32, cells.data(), elements, /*rounding=*/true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  std::string path = folder.write("x.npy", fuzz::textOf(data, size));
  auto attempt = [](auto &&read) {
    try {
      read();
    } catch (const rt::Error &) {
    }
  };
  attempt([&] {
    rt::NpyFile file(path);
    std::vector<int64_t> shape(file.shape().begin() + !file.shape().empty(), file.shape().end());
    int64_t elements = 1;
    for (int64_t each : shape)
      elements = std::min<int64_t>(elements * each, 4096);
    readEnds(*rt::openNpySource({path}, "x", shape), elements);
  });
  attempt([&] { rt::openNpySource({path}, "x", {3}); });
  std::string other = folder.write("x", fuzz::textOf(data, size));
  std::string shard = folder.write("x.bin", fuzz::textOf(data, size));
  for (const std::string &spec :
       {path, other, shard, other + ":u8", other + ":u16", other + ":u32", path + "," + shard})
    attempt([&] {
      rt::TokenCorpus tokens("--tokens", spec);
      for (int64_t shift : {0, 1})
        readEnds(*tokens.windows(/*length=*/7, shift, /*largestShift=*/1), 7);
    });
  return 0;
}
