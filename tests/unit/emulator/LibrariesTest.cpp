//===- LibrariesTest.cpp - Emulated products and collectives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/emulator/Calls.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <functional>
#include <thread>

using namespace dtcc::rt::cuda;

namespace {

/// Those before are the tests' of the driver, which stop some.
constexpr int kFirst = 16;

/// A thread's device and stream.
struct Gpu {
  explicit Gpu(int number) {
    setenv("DTCC_EMULATED_GPUS", "32", 0);
    EXPECT_EQ(cuInit(0), 0);
    CUcontext context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, number), 0);
    EXPECT_EQ(cuCtxSetCurrent(context), 0);
    EXPECT_EQ(cuStreamCreate(&stream, 1), 0);
  }
  CUdeviceptr upload(const std::vector<float> &values) {
    CUdeviceptr at = 0;
    EXPECT_EQ(cuMemAlloc_v2(&at, values.size() * 4), 0);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(at, values.data(), values.size() * 4, stream), 0);
    return at;
  }
  std::vector<float> download(CUdeviceptr at, size_t count) {
    std::vector<float> values(count);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(values.data(), at, count * 4, stream), 0);
    return values;
  }
  CUstream stream = nullptr;
};
void *pointer(CUdeviceptr at) { return reinterpret_cast<void *>(at); }

//===----------------------------------------------------------------------===//
// cublasLt
//===----------------------------------------------------------------------===//

struct Case {
  bool transposeA, transposeB;
  int epilogue;
};

/// D = epilogue(2 op(A) op(B) + 3 C) of 3 x 4 matrices in two batches, columns adjacent; columns of the auxiliary
/// matrix start at multiples of 8.
void checkProduct(const Case &test) {
  constexpr int m = 3, n = 4, k = 5, batches = 2;
  Gpu gpu(kFirst);
  auto fill = [](int count, int seed) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i)
      values.push_back(float((i * 7 + seed) % 11) / 4 - 1);
    return values;
  };
  std::vector<float> a = fill(m * k * batches, 1), b = fill(k * n * batches, 2), c = fill(m * n * batches, 3),
                     bias = fill(m, 4), aux = fill(8 * n * batches, 5);
  CUdeviceptr aAt = gpu.upload(a), bAt = gpu.upload(b), cAt = gpu.upload(c), dAt = gpu.upload(c),
              biasAt = gpu.upload(bias), auxAt = gpu.upload(aux);
  void *handle, *product, *layouts[3], *preference;
  ASSERT_EQ(cublasLtCreate(&handle), 0);
  ASSERT_EQ(cublasLtMatmulDescCreate(&product, 68, 0), 0);
  int transposeA = test.transposeA, transposeB = test.transposeB;
  int64_t auxLeading = 8, auxStride = 8 * n;
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, 3, &transposeA, 4), 0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, 4, &transposeB, 4), 0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, 7, &test.epilogue, 4), 0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, 8, &biasAt, 8), 0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, 11, &auxAt, 8), 0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, 12, &auxLeading, 8), 0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, 13, &auxStride, 8), 0);
  auto layout = [&](int i, int rows, int columns) {
    int count = batches;
    int64_t stride = rows * columns;
    ASSERT_EQ(cublasLtMatrixLayoutCreate(&layouts[i], 0, uint64_t(rows), uint64_t(columns), rows), 0);
    ASSERT_EQ(cublasLtMatrixLayoutSetAttribute(layouts[i], 5, &count, 4), 0);
    ASSERT_EQ(cublasLtMatrixLayoutSetAttribute(layouts[i], 6, &stride, 8), 0);
  };
  transposeA ? layout(0, k, m) : layout(0, m, k);
  transposeB ? layout(1, n, k) : layout(1, k, n);
  layout(2, m, n);
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), 0);
  Algorithm algorithm;
  int found = 0;
  ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, product, layouts[0], layouts[1], layouts[2], layouts[2], preference,
                                           1, &algorithm, &found),
            0);
  ASSERT_EQ(found, 1);
  float alpha = 2, beta = 3;
  ASSERT_EQ(cublasLtMatmul(handle, product, &alpha, pointer(aAt), layouts[0], pointer(bAt), layouts[1], &beta,
                           pointer(cAt), layouts[2], pointer(dAt), layouts[2], algorithm.data, nullptr, 0, gpu.stream),
            0);
  std::vector<float> d = gpu.download(dAt, c.size()), auxNow = gpu.download(auxAt, aux.size()),
                     biasNow = gpu.download(biasAt, m);
  auto gelu = [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); };
  std::vector<double> gradient(m);
  for (int batch = 0; batch < batches; ++batch)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l)
          sum += double(a[size_t(batch * m * k + (transposeA ? l + i * k : i + l * m))]) *
                 b[size_t(batch * k * n + (transposeB ? j + l * n : l + j * k))];
        auto at = size_t(batch * m * n + i + j * m), auxIndex = size_t(batch * auxStride + i + j * auxLeading);
        double want = 2 * sum + 3 * c[at];
        if (test.epilogue & 4)
          want += bias[size_t(i)];
        if (test.epilogue & 32) {
          EXPECT_NEAR(auxNow[auxIndex], want, 1e-5);
          want = gelu(want);
        } else if (test.epilogue & 64) {
          want *= (gelu(aux[auxIndex] + 1e-5) - gelu(aux[auxIndex] - 1e-5)) / 2e-5;
        }
        gradient[size_t(i)] += want;
        EXPECT_NEAR(d[at], want, 1e-4 * (1 + std::fabs(want)));
      }
  if (test.epilogue & 16)
    for (int i = 0; i < m; ++i)
      EXPECT_NEAR(biasNow[size_t(i)], gradient[size_t(i)], 1e-3);
}

