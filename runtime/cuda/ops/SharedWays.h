//===- SharedWays.h - Plans of cuDNN that layers share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_SHAREDWAYS_H
#define DTCC_RUNTIME_CUDA_OPS_SHAREDWAYS_H

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
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

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_SHAREDWAYS_H
