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
namespace {

/// Captures as a graph the commands that `work` issues to `origin` and to streams that are joined to it by events.
/// Nothing is run. `work` must not wait or allocate; an exception from it ends the capture.
CUgraphExec capture(Gpu &gpu, CUstream origin, const std::function<void()> &work) {
  const Driver &cuda = driver();
  // The capture is of this thread alone, because other ranks of the process may allocate meanwhile.
  gpu.check(cuda.beginCapture(origin, kCaptureOfThread), "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  gpu.setCapturing(true);
  try {
    work();
    gpu.setCapturing(false);
  } catch (...) {
    gpu.setCapturing(false);
    cuda.endCapture(origin, &graph); // fails, or gives what nobody wants
    if (graph)
      cuda.destroyGraph(graph);
    throw;
  }
  gpu.nowDoing("keeping the step as a graph");
  gpu.check(cuda.endCapture(origin, &graph), "cuStreamEndCapture");
  CUgraphExec made = nullptr;
  CUresult error = cuda.instantiate(&made, graph, 0);
  cuda.destroyGraph(graph);
  gpu.check(error, "cuGraphInstantiate");
  return made;
}

void launch(Gpu &gpu, CUgraphExec graph) {
  gpu.nowDoing("a step");
  CUresult error = gpu.waiting([&] { return driver().launchGraph(graph, gpu.firstStream()); });
  gpu.check(error, "cuGraphLaunch");
}

} // namespace

StepGraphs::~StepGraphs() {
  for (const Part &part : parts)
    if (part.graph)
      driver().destroyExecutable(part.graph);
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
    return launch(gpu, part.graph);
  if (use == GraphUse::Off || !std::exchange(part.ran, true))
    return work();
  try {
    part.graph = capture(gpu, gpu.firstStream(), work);
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
  launch(gpu, part.graph);
}

} // namespace dtcc::rt::cuda
