//===- CudaKernelSuite.cpp - Every library op on a GPU
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel suite's commands, and those of KernelCases.h beside what the processor computes
// of them, on whatever libcuda the loader finds: a GPU's, or the one of tests/emulator.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/core/HalfFloat.h"
#include "runtime/cuda/driver/GpuLauncher.h"
#include "runtime/cuda/driver/TunableOp.h"
#include "tests/conformance/KernelCases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <utility>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

class GpuRunner final : public CommandRunner {
public:
  void run(const dtcc_command &command, Rank &rank, std::span<char> memory) override {
    const CUdeviceptr arena = gpu.allocate(memory.size() + 1, "the arena");
    gpu.nowDoing("testing");
    dtcc_command bound = command;
    bound.predicate = predicateValue < 0 ? DTCC_NONE : 0;
    std::unique_ptr<cuda::CudaOp> op = cuda::createCudaOp(bound, rank, launcher);
    auto *tunable = dynamic_cast<cuda::TunableOp *>(op.get());
    ways.clear();
    for (const Choice &choice : tunable ? tunable->choices(1) : std::vector<Choice>()) {
      ways.push_back(choice.way);
      if (ways.size() == way + 1)
        ASSERT_TRUE(tunable->choose(choice));
    }
    // A stream's workspace is as large as all reservations before it was first asked for.
    if (std::exchange(launcher.grown, false))
      ++streams;
    const CUstream stream = gpu.stream(streams);
    gpu.synchronize(gpu.firstStream());
    gpu.copyToDevice(arena, memory.data(), memory.size(), stream);
    std::vector<void *> addresses;
    for (uint32_t view : rank.image.operands(command))
      addresses.push_back(reinterpret_cast<void *>(
          arena + static_cast<CUdeviceptr>(static_cast<char *>(rank.address(view, rank.abi.slot)) - memory.data())));
    void *workspace = launcher.workspace(streams);
    gpu.synchronize(gpu.firstStream());
    loaded = op->loads();
    op->run(rank, {stream, addresses.data(), predicate(arena, memory.size(), stream), workspace});
    gpu.copyToHost(memory.data(), arena, memory.size(), stream);
    gpu.synchronize(stream);
    if (keepsOps)
      kept.push_back(std::move(op));
  }
  /// Ops live on, as those of a program's layers do.
  bool keepsOps = false;
  void dropOps() { kept.clear(); }
  /// Value of the commands' predicate; no predicate if negative.
  int32_t predicateValue = -1;
  /// Index of the way in which a command with several ways is run, and the names of the last command's ways.
  size_t way = 0;
  std::vector<std::string> ways;
  /// CudaOp::loads() of the last command.
  std::string loaded;
  /// Bytes of workspace that the last command reserved.
  uint64_t reserved() const { return launcher.last; }
  /// Our own kernels alone, as where NVIDIA's libraries are missing.
  void useOwnKernels(bool own) { launcher.own = own; }

private:
  struct TestLauncher final : cuda::GpuLauncher {
    using GpuLauncher::GpuLauncher;
    void *products() override { return own ? nullptr : GpuLauncher::products(); }
    void *convolutions() override { return own ? nullptr : GpuLauncher::convolutions(); }
    void reserveWorkspace(uint64_t bytes) override {
      grown |= bytes > std::exchange(most, std::max(most, bytes));
      GpuLauncher::reserveWorkspace(last = bytes);
    }
    uint64_t last = 0;
    bool own = false;
    bool grown = true; /* a reservation is larger than the last stream's workspace */
    uint64_t most = 0;
  };
  using CUdeviceptr = cuda::CUdeviceptr;
  const void *predicate(CUdeviceptr, size_t, CUstream stream) {
    if (predicateValue < 0)
      return nullptr;
    const CUdeviceptr cell = gpu.allocate(sizeof predicateValue, "a predicate");
    gpu.synchronize(gpu.firstStream());
    gpu.copyToDevice(cell, &predicateValue, sizeof predicateValue, stream);
    return reinterpret_cast<const void *>(cell);
  }
  cuda::Gpu gpu{0, 0};
  TestLauncher launcher{gpu, 0};
  uint32_t streams = 0;
  std::vector<std::unique_ptr<cuda::CudaOp>> kept;
};

GpuRunner &gpuRunner() {
  static GpuRunner runner;
  return runner;
}

