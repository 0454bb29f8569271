//===- GpuMathTest.cpp - Functions of f32 on a GPU against f64
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over numbers of all sizes, denormal ones, infinities and NaN, and densely where functions
// bend. The emulated GPU has the approximate instructions to the last place: what a GPU
// errs by beyond that is argued in GpuMath.cpp, and not part of the bounds here.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "dialects/exec/Exec.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "tests/unit/codegen/CompiledKernel.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dtcc;

namespace {

struct Case {
  const char *name, *op;
  double (*want)(double);
  /// Units in the last place that a result may be off, and besides that a part of the operand, or of 1 if that is more.
  double units, slack;
};
void PrintTo(const Case &row, std::ostream *stream) { *stream << row.name; }

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double normal(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double gelu(double x) { return x < -40 ? x * 0 : x * normal(x); }
double geluTanh(double x) {
  double power = -2 * 0.7978845608028654 * (x + 0.044715 * x * x * x);
  return power > 700 ? x * 0 : x / (1 + std::exp(power));
}
double geluSlope(double x) {
  return std::abs(x) > 40 ? double(x > 0) : normal(x) + x * 0.3989422804014327 * std::exp(-0.5 * x * x);
}
double geluTanhSlope(double x) {
  if (std::abs(x) > 40)
    return x > 0;
  double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

const Case kCases[] = {
    {"exp", "graph.exp %x", [](double x) { return std::exp(x); }, 2, 0},
    {"tanh", "graph.tanh %x", [](double x) { return std::tanh(x); }, 3, 0},
    {"erf", "graph.erf %x", [](double x) { return std::erf(x); }, 2, 0},
    {"rsqrt", "graph.rsqrt %x", [](double x) { return 1 / std::sqrt(x); }, 2, 0},
    {"logistic", "graph.logistic %x", logistic, 3, 0},
    {"silu", "graph.silu %x", [](double x) { return x < -100 ? x * 0 : x * logistic(x); }, 4, 1e-36},
    {"gelu", "graph.gelu %x {form = #graph<gelu_form exact>}", gelu, 4, 1.5e-7},
    {"gelu_tanh", "graph.gelu %x {form = #graph<gelu_form tanh>}", geluTanh, 48, 1e-15},
    {"gelu_grad", "graph.gelu_grad %x, %one {form = #graph<gelu_form exact>}", geluSlope, 4, 3e-7},
    {"gelu_grad_tanh", "graph.gelu_grad %x, %one {form = #graph<gelu_form tanh>}", geluTanhSlope, 4, 1e-6},
    {"quotient", "graph.div %one, %x", [](double x) { return 1 / x; }, 1, 0},
};

/// Every 2^14th number of 32 bits, and 2^15 between -12 and 12.
std::vector<float> operands() {
  std::vector<float> numbers;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 1 << 14)
    numbers.push_back(std::bit_cast<float>(uint32_t(bits)));
  for (int64_t i = -(1 << 14); i < 1 << 14; ++i)
    numbers.push_back(float(i) * 12 / (1 << 14));
  return numbers;
}

double unit(double value) { return std::ldexp(1, std::max(std::ilogb(std::max(std::abs(value), 1e-300)), -126) - 23); }

class GpuMath : public testing::TestWithParam<Case> {};

TEST_P(GpuMath, IsWithinSomeUnits) {
  const Case &row = GetParam();
  std::vector<float> from = operands(), to(from.size());
  std::string type = "tensor<" + std::to_string(from.size()) + "xf32>", op = row.op;
  std::string types = op.starts_with("graph.div") ? "(" + type + ", " + type + ") -> " + type : type;
  std::string one =
      op.find("%one") == std::string::npos ? "" : "  %one = graph.constant dense<1.0> : " + type + " : " + type + "\n";
  std::string buffer = "memref<" + std::to_string(from.size()) + "xf32>";
  std::string text = "exec.func @k buffers [" + buffer + ", " + buffer +
                     "] accumulate [0] in_place [-1] {\n^bb0(%x: " + type + "):\n" + one + "  %y = " + op + " : " +
                     types + "\n  exec.yield %y : " + type + "\n}";
  DialectRegistry registry;
  registerAllDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  dtcc_rank rank{0, 1, 0, 0, 1, nullptr};
  int64_t bytes = int64_t(from.size() * sizeof(float));
  ASSERT_EQ(test::CompiledKernel(*module, "k", test::Run::Gpu).call(rank, {{from.data(), bytes}, {to.data(), bytes}}),
            "");

  double worst = 0, at = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    double x = from[i], want = row.want(x), got = to[i];
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << row.name << " of " << x << ": " << got;
      continue;
    }
    // A denormal result may be flushed to 0.
    double rounded = float(want);
    if (got == rounded || (std::abs(want) < std::numeric_limits<float>::min() && got == 0))
      continue;
    double allowed = row.units * unit(want) + row.slack * std::max(1.0, std::abs(x));
    double error = std::abs(got - want) / allowed;
    if (!(error <= worst))
      worst = error, at = x;
  }
  EXPECT_LE(worst, 1) << row.name << " of " << at << " is " << worst << " of what it may be off";
  RecordProperty("worst", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(All, GpuMath, testing::ValuesIn(kCases), [](const auto &info) { return info.param.name; });

} // namespace
