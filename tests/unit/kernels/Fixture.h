//===- Fixture.h - Random tensors and every way to run a kernel -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernel tests compare with a plain f64 computation written in the test, on every
// instruction set of the machine and on teams of several sizes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_KERNELS_FIXTURE_H
#define DTCC_TESTS_UNIT_KERNELS_FIXTURE_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/VectorKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace dtcc::rt::test {

/// Calls fn(kernels) for every instruction set of this machine.
template <typename Fn> void forEachInstructionSet(Fn fn) {
  size_t count = 0;
  const VectorKernels *const *tables = supportedVectorKernels(count);
  ASSERT_GE(count, 1u);
  for (size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(std::string("instruction set ") + tables[i]->name);
    fn(*tables[i]);
  }
}

/// A box of f32 in memory of its own, with gaps between its elements that must
/// not be written. `order` lists the dimensions from the outermost in memory to
/// the innermost; `gap` elements follow every row of the innermost.
struct Box {
  std::vector<int64_t> sizes, strides;
  std::vector<float> memory;
  std::vector<bool> inside;
  static constexpr float guard = 12345.0f;

  Box() = default;
  Box(std::vector<int64_t> sizesOf, std::vector<int> order, int64_t gap = 0, int64_t innerStride = 1)
      : sizes(std::move(sizesOf)), strides(sizes.size(), 0) {
    int64_t step = innerStride;
    for (size_t x = order.size(); x-- > 0;) {
      size_t dim = static_cast<size_t>(order[x]);
      strides[dim] = step;
      step *= sizes[dim];
      if (x + 1 == order.size())
        step += gap;
    }
    memory.assign(static_cast<size_t>(step) + 1, guard);
    inside.assign(memory.size(), false);
    forEach([&](size_t offset) { inside[offset] = true; });
  }
  /// Row-major without gaps.
  static Box dense(std::vector<int64_t> sizes) {
    std::vector<int> order;
    for (size_t i = 0; i < sizes.size(); ++i)
      order.push_back(static_cast<int>(i));
    return Box(std::move(sizes), order);
  }

  template <typename Fn> void forEach(Fn fn) const {
    std::vector<int64_t> index(sizes.size(), 0);
    for (;;) {
      size_t offset = 0;
      for (size_t d = 0; d < sizes.size(); ++d)
        offset += static_cast<size_t>(index[d] * strides[d]);
      fn(offset);
      size_t d = sizes.size();
      while (d > 0 && ++index[d - 1] == sizes[d - 1])
        index[--d] = 0;
      if (d == 0)
        return;
    }
  }
  void fillRandom(std::mt19937 &random, float deviation = 1.0f) {
    std::normal_distribution<float> normal(0, deviation);
    forEach([&](size_t offset) { memory[offset] = normal(random); });
  }
  void fill(float value) {
    forEach([&](size_t offset) { memory[offset] = value; });
  }
  float *data() { return memory.data(); }
  template <typename... Index> float &at(Index... index) {
    const int64_t at[] = {static_cast<int64_t>(index)...};
    size_t offset = 0;
    for (size_t d = 0; d < sizes.size(); ++d)
      offset += static_cast<size_t>(at[d] * strides[d]);
    return memory[offset];
  }
  /// True if nothing was written outside the box.
  bool guarded() const {
    for (size_t i = 0; i < memory.size(); ++i)
      if (!inside[i] && memory[i] != guard)
        return false;
    return true;
  }
  bool sameBits(const Box &other) const {
    return memory.size() == other.memory.size() &&
           !std::memcmp(memory.data(), other.memory.data(), memory.size() * sizeof(float));
  }
};

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_UNIT_KERNELS_FIXTURE_H
