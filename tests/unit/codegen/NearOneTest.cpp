//===- NearOneTest.cpp - log1p and expm1 keep the digits of small numbers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/codegen/CompiledKernel.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace mlir;
using namespace dtcc;

namespace {

struct Case {
  const char *op;
  double (*want)(double);
};
void PrintTo(const Case &row, std::ostream *stream) { *stream << row.op; }

const Case kCases[] = {
    {"log1p", [](double x) { return std::log1p(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
};

/// Sizes from 1e-30 to 80, of both signs where the functions have them, and the ends of both.
std::vector<float> operands() {
  std::vector<float> numbers = {0, -1, std::numeric_limits<float>::infinity(), 1e12f, 3e38f};
  for (double size = 1e-30; size < 80; size *= 1.037)
    for (double x : {size, -size})
      if (x > -1)
        numbers.push_back(float(x));
  return numbers;
}

std::vector<float> compute(const std::string &op, const std::vector<float> &from, test::Run run) {
  std::vector<float> x = from, result(x.size());
  std::string type = std::to_string(x.size()) + "xf32", tensor = "tensor<" + type + ">";
  std::string buffer = "memref<" + type + ">";
  std::string text = "exec.func @k buffers [" + buffer + ", " + buffer +
                     "] accumulate [0] in_place [-1] {\n^bb0(%x: " + tensor + "):\n  %y = graph." + op +
                     " %x : " + tensor + "\n  exec.yield %y : " + tensor + "\n}";
  int64_t bytes = int64_t(x.size() * sizeof(float));
  EXPECT_EQ(test::runKernel(text, run, {{x.data(), bytes}, {result.data(), bytes}}), "");
  return result;
}

class NearOne : public testing::TestWithParam<Case> {
protected:
  static void SetUpTestSuite() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  }
};

// Within 5 units of the last place of f32, on cores and on the emulated GPU.
TEST_P(NearOne, KeepsAllDigits) {
  const Case &row = GetParam();
  std::vector<float> from = operands();
  for (test::Run run : {test::Run::Whole, test::Run::Gpu}) {
    std::vector<float> to = compute(row.op, from, run);
    for (size_t i = 0; i < from.size(); ++i) {
      double want = row.want(from[i]);
      float rounded = float(want);
      if (to[i] == rounded)
        continue;
      EXPECT_LE(std::abs(to[i] - want), 5 * 0x1p-23 * std::abs(want))
          << row.op << " of " << from[i] << " should be " << want << ": " << to[i]
          << (run == test::Run::Gpu ? " on a GPU" : " on cores");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NearOne, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case> &info) { return std::string(info.param.op); });

} // namespace
