//===- StepGraphs.cpp - The launches of a step, kept ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/StepGraphs.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <utility>

namespace dtcc::rt::cuda {

StepGraphs::~StepGraphs() {
  for (const Part &part : parts)
    gpu.destroy(part.graph);
}

void StepGraphs::refuse(const std::string &why) {
  if (use == GraphUse::On)
    fail("--cuda-graph=on: a step cannot be kept as a graph: ", why);
  use = GraphUse::Off;
}

void StepGraphs::run(uint32_t number, const std::function<void()> &work) {
  parts.resize(std::max<size_t>(parts.size(), number + 1));
  Part &part = parts[number];
  if (part.graph)
    return gpu.launch(part.graph, gpu.firstStream());
  if (use == GraphUse::Off || !std::exchange(part.ran, true))
    return work();
  try {
    part.graph = gpu.capture(gpu.firstStream(), work);
  } catch (const Error &error) {
    if (use == GraphUse::On || error.status != Status::Device)
      throw;
    use = GraphUse::Off;
    // One note for all ranks of the process.
    static std::atomic_flag told;
    if (!told.test_and_set())
      std::cerr << message("note: steps run without CUDA graphs: ", error.what(), "\n") << std::flush;
    return work();
  }
  gpu.launch(part.graph, gpu.firstStream());
}

} // namespace dtcc::rt::cuda