double cellOf(const char *cell, uint32_t dtype) {
  auto read = [&]<typename T>(T value) {
    std::memcpy(&value, cell, sizeof value);
    return value;
  };
  switch (dtype) {
  case DTCC_F32:
    return static_cast<double>(read(float{}));
  case DTCC_BF16:
    return static_cast<double>(fromBF16(read(uint16_t{})));
  case DTCC_F16:
    return static_cast<double>(fromF16(read(uint16_t{})));
  case DTCC_I64:
    return static_cast<double>(read(int64_t{}));
  case DTCC_I8:
    return static_cast<double>(read(int8_t{}));
  default:
    return static_cast<double>(read(int32_t{}));
  }
}

/// Calls fn(byte offset) for every cell of a view.
template <typename Fn> void forEachCell(const dtcc_view &view, Fn fn) {
  const int64_t count = elementCount(view), bytes = dtcc_dtype_size(view.dtype);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0, rest = i;
    for (int d = view.rank - 1; d >= 0; --d) {
      offset += rest % view.sizes[d] * view.strides[d];
      rest /= view.sizes[d];
    }
    fn(static_cast<size_t>(view.offset + offset * bytes));
  }
}

void expectAlike(KernelCase &on, OneCommand &want, const std::vector<char> &before) {
  std::vector<bool> written(before.size());
  for (size_t operand : on.outputs) {
    const dtcc_view &view = on.command.view(operand);
    const auto bytes = static_cast<size_t>(dtcc_dtype_size(view.dtype));
    int wrong = 0;
    double largest = 0, magnitude = 0;
    forEachCell(view, [&](size_t at) {
      std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
      double a = cellOf(on.command.memory.data() + at, view.dtype), b = cellOf(want.memory.data() + at, view.dtype);
      bool alike = std::isnan(b)   ? std::isnan(a)
                   : std::isinf(b) ? a == b
                                   : std::abs(a - b) <= static_cast<double>(on.tolerance) * std::max(1.0, std::abs(b));
      largest = std::max(largest, std::abs(a - b)), magnitude = std::max(magnitude, std::abs(b));
      if (!alike && ++wrong <= 3)
        ADD_FAILURE() << "operand " << operand << ", byte " << at - static_cast<size_t>(view.offset) << ": " << a
                      << ", must be " << b;
    });
    EXPECT_EQ(wrong, 0) << "cells of operand " << operand << ", largest difference " << largest << ", largest value "
                        << magnitude;
  }
  for (size_t operand : on.scratch)
    forEachCell(on.command.view(operand), [&](size_t at) { written[at] = true; });
  for (size_t i = 0; i < before.size(); ++i)
    if (!written[i] && on.command.memory[i] != before[i])
      FAIL() << "byte " << i << " beside the results was written";
}

/// How many graphs the emulated cuDNN has run; none if it is another.
std::optional<uint64_t> graphsByCudnn() {
  void *library = dlopen("libcudnn.so.9", RTLD_NOW);
  auto count = library ? reinterpret_cast<uint64_t (*)()>(dlsym(library, "dtcc_emulated_cudnn_graphs")) : nullptr;
  return count ? std::optional(count()) : std::nullopt;
}

bool isConvolution(uint32_t op) {
  return op == DTCC_LIB_CONVOLUTION || op == DTCC_LIB_CONVOLUTION_INPUT_GRAD || op == DTCC_LIB_CONVOLUTION_KERNEL_GRAD;
}
/// Whether cublasLt or cuDNN may compute the op, or a form of it.
bool isOfLibraries(uint32_t op) {
  return op == DTCC_LIB_ATTENTION || op == DTCC_LIB_ATTENTION_GRAD || op == DTCC_LIB_MATMUL ||
         op == DTCC_LIB_MATMUL_EPILOGUE || isConvolution(op);
}

/// Runs the case in every way, with libraries or without them, and compares each with `want`. Returns the ways.
std::set<std::string> expectAllWaysAlike(const KernelCase &of, OneCommand &want, const std::vector<char> &before) {
  std::set<std::string> ways;
  OneCommand::runner = &gpuRunner();
  for (bool own : {true, false}) {
    if (!own && !isOfLibraries(want.op()))
      continue;
    SCOPED_TRACE(own ? "dtcc's kernels" : "the library");
    gpuRunner().useOwnKernels(own);
    for (size_t &way = gpuRunner().way = 0; way == 0 || way < gpuRunner().ways.size(); ++way) {
      KernelCase got = of;
      EXPECT_NO_THROW(got.command.run(of.rank, of.slot));
      const std::string name = way < gpuRunner().ways.size() ? gpuRunner().ways[way] : "the only way";
      SCOPED_TRACE(name);
      if (name == "cudnn" && of.cudnnTolerance > 0)
        got.tolerance = of.cudnnTolerance;
      expectAlike(got, want, before);
    }
    gpuRunner().way = 0;
    ways.insert(gpuRunner().ways.begin(), gpuRunner().ways.end());
  }
  return ways;
}

