//===- ProductEpilogueTest.cpp - What products do besides -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Commands of matmul_epilogue on the emulated GPU, by cublasLt and where it has no
// algorithm, against their definition in f64 of the same inputs.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ProductEpilogue.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/driver/Driver.h"
#include "runtime/device/CreateDevice.h"
#include "runtime/launch/Executor.h"
#include "tests/unit/runtime/ImageBuilder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <random>

namespace dtcc::rt::test {
namespace {

/// f32, bf16 and f16 as the tests fill and read them.
float rounded(dtcc_dtype type, double value) {
  auto single = static_cast<float>(value);
  if (type == DTCC_BF16) {
    auto bits = std::bit_cast<uint32_t>(single);
    return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
  }
  return type == DTCC_F16 ? static_cast<float>(static_cast<_Float16>(single)) : single;
}
void store(void *data, dtcc_dtype type, size_t at, float value) {
  if (type == DTCC_F32)
    static_cast<float *>(data)[at] = value;
  else if (type == DTCC_BF16)
    static_cast<uint16_t *>(data)[at] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  else
    static_cast<_Float16 *>(data)[at] = static_cast<_Float16>(value);
}
float load(const void *data, dtcc_dtype type, size_t at) {
  if (type == DTCC_F32)
    return static_cast<const float *>(data)[at];
  if (type == DTCC_BF16)
    return std::bit_cast<float>(uint32_t{static_cast<const uint16_t *>(data)[at]} << 16);
  return static_cast<float>(static_cast<const _Float16 *>(data)[at]);
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double geluSlope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

struct Case {
  dtcc_dtype type, outType;
  bool bias = false;
  ProductActivation activation = ProductActivation::None;
  int64_t sums = -1;
  int64_t accumulate = 0;
  bool outByColumns = false;
  bool rhsByColumns = false;
  int64_t k = 37;
};

/// A view of random cells; its values in f64, as they lie in memory.
struct Matrix {
  uint32_t view = 0;
  dtcc_dtype type = DTCC_F32;
  std::vector<double> values;
};

constexpr int64_t m = 5, n = 16;

class Trial {
public:
  explicit Trial(const Case &test) : test(test), k(test.k), random(7) {
    arena = b.arena("work");
    b.axis("mb", 2, DTCC_AXIS_TIME);
    lhs = matrix(test.type, {1, m, k}), rhs = matrix(test.type, {1, k, n});
    if (test.rhsByColumns)
      b.views[rhs.view].strides[1] = 1, b.views[rhs.view].strides[2] = k;
    std::vector<uint32_t> views{lhs.view, rhs.view};
    auto add = [&](Matrix &to, std::vector<int64_t> sizes) {
      to = matrix(test.outType, std::move(sizes));
      views.push_back(to.view);
    };
    if (test.bias)
      add(bias, {n});
    if (test.activation == ProductActivation::Slope)
      add(at, {1, m, n});
    add(out, {1, m, n});
    if (test.outByColumns)
      b.views[out.view].strides[1] = 1, b.views[out.view].strides[2] = m;
    if (test.activation == ProductActivation::GeluKept)
      add(kept, {1, m, n});
    if (test.sums != -1)
      add(sums, {n});
    b.command(DTCC_LIBRARY, DTCC_LIB_MATMUL_EPILOGUE, views,
              {test.accumulate, test.bias, static_cast<int64_t>(test.activation), test.sums});
    uint32_t phase = b.phase("all");
    b.action(phase, 0);
    b.action(phase, 1);
    for (dtcc_arena &row : b.arenas)
      row.kind = DTCC_MEMORY_DEVICE;
    // An image of a program for GPUs has a module, if only an empty one.
    static const char nothing[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
    b.gpuCode.assign(std::begin(nothing), std::end(nothing));
    b.gpuModules = {{80, DTCC_GPU_PTX, 0, sizeof nothing}};
  }

  /// Runs the command in two slots and compares everything that it writes.
  void check() {
    std::vector<uint64_t> bytes = b.build();
    Image image(bytes.data(), 0);
    ThreadTeam team(1);
    Rank rank(image, 0, team, 0);
    DeviceSetup setup{rank, {}};
    std::unique_ptr<Device> device = createDevice(setup);
    dtcc::rt::Executor executor(rank, *device);
    executor.bind();
    executor.begin();
    for (const Matrix *each : {&lhs, &rhs, &bias, &at, &out, &kept, &sums})
      if (!each->values.empty()) {
        for (size_t i = 0; i < each->values.size(); ++i)
          store(rank.address(each->view, 0), each->type, i, static_cast<float>(each->values[i]));
        device->upload(each->view, 0);
      }
    rank.abi.step = 1;
    executor.runStep([](int64_t) {});
    compute();
    for (Matrix *each : {&out, &kept, &sums})
      if (!each->values.empty()) {
        device->download(std::vector<uint32_t>{each->view}, 0);
        const double unit = each->type == DTCC_F32 ? 2e-5 : each->type == DTCC_BF16 ? 1.0 / 64 : 1.0 / 512;
        for (size_t i = 0; i < each->values.size(); ++i)
          ASSERT_NEAR(load(rank.address(each->view, 0), each->type, i), each->values[i],
                      unit * (1 + std::fabs(each->values[i])))
              << (each == &out    ? "out "
                  : each == &kept ? "kept "
                                  : "sums ")
              << i;
      }
  }

private:
  Matrix matrix(dtcc_dtype type, std::vector<int64_t> sizes) {
    Matrix made{b.view(arena, type, sizes), type, {}};
    std::uniform_real_distribution<double> value(-1, 1);
    for (int64_t i = 0, count = elementCount(b.views[made.view]); i < count; ++i)
      made.values.push_back(rounded(type, value(random)));
    return made;
  }

  /// Computes the expected `out`, `kept` and `sums` after both slots.
  void compute() {
    const auto depth = static_cast<size_t>(k);
    for (int slot = 0; slot < 2; ++slot) {
      auto adds = [&](int64_t mode) { return mode == 1 || (mode == 2 && slot != 0); };
      for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j) {
          const size_t cell = i * n + j, where = test.outByColumns ? j * m + i : cell;
          double sum = test.bias ? bias.values[j] : 0;
          for (size_t x = 0; x < depth; ++x)
            sum += lhs.values[i * depth + x] * rhsAt(x, j);
          if (adds(test.accumulate))
            sum += out.values[where];
          if (test.activation == ProductActivation::GeluKept)
            kept.values[cell] = sum;
          if (test.activation == ProductActivation::Slope)
            sum *= geluSlope(at.values[cell]);
          else if (test.activation != ProductActivation::None)
            sum = gelu(sum);
          out.values[where] = sum;
        }
      for (size_t j = 0; j < sums.values.size(); ++j) {
        double sum = adds(test.sums) ? sums.values[j] : 0;
        for (size_t x = 0; x < depth; ++x)
          sum += rhsAt(x, j);
        sums.values[j] = sum;
      }
    }
  }

  double rhsAt(size_t row, size_t column) const {
    return rhs.values[test.rhsByColumns ? column * static_cast<size_t>(k) + row : row * n + column];
  }

  const Case test;
  const int64_t k;
  std::mt19937 random;
  ImageBuilder b;
  uint32_t arena;
  Matrix lhs, rhs, bias, at, out, kept, sums;
};

class ProductEpilogue : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    try {
      cuda::driver();
    } catch (const Error &error) {
      GTEST_SKIP() << error.what();
    }
    setenv("DTCC_EMULATED_CUBLASLT", GetParam() ? "" : "plain", 1);
  }
  void TearDown() override { unsetenv("DTCC_EMULATED_CUBLASLT"); }
  /// How many products the library did something besides.
  static uint64_t byLibrary() {
    void *library = dlopen("libcublasLt.so.13", RTLD_LAZY);
    auto count = reinterpret_cast<uint64_t (*)()>(dlsym(library, "dtcc_emulated_epilogues"));
    return count ? count() : 0;
  }
  void checkAll(const std::function<Case(dtcc_dtype type)> &make, bool libraryCan = true) {
    for (dtcc_dtype type : {DTCC_F32, DTCC_BF16, DTCC_F16}) {
      SCOPED_TRACE(testing::Message() << "type " << int{type});
      const uint64_t before = byLibrary();
      Trial(make(type)).check();
      EXPECT_EQ(byLibrary() - before, GetParam() && libraryCan ? 2u : 0u);
    }
  }
};

TEST_P(ProductEpilogue, Bias) {
  for (int64_t accumulate : {0, 2})
    checkAll([&](dtcc_dtype type) { return Case{type, type, true, ProductActivation::None, -1, accumulate}; });
  checkAll([](dtcc_dtype type) { return Case{type, DTCC_F32, true}; });
}

TEST_P(ProductEpilogue, BiasAlongTheColumnsOfTheLibraryIsOurs) {
  checkAll([](dtcc_dtype type) { return Case{type, type, true, ProductActivation::None, -1, 0, true}; }, false);
}

TEST_P(ProductEpilogue, Gelu) {
  for (bool bias : {false, true})
    for (ProductActivation activation : {ProductActivation::Gelu, ProductActivation::GeluKept})
      checkAll([&](dtcc_dtype type) { return Case{type, type, bias, activation}; });
}

TEST_P(ProductEpilogue, SlopeOfGelu) {
  checkAll([](dtcc_dtype type) { return Case{type, type, false, ProductActivation::Slope}; });
}

TEST_P(ProductEpilogue, SumsOfTheGradientOfABias) {
  for (bool outByColumns : {false, true})
    for (auto [sums, accumulate] : {std::pair(0, 0), {2, 2}, {1, 0}})
      checkAll([&](dtcc_dtype type) {
        return Case{type, DTCC_F32, false, ProductActivation::None, sums, accumulate, outByColumns};
      });
}

/// Rows of 16 bytes and others, in one part and in several.
TEST_P(ProductEpilogue, SumsOfDeepFactors) {
  for (bool rhsByColumns : {false, true})
    for (int64_t k : {37, 600})
      checkAll([&](dtcc_dtype type) {
        return Case{type, DTCC_F32, false, ProductActivation::None, 2, 2, false, rhsByColumns, k};
      });
}

INSTANTIATE_TEST_SUITE_P(By, ProductEpilogue, testing::Bool(),
                         [](const auto &info) { return info.param ? "Library" : "OwnKernels"; });

} // namespace
} // namespace dtcc::rt::test
