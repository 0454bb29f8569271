//===- StepGraphs.h - The launches of a step, kept ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step launches the same kernels with the same parameters as the one before: what changes
// (inputs, learning rate, number of the step, loss scale) lies in the GPU's memory. So each
// part of a step (Device::runPart) is captured once as a graph, on all streams, and launched
// as a whole from then on.
//
// The first step runs as it stands: libraries load and allocate what a capture forbids.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_STEPGRAPHS_H
#define DTCC_RUNTIME_CUDA_STEPGRAPHS_H

#include "runtime/cuda/driver/Gpu.h"
#include "runtime/device/Device.h"

#include <functional>

namespace dtcc::rt::cuda {

class StepGraphs {
public:
  StepGraphs(Gpu &gpu, GraphUse use) : gpu(gpu), use(use) {}
  ~StepGraphs();
  StepGraphs(const StepGraphs &) = delete;

  /// Nothing is captured: `why`. Throws Error(Status::BadInput) where graphs were asked for.
  void refuse(const std::string &why);
  /// Runs part `number` of a step: by `work`, which launches all of it behind what stands on the first stream and ends
  /// there, or by the graph of it. Where a capture fails and graphs were not asked for, says so and goes on without.
  void run(uint32_t number, const std::function<void()> &work);

private:
  struct Part {
    bool ran = false;
    CUgraphExec graph = nullptr;
  };

  Gpu &gpu;
  GraphUse use;
  std::vector<Part> parts;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_STEPGRAPHS_H