/// Lays out an operand of a convolution, which is dense, with its channels last.
void layChannelsLast(OneCommand &command, size_t operand) {
  const bool isKernel = operand == (command.op() == DTCC_LIB_CONVOLUTION_KERNEL_GRAD ? 2 : 1);
  const std::vector<size_t> order =
      isKernel ? std::vector<size_t>{0, 1, 3, 4, 5, 2} : std::vector<size_t>{0, 3, 4, 5, 1, 2};
  dtcc_view &view = command.view(operand);
  const dtcc_view dense = view;
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    view.strides[order[i]] = step;
    step *= view.sizes[order[i]];
  }
  std::vector<size_t> from, to;
  forEachCell(dense, [&](size_t at) { from.push_back(at); });
  forEachCell(view, [&](size_t at) { to.push_back(at); });
  const std::vector<char> cells = command.memory;
  for (size_t i = 0; i < from.size(); ++i)
    std::copy_n(cells.data() + from[i], dtcc_dtype_size(view.dtype), command.memory.data() + to[i]);
}

TEST(CudaWorkspace, HasAPieceOfThePlanForEachStream) {
  cuda::Gpu gpu(0, 0);
  cuda::GpuLauncher launcher(gpu, 0);
  const cuda::CUdeviceptr lent = gpu.allocate(1024, "the arena");
  launcher.lendWorkspace(lent, 256 + 512);
  for (auto [stream, bytes] : {std::pair(0u, 64u), {2u, 512u}, {0u, 100u}, {3u, 1u}}) {
    launcher.bindFor(stream);
    launcher.reserveWorkspace(bytes);
  }
  EXPECT_EQ(reinterpret_cast<cuda::CUdeviceptr>(launcher.workspace(0)), lent);
  EXPECT_EQ(reinterpret_cast<cuda::CUdeviceptr>(launcher.workspace(2)), lent + 256);
  EXPECT_EQ(reinterpret_cast<cuda::CUdeviceptr>(launcher.workspace(0)), lent);
  auto expectError = [](const char *message, const auto &call) {
    try {
      call();
      ADD_FAILURE() << message;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
  };
  expectError("operations of stream 3 want 1 bytes of workspace, and the program was planned with 0",
              [&] { launcher.workspace(3); });
  launcher.bindFor(2);
  launcher.reserveWorkspace(512);
  expectError("operations of stream 2 have 512 bytes of workspace, and one that --tune tries wants 513",
              [&] { launcher.reserveWorkspace(513); });
}

TEST(CudaKernels, ComputeWhatProcessorsCompute) {
  OneCommand::runner = nullptr;
  std::vector<KernelCase> cases = kernelCases();
  std::map<uint32_t, std::set<std::string>> ways; // by op
  for (KernelCase &each : cases) {
    SCOPED_TRACE(each.name);
    OneCommand want = each.command;
    OneCommand::runner = nullptr;
    want.run(each.rank, each.slot);
    ways[each.command.op()].merge(expectAllWaysAlike(each, want, each.command.memory));
  }
  if (!graphsByCudnn())
    return; // libraries that are missing have no ways
  using Names = std::set<std::string>;
  EXPECT_EQ(ways[DTCC_LIB_MATMUL], (Names{"cublaslt", "cublaslt+ours"}));
  for (auto op : {DTCC_LIB_CONVOLUTION, DTCC_LIB_CONVOLUTION_INPUT_GRAD, DTCC_LIB_CONVOLUTION_KERNEL_GRAD})
    EXPECT_EQ(ways[op], (Names{"cublaslt", "cudnn", "ours"}));
  for (auto op : {DTCC_LIB_ATTENTION, DTCC_LIB_ATTENTION_GRAD})
    EXPECT_EQ(ways[op], (Names{"cudnn", "ours"}));
}

/// What the gradient of an embedding reserves is what the compiler plans.
TEST(CudaWorkspace, OfGradientsOfEmbeddingsIsThePlans) {
  OneCommand::runner = &gpuRunner();
  for (int64_t columns : {1, 2, 3, 12, 200})
    for (int64_t rows : {0, 16, 17, 64, 65, 130, 2048, 2049, 70000}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns) + " columns");
      OneCommand command(DTCC_LIB_SCATTER_ADD);
      command.output({rows, columns});
      command.longs({rows}, std::vector<int64_t>(static_cast<size_t>(rows), -1));
      command.output({3, columns});
      for (int64_t value : {0, 1, -1}) // communicator, accumulate, padding id
        command.attribute(value);
      command.run();
      EXPECT_EQ(gpuRunner().reserved(), static_cast<uint64_t>(dtcc::gpu_workspace::scatterAdd(rows, columns)));
    }
}

