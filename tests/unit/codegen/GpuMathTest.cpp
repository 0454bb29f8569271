//===- GpuMathTest.cpp - Functions of f32 on a GPU against f64
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every elementwise op of graph on floats, over numbers of all sizes, denormal ones, infinities
// and NaN, and densely where functions bend; all pairs of special numbers, and random pairs. The emulated GPU has the
// approximate instructions to the last place: what a GPU errs by beyond that is argued in GpuMath.cpp, and not part of
// the bounds here.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/codegen/CompiledKernel.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

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
double siluSlope(double x) {
  double s = logistic(x);
  return s * (1 + x * (1 - s));
}
/// Of an infinite x it is NaN, as in PyTorch.
double geluSlope(double x) {
  if (std::isinf(x))
    return NAN;
  return std::abs(x) > 40 ? double(x > 0) : normal(x) + x * 0.3989422804014327 * std::exp(-0.5 * x * x);
}
/// Where the square of x is infinite it is NaN, as in PyTorch.
double geluTanhSlope(double x) {
  if (std::isinf(float(x * x)))
    return NAN;
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
    {"log", "graph.log %x", [](double x) { return std::log(x); }, 1, 0},
    {"log1p", "graph.log1p %x", [](double x) { return std::log1p(x); }, 2, 0},
    {"expm1", "graph.expm1 %x", [](double x) { return std::expm1(x); }, 5, 0},
    {"sqrt", "graph.sqrt %x", [](double x) { return std::sqrt(x); }, 0.5, 0},
    {"sin", "graph.sin %x", [](double x) { return std::sin(x); }, 3, 0},
    {"cos", "graph.cos %x", [](double x) { return std::cos(x); }, 3, 0},
    {"floor", "graph.floor %x", [](double x) { return std::floor(x); }, 0, 0},
    {"neg", "graph.neg %x", [](double x) { return -x; }, 0, 0},
    {"abs", "graph.abs %x", [](double x) { return std::abs(x); }, 0, 0},
    {"sign", "graph.sign %x", [](double x) { return double(x > 0) - double(x < 0); }, 0, 0},
    {"relu", "graph.relu %x", [](double x) { return x < 0 ? 0 : x; }, 0, 0},
    {"relu_grad", "graph.relu_grad %x, %one", [](double x) { return double(x > 0); }, 0, 0},
    {"silu_grad", "graph.silu_grad %x, %one", siluSlope, 8, 3e-7},
    {"square_root_power", "graph.pow %x, %half", [](double x) { return std::pow(x, 0.5); }, 2, 0},
    {"power_of_one", "graph.pow %one, %x", [](double) { return 1.0; }, 0, 0},
};

struct PairCase {
  const char *name;
  double (*want)(double, double);
  /// Units in the last place that a result may be off.
  double units;
};
void PrintTo(const PairCase &row, std::ostream *stream) { *stream << row.name; }

double remainderOf(double x, double y) {
  double rest = std::fmod(x, y);
  return rest != 0 && std::signbit(rest) != std::signbit(y) ? rest + y : rest;
}
double larger(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y); }
double smaller(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y); }

