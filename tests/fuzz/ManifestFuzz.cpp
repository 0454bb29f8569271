//===- ManifestFuzz.cpp - Any bytes as the manifest of a checkpoint -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Manifest.h"
#include "runtime/core/Error.h"
#include "tests/fuzz/Target.h"

using namespace dtcc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  try {
    rt::Manifest manifest = rt::readManifest(folder.write("manifest.json", fuzz::textOf(data, size)));
    std::vector<int64_t> first = manifest.mesh.coordinates(0, 0);
    for (const auto &[name, state] : manifest.states) {
      rt::HeldRuns runs(manifest.mesh, state.layout, first.data(), nullptr);
      rt::Run run;
      for (int i = 0; i < 64 && runs.next(run); ++i)
        ;
      rt::ownsCells(manifest.mesh, state.layout, first.data());
    }
  } catch (const rt::Error &) {
  }
  return 0;
}