/// Every operand of a convolution may have its channels last, whatever the others have.
TEST(CudaKernels, ConvolveChannelsLast) {
  OneCommand::runner = nullptr;
  std::vector<KernelCase> cases = kernelCases();
  for (KernelCase &each : cases) {
    if (!isConvolution(each.command.op()))
      continue;
    OneCommand dense = each.command;
    OneCommand::runner = nullptr;
    dense.run(each.rank, each.slot);
    for (unsigned last = 1; last < 8; ++last) {
      SCOPED_TRACE(each.name + ", channels last in operands " + std::to_string(last));
      KernelCase of = each;
      OneCommand want = dense;
      for (size_t operand = 0; operand < 3; ++operand)
        if (last >> operand & 1)
          layChannelsLast(of.command, operand), layChannelsLast(want, operand);
      expectAllWaysAlike(of, want, of.command.memory);
    }
  }
}

/// cuDNN computes all convolutions but those that are products of cublasLt; kernels of ours where it knows no engine.
TEST(CudaKernels, AreCudnnsWhereItTakesTheConvolution) {
  if (!graphsByCudnn())
    GTEST_SKIP() << "no emulated cuDNN";
  OneCommand::runner = nullptr;
  std::vector<KernelCase> cases = kernelCases();
  gpuRunner().useOwnKernels(false);
  for (const char *engines : {"", "none"})
    for (const KernelCase &each : cases) {
      if (!isConvolution(each.command.op()))
        continue;
      SCOPED_TRACE(each.name + ", engines " + engines);
      KernelCase got = each;
      OneCommand want = each.command;
      OneCommand::runner = nullptr;
      want.run(each.rank, each.slot);
      setenv("DTCC_EMULATED_CUDNN", engines, 1);
      OneCommand::runner = &gpuRunner();
      const uint64_t before = *graphsByCudnn();
      got.command.run(each.rank, each.slot);
      unsetenv("DTCC_EMULATED_CUDNN");
      const bool isTaken = *graphsByCudnn() > before, isProduct = gpuRunner().ways.front() == "cublaslt";
      EXPECT_EQ(isTaken, std::string(engines) != "none" && !isProduct);
      if (isTaken)
        got.tolerance = got.cudnnTolerance;
      expectAlike(got, want, each.command.memory);
    }
}

/// cuDNN computes exactly these of the cases above, in bf16 and f16. `ampere` marks engines that need no sums of ours.
TEST(CudaKernels, AreCudnnsWhereItTakesTheAttention) {
  if (!graphsByCudnn())
    GTEST_SKIP() << "no emulated cuDNN";
  OneCommand::runner = nullptr;
  std::vector<KernelCase> cases = kernelCases();
  OneCommand::runner = &gpuRunner();
  gpuRunner().useOwnKernels(false);
  for (const char *engines : {"", "ampere", "none"}) {
    SCOPED_TRACE(engines);
    setenv("DTCC_EMULATED_CUDNN", engines, 1);
    std::set<std::string> names;
    for (KernelCase &each : cases) {
      const uint64_t before = *graphsByCudnn();
      if (isOfLibraries(each.command.op()) && each.name.starts_with("attention"))
        each.command.run(each.rank, each.slot);
      if (*graphsByCudnn() > before)
        names.insert(each.name.substr(0, each.name.find(", type")) +
                     (each.name.ends_with("gradient") ? ", gradient" : ""));
    }
    std::set<std::string> taken = {"attention, causal",
                                   "attention, causal from later keys",
                                   "attention, queries of a later rank",
                                   "attention, window",
                                   "attention, window from a later block of queries",
                                   "attention, wide heads",
                                   "attention, widest heads"};
    for (const std::string &name : std::set<std::string>(taken))
      taken.insert(name + ", gradient");
    EXPECT_EQ(names, std::string(engines) == "none" ? std::set<std::string>() : taken);
  }
  unsetenv("DTCC_EMULATED_CUDNN");
}

