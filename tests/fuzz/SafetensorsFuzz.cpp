//===- SafetensorsFuzz.cpp - Any bytes as a safetensors file -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/core/Error.h"
#include "tests/fuzz/Target.h"

#include <algorithm>

using namespace dtcc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  try {
    rt::SafetensorsFile file(folder.write("x.safetensors", fuzz::textOf(data, size)));
    for (const auto &[name, entry] : file.entries()) {
      rt::shapeText(entry.shape);
      // The cells of an entry lie in the file.
      int64_t count = std::min<int64_t>(entry.elements(), 64);
      std::vector<float> cells(static_cast<size_t>(count));
      rt::convertElements(file.type(name, entry), file.data(entry), DTCC_F32, cells.data(), count, /*rounding=*/true);
      if (entry.bytes > 0 && file.data(entry)[entry.bytes - 1] == std::byte(1))
        file.find(name);
    }
  } catch (const rt::Error &) {
  }
  return 0;
}