const PairCase kPairs[] = {
    {"add", [](double x, double y) { return x + y; }, 0.5},
    {"sub", [](double x, double y) { return x - y; }, 0.5},
    {"mul", [](double x, double y) { return x * y; }, 0.5},
    {"div", [](double x, double y) { return x / y; }, 1},
    {"max", larger, 0},
    {"min", smaller, 0},
    {"pow", [](double x, double y) { return std::pow(x, y); }, 3},
    {"rem", remainderOf, 1},
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

/// Computes `op` of vectors %x and %y, of `element`, on the emulated GPU.
template <typename T>
std::vector<T> compute(const std::string &op, const char *element, std::vector<T> x, std::vector<T> y) {
  std::vector<T> result(x.size());
  std::string type = std::to_string(x.size()) + "x" + element, tensor = "tensor<" + type + ">";
  std::string types = op.starts_with("graph.div") || op.starts_with("graph.pow") || op.find("%y") != std::string::npos
                          ? "(" + tensor + ", " + tensor + ") -> " + tensor
                          : tensor;
  std::string constants;
  for (auto [name, value] : {std::pair{"%one", "1.0"}, {"%half", "0.5"}})
    if (op.find(name) != std::string::npos)
      constants +=
          std::string("  ") + name + " = graph.constant dense<" + value + "> : " + tensor + " : " + tensor + "\n";
  std::string buffer = "memref<" + type + ">";
  std::string text = "exec.func @k buffers [" + buffer + ", " + buffer + ", " + buffer +
                     "] accumulate [0] in_place [-1] {\n^bb0(%x: " + tensor + ", %y: " + tensor + "):\n" + constants +
                     "  %z = " + op + " : " + types + "\n  exec.yield %z : " + tensor + "\n}";
  int64_t bytes = int64_t(x.size() * sizeof(T));
  EXPECT_EQ(test::runKernel(text, test::Run::Gpu, {{x.data(), bytes}, {y.data(), bytes}, {result.data(), bytes}}), "");
  return result;
}

class GpuMath : public testing::TestWithParam<Case> {};

TEST_P(GpuMath, IsWithinSomeUnits) {
  const Case &row = GetParam();
  std::vector<float> from = operands(), to = compute(row.op, "f32", from, from);
  double worst = 0, at = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    double x = from[i], want = row.want(x), got = to[i];
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << row.name << " of " << x << ": " << got;
      continue;
    }
    ASSERT_FALSE(std::isnan(got)) << row.name << " of " << x << " should be " << want;
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

// All numbers of bf16: results are those of f32, rounded once.
TEST_P(GpuMath, IsRoundedOnceToHalves) {
  const Case &row = GetParam();
  std::vector<uint16_t> from(1 << 16);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = uint16_t(i);
  std::vector<uint16_t> to = compute(row.op, "bf16", from, from);
  auto widened = [](uint16_t bits) { return double(std::bit_cast<float>(uint32_t(bits) << 16)); };
  for (size_t i = 0; i < from.size(); ++i) {
    double x = widened(from[i]), want = row.want(x), got = widened(to[i]);
    double slack = row.slack > 0 ? row.slack * std::max(1.0, std::abs(x)) : 0;
    if (std::isnan(want) || std::isinf(want) || std::abs(want) < std::numeric_limits<float>::min()) {
      ASSERT_TRUE(std::isnan(want)   ? std::isnan(got)
                  : std::isinf(want) ? got == want
                                     : std::abs(got) <= std::numeric_limits<float>::min() + slack)
          << row.name << " of " << x << " should be " << want << ": " << got;
      continue;
    }
    // Half a unit of bf16, and what f32 is off. The largest numbers are rounded to infinity.
    double allowed = (0.5 * 65536 + row.units + 0.5) * unit(want) + slack;
    if (std::isinf(got) && std::abs(want) > 0x1.ff7ffep127)
      continue;
    ASSERT_TRUE(got == want || std::abs(got - want) <= allowed)
        << row.name << " of " << x << " should be " << want << ": " << got;
  }
}

class GpuMathPairs : public testing::TestWithParam<PairCase> {};

TEST_P(GpuMathPairs, AreWithinSomeUnits) {
  const PairCase &row = GetParam();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> special;
  for (float size : {0.0f,
                     1.0f,
                     2.0f,
                     3.0f,
                     4.0f,
                     0.5f,
                     0.25f,
                     1.5f,
                     2.5f,
                     7.0f,
                     41.0f,
                     49.0f,
                     0.1f,
                     1e-3f,
                     1e3f,
                     1e10f,
                     0x1p-149f,
                     0x1.8p-140f,
                     0x1p-126f,
                     0x1.fffffep127f,
                     8388607.5f,
                     16777215.0f,
                     16777216.0f,
                     0x1.fffffep-1f,
                     0x1.000002p0f,
                     infinity,
                     std::numeric_limits<float>::quiet_NaN()})
    special.insert(special.end(), {size, -size});
  std::vector<float> left, right;
  auto add = [&](float x, float y) { left.push_back(x), right.push_back(y); };
  for (float x : special)
    for (float y : special)
      add(x, y);
  // Numbers of all sizes; numbers near 1; powers whose exponents are whole, and in the range of results.
  std::mt19937 random(7);
  for (int i = 0; i < 1 << 15; ++i) {
    float x = std::bit_cast<float>(uint32_t(random())), y = std::bit_cast<float>(uint32_t(random()));
    add(x, y);
    float base = i % 2 ? std::bit_cast<float>(uint32_t(0x3f000000 + (random() & 0xffffff))) : x;
    double bits = (random() / 0x1p32) * 280 - 152, logarithm = std::log2(std::abs(double(base)));
    double exponent = std::isfinite(logarithm) && logarithm != 0 ? bits / logarithm : 3;
    add(base, float(exponent));
    add(i % 4 ? -base : base, float(std::rint(exponent)));
    add(float(random() % 2000) / 8 - 125, float(random() % 200) / 8 - 12);
  }
  std::vector<float> results = compute(std::string("graph.") + row.name + " %x, %y", "f32", left, right);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    double x = left[i], y = right[i], want = row.want(x, y), got = results[i];
    bool isRemainder = row.want == remainderOf;
    // Processors have no remainder by infinity, and no digits of one whose quotient has more than f32.
    if (isRemainder && (std::isinf(y) || std::abs(x / y) > 0x1p22 || std::abs(y) < 0x1p-100))
      continue;
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << row.name << " of " << x << " and " << y << ": " << got;
      continue;
    }
    ASSERT_FALSE(std::isnan(got)) << row.name << " of " << x << " and " << y << " should be " << want;
    double rounded = float(want);
    // The sign of a zero is the function's too, but for ties of zeros and remainders.
    bool isSigned = !isRemainder && row.want != larger && row.want != smaller;
    if (got == rounded && (!isSigned || std::signbit(got) == std::signbit(rounded)))
      continue;
    // At the edge of the range infinity and the largest number are neighbours.
    if (std::isinf(got) && std::abs(want) > 0x1.fffff0p127 && !std::isinf(want))
      continue;
    if (std::isinf(rounded) && std::abs(got) > 0x1.fffff0p127 && std::abs(want) < 0x1.00001p128)
      continue;
    double width = isRemainder ? std::max(std::abs(want), std::abs(y)) : want;
    double error = std::abs(got - want) / unit(width) / std::max(row.units, 1e-3);
    if (!(error <= worst))
      worst = error, at = i;
  }
  EXPECT_LE(worst, 1) << row.name << " of " << left[at] << " and " << right[at] << " is " << results[at]
                      << ", should be " << row.want(left[at], right[at]);
  RecordProperty("worst", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(All, GpuMathPairs, testing::ValuesIn(kPairs),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(All, GpuMath, testing::ValuesIn(kCases), [](const auto &info) { return info.param.name; });

} // namespace
