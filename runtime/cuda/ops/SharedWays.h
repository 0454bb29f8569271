//===- SharedWays.h - Plans of cuDNN that layers share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_SHAREDWAYS_H
#define DTCC_RUNTIME_CUDA_OPS_SHAREDWAYS_H

#include "runtime/cuda/driver/CudaOp.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dtcc::rt::cuda {

template <typename Way> using SharedWays = std::shared_ptr<const std::vector<Way>>;

/// At most `most` ways of a handle to solve the problem that `text` describes, made once for all layers that have it:
/// the library compiles kernels for a second or more.
template <typename Way, typename Make>
SharedWays<Way> shareWays(void *handle, const std::string &text, size_t most, Make make) {
  static std::mutex mutex;
  static std::map<std::tuple<void *, std::string, size_t>, std::weak_ptr<const std::vector<Way>>> made;
  const std::tuple key(handle, text, most);
  {
    std::lock_guard lock(mutex);
    if (SharedWays<Way> known = made[key].lock())
      return known;
  }
  // A handle is one rank's, so that nobody else makes the same meanwhile.
  auto ways = std::make_shared<const std::vector<Way>>(make());
  std::lock_guard lock(mutex);
  made[key] = ways;
  return ways;
}

/// Names at most `most` ways for --tune, each by its engine and its place among the ways.
template <typename Way> std::vector<LibraryAlgorithm> algorithmsOf(const std::vector<Way> &ways, int most) {
  std::vector<LibraryAlgorithm> result;
  for (uint64_t i = 0; i < ways.size() && result.size() < static_cast<size_t>(most); ++i)
    result.push_back({static_cast<uint64_t>(ways[i].plan.engine), i});
  return result;
}

/// Returns the way that algorithmsOf named so, or null if another engine has its place now.
template <typename Way> const Way *wayOf(const std::vector<Way> &ways, const LibraryAlgorithm &algorithm) {
  const auto [engine, place] = std::pair(algorithm[0], algorithm[1]);
  return place < ways.size() && static_cast<uint64_t>(ways[place].plan.engine) == engine ? &ways[place] : nullptr;
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_SHAREDWAYS_H