TEST(EmulatedCublasLt, Products) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      checkProduct({transposeA, transposeB, 1});
  for (int epilogue :
       {4 /*bias*/, 32 | 4 | 128 /*gelu, kept*/, 64 | 128 /*its gradient*/, 64 | 128 | 16 /*and the bias's*/})
    checkProduct({false, false, epilogue});
}

/// Status that the heuristic returns for a product of 8 x 8 matrices with an epilogue, a type of the bias, and a
/// leading dimension and address of the auxiliary matrix.
int heuristicOf(int epilogue, int biasType, int64_t auxLeading, uint64_t aux) {
  void *product, *layout, *preference;
  EXPECT_EQ(cublasLtMatmulDescCreate(&product, 68, 0), 0);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, 7, &epilogue, 4), 0);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, 11, &aux, 8), 0);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, 12, &auxLeading, 8), 0);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, 26, &biasType, 4), 0);
  EXPECT_EQ(cublasLtMatrixLayoutCreate(&layout, 14, 8, 8, 8), 0);
  EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), 0);
  Algorithm algorithm;
  int found = 0;
  int status = cublasLtMatmulAlgoGetHeuristic(nullptr, product, layout, layout, layout, layout, preference, 1,
                                              &algorithm, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(product);
  return status;
}

TEST(EmulatedCublasLt, RefusesEpiloguesAsTheLibraryDoes) {
  constexpr int unsupported = 15, bf16 = 14, f32 = 0, geluAuxBias = 32 | 4 | 128;
  EXPECT_EQ(heuristicOf(geluAuxBias, bf16, 16, 256), 0);
  EXPECT_EQ(heuristicOf(geluAuxBias, f32, 16, 256), unsupported);
  EXPECT_EQ(heuristicOf(geluAuxBias, bf16, 12, 256), unsupported);
  EXPECT_EQ(heuristicOf(geluAuxBias, bf16, 0, 256), unsupported);
  EXPECT_EQ(heuristicOf(geluAuxBias, bf16, 16, 8), unsupported);
  EXPECT_EQ(heuristicOf(256 /*sums of A*/, bf16, 0, 0), 0);
  EXPECT_EQ(heuristicOf(256 | 4, bf16, 0, 0), unsupported);
  EXPECT_EQ(heuristicOf(64 /*gelu's gradient of nothing*/, bf16, 0, 0), unsupported);
}

//===----------------------------------------------------------------------===//
// NCCL
//===----------------------------------------------------------------------===//

