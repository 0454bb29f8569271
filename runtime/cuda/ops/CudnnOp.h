//===- CudnnOp.h - Ops of cuDNN, with plans that layers share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_CUDNNOP_H
#define DTCC_RUNTIME_CUDA_OPS_CUDNNOP_H

#include "runtime/core/Error.h"
#include "runtime/cuda/driver/CudaOp.h"
#include "runtime/cuda/driver/CudnnGraph.h"

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

/// An op that cuDNN computes by a graph. Its algorithms are the plans of the library's engines, and their words are the
/// number of the engine and the place among the plans. A Way has a graph and one of its plans.
template <typename Way> class CudnnOp : public CudaOp {
public:
  /// Takes the way that the heuristic has first. Throws CudnnRefusal if the library has none.
  void takeFirst() {
    ways = waysOf(1);
    way = &ways->front();
  }
  std::vector<LibraryAlgorithm> algorithms(int most) override {
    const SharedWays<Way> known = waysOf(kMeasured);
    std::vector<LibraryAlgorithm> result;
    for (uint64_t i = 0; i < known->size() && result.size() < static_cast<size_t>(most); ++i)
      result.push_back({static_cast<uint64_t>((*known)[i].plan.engine), i});
    return result;
  }
  bool choose(const LibraryAlgorithm &algorithm) override {
    const auto [engine, place] = std::pair(algorithm[0], algorithm[1]);
    const SharedWays<Way> known = waysOf(kMeasured);
    // Another engine may have its place now.
    if (place >= known->size() || static_cast<uint64_t>((*known)[place].plan.engine) != engine)
      return false;
    ways = known, way = &(*known)[place];
    return true;
  }
  std::string_view loads() const override { return text; }

protected:
  /// `text` describes the problem: ops with the same text have the same ways.
  CudnnOp(std::string text, void *handle) : text(std::move(text)), handle(handle) {}
  /// At most `most` ways, in the order of the heuristic. Throws CudnnRefusal if there is none.
  virtual std::vector<Way> makeWays(size_t most) const = 0;
  /// Runs the chosen way over the tensors of its graph. `what` names the op to users.
  void execute(const Rank &rank, const Call &call, const std::vector<void *> &tensors, void *workspace,
               const char *what) const {
    try {
      if (int status = cudnn().setStream(handle, call.stream))
        throw CudnnRefusal{"cudnnSetStream: status " + std::to_string(status)};
      way->graph->execute(handle, way->plan, tensors, workspace);
    } catch (const CudnnRefusal &refusal) {
      failWith(Status::Device, "rank ", rank.abi.rank, ": ", what, ": ", refusal.reason);
    }
  }

  const std::string text;
  void *const handle;
  const Way *way = nullptr;

private:
  /// Number of engines that --tune measures.
  static constexpr size_t kMeasured = 4;

  SharedWays<Way> waysOf(size_t most) const {
    return shareWays<Way>(handle, text, most, [&] { return makeWays(most); });
  }

  SharedWays<Way> ways; // of which one is chosen
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_CUDNNOP_H
