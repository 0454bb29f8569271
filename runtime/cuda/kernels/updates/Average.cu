//===- Average.cu - Averages of parameters over the steps
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As runtime/kernels/ops/updates/AverageOps.cpp. Each cell is read and written once, 16 bytes a thread: state that lies
// in the host's memory (--offload=optimizer) crosses the link once in each direction.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/updates/Average.h"

using namespace dtcc::rt::cuda;

namespace {

/// Runs `element(p, average)` for the cells of the block's chunk, and stores what it changes: the averages, and with
/// `both` the parameters and their copy.
template <bool both, typename Element> DTCC_DEVICE void chunkBy(const Average &p, Element element) {
  const int64_t begin = blockX() * averageChunk, end = begin + averageChunk < p.size ? begin + averageChunk : p.size;
  for (int64_t first = begin + threadIndex() * 4; first < end; first += averageThreads * 4) {
    if (p.aligned && first + 4 <= end) {
      Cells<4> weights = Cells<4>::load(p.p, DTCC_F32, first), averages = Cells<4>::load(p.average, DTCC_F32, first);
      for (int j = 0; j < 4; ++j)
        element(weights.of[j], averages.of[j]);
      averages.store(p.average, DTCC_F32, first);
      if (both)
        weights.store(p.p, DTCC_F32, first);
      for (int j = 0; both && p.copy && j < 4; ++j)
        storeCell(p.copy, p.copyType, first + j, weights.of[j]);
      continue;
    }
    for (int64_t i = first; i < first + 4 && i < end; ++i) {
      float weight = p.p[i], average = p.average[i];
      element(weight, average);
      p.average[i] = average;
      if (both)
        p.p[i] = weight;
      if (both && p.copy)
        storeCell(p.copy, p.copyType, i, weight);
    }
  }
}

} // namespace

DTCC_KERNEL(average, Average, averageThreads) {
  // The first average is the parameters themselves.
  const bool isFirst = *p.step <= 1;
  const float part = static_cast<float>(1 - p.decay);
  chunkBy<false>(
      p, [=](float &weight, float &average) { average = isFirst ? weight : average + part * (weight - average); });
}

DTCC_KERNEL(exchange_average, Average, averageThreads) {
  chunkBy<true>(p, [](float &weight, float &average) {
    const float other = weight;
    weight = average;
    average = other;
  });
}