/// Members as threads, each with a GPU from `first` on.
void members(int count, int first, const std::function<void(Gpu &, void *, int)> &work) {
  NcclId id;
  {
    Gpu any(first);
    ASSERT_EQ(ncclGetUniqueId(&id), 0);
  }
  std::vector<std::thread> threads;
  for (int me = 0; me < count; ++me)
    threads.emplace_back([&, me] {
      Gpu gpu(first + me);
      void *group = nullptr;
      ASSERT_EQ(ncclCommInitRankConfig(&group, count, id, me, nullptr), 0);
      work(gpu, group, me);
      ncclCommDestroy(group);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(EmulatedNccl, Collectives) {
  members(3, kFirst + 1, [](Gpu &gpu, void *group, int me) {
    auto mine = float(me);
    CUdeviceptr in = gpu.upload({mine, mine + 10, mine + 20}), out = gpu.upload(std::vector<float>(9));
    ASSERT_EQ(ncclAllReduce(pointer(in), pointer(out), 3, 7, 0, group, gpu.stream), 0);
    EXPECT_EQ(gpu.download(out, 3), (std::vector<float>{3, 33, 63}));
    ASSERT_EQ(ncclAllGather(pointer(in), pointer(out), 1, 7, group, gpu.stream), 0);
    EXPECT_EQ(gpu.download(out, 3), (std::vector<float>{0, 1, 2}));
    ASSERT_EQ(ncclReduceScatter(pointer(in), pointer(out), 1, 7, 2, group, gpu.stream), 0);
    EXPECT_EQ(gpu.download(out, 1)[0], float(10 * me + 2));
    ASSERT_EQ(ncclBroadcast(pointer(in), pointer(out), 3, 7, 1, group, gpu.stream), 0);
    EXPECT_EQ(gpu.download(out, 3), (std::vector<float>{1, 11, 21}));
    // Around the ring, and to itself.
    ASSERT_EQ(ncclGroupStart(), 0);
    ASSERT_EQ(ncclSend(pointer(in), 1, 7, (me + 1) % 3, group, gpu.stream), 0);
    ASSERT_EQ(ncclRecv(pointer(out), 1, 7, (me + 2) % 3, group, gpu.stream), 0);
    ASSERT_EQ(ncclSend(pointer(in + 4), 1, 7, me, group, gpu.stream), 0);
    ASSERT_EQ(ncclRecv(pointer(out + 4), 1, 7, me, group, gpu.stream), 0);
    ASSERT_EQ(ncclGroupEnd(), 0);
    EXPECT_EQ(gpu.download(out, 2), (std::vector<float>{float((me + 2) % 3), mine + 10}));
  });
}

TEST(EmulatedNccl, MembersThatDifferAreAnError) {
  std::atomic<int> failed = 0;
  members(2, kFirst + 4, [&](Gpu &gpu, void *group, int me) {
    CUdeviceptr in = gpu.upload({1, 2});
    failed += ncclAllReduce(pointer(in), pointer(in), size_t(1 + me), 7, 0, group, gpu.stream) != 0;
  });
  EXPECT_EQ(failed, 1);
}

/// Two members' buffers for messages in both directions: what NCCL makes when they are first used.
void meet(Gpu &gpu, void *group, int me) {
  CUdeviceptr cell = gpu.upload({0, 0});
  ASSERT_EQ(ncclGroupStart(), 0);
  ASSERT_EQ(ncclSend(pointer(cell), 1, 7, 1 - me, group, gpu.stream), 0);
  ASSERT_EQ(ncclRecv(pointer(cell + 4), 1, 7, 1 - me, group, gpu.stream), 0);
  ASSERT_EQ(ncclGroupEnd(), 0);
}

// Who sends first waits on the host for who receives: neither comes to its receive.
TEST(EmulatedNccl, HostsWaitWhereBuffersAreMade) {
  std::atomic<int> failed = 0;
  members(2, kFirst + 12, [&](Gpu &gpu, void *group, int me) {
    CUdeviceptr in = gpu.upload({1, 2});
    failed += ncclSend(pointer(in), 2, 7, 1 - me, group, gpu.stream) != 0;
  });
  EXPECT_GE(failed, 1);
}

// On streams of their own, a message out and one in: of one communicator they run in the order of the calls.
TEST(EmulatedNccl, WorkOfACommunicatorRunsInOrder) {
  std::atomic<int> failed = 0;
  members(2, kFirst + 14, [&](Gpu &gpu, void *group, int me) {
    meet(gpu, group, me);
    CUdeviceptr in = gpu.upload({1, 2}), out = gpu.upload({0, 0});
    CUstream other;
    ASSERT_EQ(cuStreamCreate(&other, 1), 0);
    failed += ncclSend(pointer(in), 2, 7, 1 - me, group, gpu.stream) != 0 ||
              ncclRecv(pointer(out), 2, 7, 1 - me, group, other) != 0 || cuStreamSynchronize(other) != 0;
    cuStreamDestroy_v2(other);
  });
  EXPECT_EQ(failed, 2);
}

// Each sends before it receives, on one stream and in no group: on a GPU both would wait for ever.
TEST(EmulatedNccl, SendsThatWaitForEachOtherAreAnError) {
  std::atomic<int> failed = 0;
  members(2, kFirst + 6, [&](Gpu &gpu, void *group, int me) {
    meet(gpu, group, me);
    CUdeviceptr in = gpu.upload({1, 2}), out = gpu.upload({0, 0});
    failed += ncclSend(pointer(in), 2, 7, 1 - me, group, gpu.stream) != 0 ||
              ncclRecv(pointer(out), 2, 7, 1 - me, group, gpu.stream) != 0 || cuStreamSynchronize(gpu.stream) != 0;
  });
  EXPECT_EQ(failed, 2);
}

// Both GPUs are stopped while work of the communicator stands in another stream, which is run when that goes.
TEST(EmulatedNccl, WorkOfStoppedGpusOutlivesItsCommunicator) {
  CUstream streams[2] = {};
  members(2, kFirst + 8, [&](Gpu &gpu, void *group, int me) {
    meet(gpu, group, me);
    CUdeviceptr in = gpu.upload({1, 2}), out = gpu.upload({0, 0});
    ASSERT_EQ(cuStreamCreate(&streams[me], 1), 0);
    ASSERT_EQ(ncclAllReduce(pointer(in), pointer(in), 2, 7, 0, group, streams[me]), 0);
    ncclSend(pointer(in), 2, 7, 1 - me, group, gpu.stream);
    ncclRecv(pointer(out), 2, 7, 1 - me, group, gpu.stream);
    EXPECT_NE(cuStreamSynchronize(gpu.stream), 0);
  });
  for (CUstream stream : streams)
    cuStreamDestroy_v2(stream);
}

// A member whose communicator is aborted takes its part of a sum with it.
TEST(EmulatedNccl, WhoIsAbortedIsNotSummed) {
  std::atomic<void *> first = nullptr;
  std::atomic<bool> left = false;
  members(2, kFirst + 10, [&](Gpu &gpu, void *group, int me) {
    CUdeviceptr in = gpu.upload({1, 2}), out = gpu.upload({5, 7});
    // The first of a communicator waits on the host.
    ASSERT_EQ(ncclAllReduce(pointer(in), pointer(in), 2, 7, 2, group, gpu.stream), 0);
    ASSERT_EQ(cuStreamSynchronize(gpu.stream), 0);
    if (me == 0) {
      ASSERT_EQ(ncclAllReduce(pointer(in), pointer(out), 2, 7, 0, group, gpu.stream), 0);
      first = group;
      cuStreamSynchronize(gpu.stream);
      left = true;
      return;
    }
    while (!first)
      std::this_thread::yield();
    EXPECT_EQ(ncclCommAbort(first), 0);
    while (!left)
      std::this_thread::yield();
    ASSERT_EQ(ncclAllReduce(pointer(in), pointer(out), 2, 7, 0, group, gpu.stream), 0);
    cuStreamSynchronize(gpu.stream);
    EXPECT_EQ(gpu.download(out, 2), (std::vector<float>{5, 7}));
  });
}
} // namespace