/// Layers share what cuDNN made for one of them only if their tensors lie alike.
TEST(CudaKernels, AttentionOfTensorsThatLieOtherwiseIsAnother) {
  OneCommand::runner = nullptr;
  std::vector<KernelCase> cases = kernelCases();
  gpuRunner().useOwnKernels(false);
  gpuRunner().keepsOps = true;
  for (KernelCase &each : cases) {
    if (!each.name.starts_with("attention, causal, type " + std::to_string(DTCC_BF16)))
      continue;
    SCOPED_TRACE(each.name);
    for (bool byHeads : {false, true}) {
      KernelCase got = each;
      // Queries [b, t, h, ..] that lie as [b, h, t, ..].
      dtcc_view &q = got.command.view(0);
      if (byHeads)
        q.strides[1] = q.strides[2], q.strides[2] = q.strides[1] * q.sizes[1];
      OneCommand want = got.command;
      const std::vector<char> before = got.command.memory;
      OneCommand::runner = nullptr;
      want.run(got.rank, got.slot);
      OneCommand::runner = &gpuRunner();
      ASSERT_NO_THROW(got.command.run(got.rank, got.slot));
      expectAlike(got, want, before);
    }
  }
  gpuRunner().keepsOps = false;
  gpuRunner().dropOps();
}

/// Products of recurrent layers are the library's, in TF32 if the layer may round and in f32 if not.
TEST(CudaKernels, RoundFactorsOfRecurrentLayersThatMayRound) {
  OneCommand::runner = nullptr;
  std::vector<KernelCase> cases = kernelCases();
  gpuRunner().useOwnKernels(false);
  for (KernelCase &each : cases) {
    if (each.command.op() != DTCC_LIB_RECURRENCE && each.command.op() != DTCC_LIB_RECURRENCE_GRAD)
      continue;
    SCOPED_TRACE(each.name);
    KernelCase got = each;
    OneCommand want = each.command;
    OneCommand::runner = nullptr;
    want.run(each.rank, each.slot);
    OneCommand::runner = &gpuRunner();
    ASSERT_NO_THROW(got.command.run(got.rank, got.slot));
    if (gpuRunner().loaded.empty())
      GTEST_SKIP() << "no cublasLt";
    const bool rounds = each.name.starts_with("rounding");
    EXPECT_EQ(gpuRunner().loaded.find(" tf32") != std::string::npos, rounds) << gpuRunner().loaded;
    double errors = 0, squares = 0;
    for (size_t operand : got.outputs)
      forEachCell(got.command.view(operand), [&](size_t at) {
        const double a = cellOf(got.command.memory.data() + at, DTCC_F32),
                     b = cellOf(want.memory.data() + at, DTCC_F32);
        errors += (a - b) * (a - b), squares += b * b;
      });
    const double error = std::sqrt(errors / squares);
    EXPECT_LT(error, rounds ? 2e-2 : 1e-5);
    EXPECT_EQ(error > 2e-5, rounds) << error;
  }
}

TEST(CudaKernels, DoNothingWhereTheirPredicateIsZero) {
  OneCommand::runner = nullptr;
  std::vector<KernelCase> cases = kernelCases();
  std::vector<char> seen(DTCC_LIB_COUNT + 1);
  for (KernelCase &each : cases) {
    if (std::exchange(seen[each.command.op()], 1))
      continue;
    SCOPED_TRACE(each.name);
    gpuRunner().useOwnKernels(false);
    for (int32_t value : {0, 1}) {
      OneCommand command = each.command;
      OneCommand::runner = &gpuRunner();
      gpuRunner().predicateValue = value;
      command.run(each.rank, each.slot);
      gpuRunner().predicateValue = -1;
      EXPECT_EQ(command.memory == each.command.memory, value == 0);
    }
  }
}

/// A product with an epilogue, of which processors know nothing.
TEST(CudaKernels, DoNothingBehindAProductWhosePredicateIsZero) {
  OneCommand product(DTCC_LIB_MATMUL_EPILOGUE);
  product.floats({1, 2, 2}, {1, 2, 3, 4});
  product.floats({1, 2, 8}, std::vector<float>(16, 1));
  product.floats({8}, std::vector<float>(8, 10));
  const size_t out = product.output({1, 2, 8});
  for (int64_t value : {0, 1, 0, -1}) // accumulate, bias, activation, sums
    product.attribute(value);
  gpuRunner().useOwnKernels(false);
  OneCommand::runner = &gpuRunner();
  for (int32_t value : {0, 1}) {
    OneCommand command = product;
    gpuRunner().predicateValue = value;
    command.run();
    gpuRunner().predicateValue = -1;
    EXPECT_EQ(command.content(out)[8], value ? 17 : -77);
  }
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr int skipped = 77;
  try {
    cuda::driver();
  } catch (const Error &error) {
    std::cerr << error.what() << std::endl;
    return skipped;
  }
  // The kernel suite's own tests, which are linked in, run on the GPU too.
  OneCommand::runner = &gpuRunner();
  return RUN_ALL_TESTS();
}
