//===- CopyOps.cpp - Copies and fills as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Copy.h"
#include "runtime/cuda/ops/CudaOps.h"
#include "runtime/cuda/ops/Launch.h"
#include "runtime/cuda/ops/Transposing.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace dtcc::rt::cuda {
namespace {

const char *const copies[] = {"copy_1", "copy_2", "copy_4", "copy_8", "copy_16"};
const char *const fills[] = {"fill_1", "fill_2", "fill_4", "fill_8", "fill_16"};

/// A box of bytes: dimensions in the order of memory, neighbouring ones joined, and the widest unit that strides allow.
class Box {
public:
  Box(const dtcc_view &from, const dtcc_view &to, const char *const (&names)[5], Launcher &launcher)
      : launcher(launcher) {
    const int64_t bytes = dtcc_dtype_size(to.dtype);
    std::vector<CopyDim> all;
    for (int d = 0; d < to.rank; ++d) {
      empty |= to.sizes[d] == 0;
      if (to.sizes[d] != 1)
        all.push_back({to.sizes[d], from.strides[d] * bytes, to.strides[d] * bytes});
    }
    // Images with channels last have their channels second among the dimensions: what counts is where cells lie.
    std::ranges::sort(all, std::ranges::greater(), [](const CopyDim &dim) { return std::pair(dim.to, dim.from); });
    for (const CopyDim &dim : all)
      if (CopyDim *last = dims.empty() ? nullptr : &dims.back();
          last && last->from == dim.size * dim.from && last->to == dim.size * dim.to)
        *last = {last->size * dim.size, dim.from, dim.to};
      else
        dims.push_back(dim);
    // The innermost dimension of cells that are a multiple of the unit, and strides too.
    dims.push_back({bytes, 1, 1});
    if (dims.size() > 1 && dims[dims.size() - 2].from == bytes && dims[dims.size() - 2].to == bytes) {
      dims[dims.size() - 2] = {dims[dims.size() - 2].size * bytes, 1, 1};
      dims.pop_back();
    }
    while (widest < 4 && fits(int64_t{2} << widest))
      ++widest;
    for (int u = 0; u <= widest; ++u)
      kernels[u] = Kernel(launcher, "Copy", names[u]);
  }

  /// Moves the box between two addresses; `pattern`: of 16 bytes, or null.
  void run(const Call &call, const void *from, void *to, const uint32_t *pattern) const {
    if (empty)
      return;
    int unit = widest;
    while (!isAligned(from, uint64_t{1} << unit) || !isAligned(to, uint64_t{1} << unit))
      --unit;
    StridedBox p = {};
    p.from = from, p.to = to, p.units = 1;
    for (const CopyDim &dim : dims) {
      bool last = &dim == &dims.back();
      p.sizes[p.rank] = last ? dim.size >> unit : dim.size;
      p.fromStrides[p.rank] = last ? int64_t{1} << unit : dim.from;
      p.toStrides[p.rank] = last ? int64_t{1} << unit : dim.to;
      p.units *= p.sizes[p.rank++];
    }
    // A unit for each cell of the innermost dimension: that says nothing.
    if (p.rank > 1 && p.sizes[p.rank - 1] == 1)
      --p.rank;
    p.setDivisions();
    if (pattern)
      std::memcpy(p.pattern, pattern, sizeof p.pattern);
    kernels[unit](call, loopBlocks(partsOf(p.units, copyThreads), launcher), copyThreads, p);
  }

  bool isEmpty() const { return empty; }
  /// Outermost first; the last one counts adjacent bytes.
  const std::vector<CopyDim> &dimensions() const { return dims; }

private:
  bool fits(int64_t unit) const {
    if (dims.back().size % unit)
      return false;
    for (size_t d = 0; d + 1 < dims.size(); ++d)
      if (dims[d].from % unit || dims[d].to % unit)
        return false;
    return true;
  }

  Launcher &launcher;
  std::vector<CopyDim> dims;
  Kernel kernels[5]; // by the unit's logarithm
  int widest = 0;
  bool empty = false;
};

class CopyOp final : public CudaOp {
public:
  CopyOp(const dtcc_view &from, const dtcc_view &to, Launcher &launcher) : box(from, to, copies, launcher) {
    if (!box.isEmpty())
      transposing = Transposing::make(box.dimensions(), launcher);
  }
  void run(Rank &, const Call &call) override {
    if (transposing && transposing->fits(call.buffers[0], call.buffers[1]))
      transposing->run(call, call.buffers[0], call.buffers[1]);
    else
      box.run(call, call.buffers[0], call.buffers[1], nullptr);
  }

private:
  Box box;
  std::optional<Transposing> transposing;
};

/// A copy to or from host memory.
class HostCopyOp final : public CudaOp {
public:
  HostCopyOp(const dtcc_view &view, Launcher &launcher)
      : launcher(launcher), bytes(static_cast<uint64_t>(dtcc_dtype_size(view.dtype))) {
    for (int d = 0; d < view.rank; ++d)
      bytes *= static_cast<uint64_t>(view.sizes[d]);
  }
  void run(Rank &, const Call &call) override { launcher.copy(call.buffers[1], call.buffers[0], bytes, call.stream); }

private:
  Launcher &launcher;
  uint64_t bytes;
};

class FillOp final : public CudaOp {
public:
  FillOp(const dtcc_view &view, int64_t bits, Launcher &launcher) : box(view, view, fills, launcher) {
    const size_t bytes = static_cast<size_t>(dtcc_dtype_size(view.dtype));
    for (size_t at = 0; at < sizeof pattern; at += bytes)
      std::memcpy(reinterpret_cast<char *>(pattern) + at, &bits, bytes);
  }
  void run(Rank &, const Call &call) override { box.run(call, call.buffers[0], call.buffers[0], pattern); }

private:
  Box box;
  uint32_t pattern[4];
};

} // namespace

std::unique_ptr<CudaOp> bindCopy(const dtcc_view &from, const dtcc_view &to, Launcher &launcher) {
  return std::make_unique<CopyOp>(from, to, launcher);
}
std::unique_ptr<CudaOp> bindHostCopy(const dtcc_view &view, Launcher &launcher) {
  return std::make_unique<HostCopyOp>(view, launcher);
}
std::unique_ptr<CudaOp> bindFill(const dtcc_view &view, int64_t bits, Launcher &launcher) {
  return std::make_unique<FillOp>(view, bits, launcher);
}

} // namespace dtcc::rt::cuda
