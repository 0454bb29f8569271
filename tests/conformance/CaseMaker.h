//===- CaseMaker.h - Cases of commands under construction
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_CONFORMANCE_CASEMAKER_H
#define DTCC_TESTS_CONFORMANCE_CASEMAKER_H

#include "runtime/core/HalfFloat.h"
#include "tests/conformance/KernelCases.h"

#include <algorithm>
#include <initializer_list>
#include <random>

namespace dtcc::rt::test {

constexpr dtcc_dtype floatTypes[] = {DTCC_F32, DTCC_BF16, DTCC_F16};

inline std::string text(std::initializer_list<int64_t> values) {
  std::string result;
  for (int64_t value : values)
    result += (result.empty() ? "" : " ") + std::to_string(value);
  return result;
}

/// A case under construction: operands are random numbers.
class Maker {
public:
  Maker(std::string name, dtcc_library_op op, int64_t ranks = 1, int64_t slots = 1)
      : made{.name = std::move(name), .command = OneCommand(op, ranks, slots)} {}

  /// `order`: dimensions from the outermost in memory to the innermost, all of them or none (as they come), and cells
  /// that follow every row of the innermost.
  size_t floats(dtcc_dtype type, std::vector<int64_t> sizes, std::vector<int> order = {}, int64_t gap = 0,
                float deviation = 1) {
    if (order.empty())
      for (size_t d = 0; d < sizes.size(); ++d)
        order.push_back(static_cast<int>(d));
    int64_t cells = 1;
    std::vector<int64_t> strides(sizes.size());
    for (size_t x = order.size(); x-- > 0;) {
      strides[static_cast<size_t>(order[x])] = cells;
      cells *= sizes[static_cast<size_t>(order[x])];
      if (x + 1 == order.size())
        cells += gap;
    }
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> values(static_cast<size_t>(cells));
    for (float &value : values)
      value = normal(random);
    size_t number = content(type, sizes, values);
    std::copy(strides.begin(), strides.end(), made.command.view(number).strides);
    return number;
  }
  size_t content(dtcc_dtype type, std::vector<int64_t> sizes, const std::vector<float> &values) {
    if (type == DTCC_F32)
      return made.command.operand(type, std::move(sizes), values);
    if (type == DTCC_F64)
      return made.command.operand(type, std::move(sizes), std::vector<double>(values.begin(), values.end()));
    std::vector<uint16_t> halves;
    for (float value : values)
      halves.push_back(type == DTCC_BF16 ? toBF16(value) : toF16(value));
    return made.command.operand(type, std::move(sizes), halves);
  }
  size_t output(dtcc_dtype type, std::vector<int64_t> sizes, std::vector<int> order = {}, int64_t gap = 0) {
    made.outputs.push_back(floats(type, std::move(sizes), std::move(order), gap));
    return made.outputs.back();
  }
  /// i64 or i32 from [low, high).
  size_t integers(dtcc_dtype type, int64_t count, int64_t low, int64_t high) {
    std::uniform_int_distribution<int64_t> uniform(low, high - 1);
    std::vector<int64_t> wide(static_cast<size_t>(count));
    for (int64_t &value : wide)
      value = uniform(random);
    if (type == DTCC_I64)
      return made.command.operand(type, {count}, wide);
    return made.command.operand(type, {count}, std::vector<int32_t>(wide.begin(), wide.end()));
  }
  size_t workspace(int64_t bytes) {
    made.scratch.push_back(made.command.operand(DTCC_I8, {bytes}, std::vector<int8_t>(static_cast<size_t>(bytes))));
    return made.scratch.back();
  }
  Maker &attributes(std::initializer_list<int64_t> values) {
    for (int64_t value : values)
      made.command.attribute(value);
    return *this;
  }
  Maker &reals(std::initializer_list<double> values) {
    for (double value : values)
      made.command.attribute(value);
    return *this;
  }
  OneCommand &command() { return made.command; }

  KernelCase made;
  std::mt19937 random{7};
};

using Cases = std::vector<KernelCase>;

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_CONFORMANCE_CASEMAKER_H
