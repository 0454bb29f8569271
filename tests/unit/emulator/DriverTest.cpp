//===- DriverTest.cpp - The emulated driver keeps CUDA's promises, and no others
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/emulator/Calls.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>

using namespace dtcc::rt::cuda;

namespace {

constexpr const char *kAddOne = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 count)
{
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %d<4>;
ld.param.b64 %d0, [data]; ld.param.b32 %r0, [count];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.s32 %r3, %r2, 64, %r1;
setp.ge.u32 %p0, %r3, %r0;
@%p0 ret;
mul.wide.u32 %d1, %r3, 4; add.s64 %d2, %d0, %d1; ld.global.b32 %r4, [%d2]; add.s32 %r4, %r4, 1; st.global.b32 [%d2], %r4;
ret;
}
)";

/// A device of its own for each test: an error stops a device for good.
class EmulatedDriver : public testing::Test {
protected:
  void SetUp() override {
    static int next = 0;
    setenv("DTCC_EMULATED_GPUS", "32", 0);
    ASSERT_EQ(cuInit(0), 0);
    ASSERT_EQ(cuDeviceGet(&device, next++), 0);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, device), 0);
    ASSERT_EQ(cuCtxSetCurrent(context), 0);
    ASSERT_EQ(cuMemAlloc_v2(&data, kBytes), 0);
    ASSERT_EQ(cuStreamCreate(&first, 1), 0);
    ASSERT_EQ(cuStreamCreate(&second, 1), 0);
    ASSERT_EQ(cuMemHostAlloc(&pinned, kBytes, 0), 0);
    values = static_cast<int *>(pinned);
  }
  CUfunction load(const char *text, const char *name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleLoadDataEx(&module, text, 0, nullptr, nullptr), 0);
    EXPECT_EQ(cuModuleGetFunction(&function, module, name), 0);
    return function;
  }
  CUresult add(CUfunction function, unsigned count, CUstream stream) {
    void *parameters[] = {&data, &count};
    return cuLaunchKernel(function, (count + 63) / 64, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
  }

  static constexpr size_t kBytes = 400;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr data = 0;
  CUstream first = nullptr, second = nullptr;
  void *pinned = nullptr;
  int *values = nullptr;
};

TEST_F(EmulatedDriver, RunsAKernelAndMemoryStartsAsNothing) {
  float unset = 0;
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(&unset, data, 4, first), 0);
  EXPECT_NE(unset, unset);
  CUfunction function = load(kAddOne, "add");
  ASSERT_EQ(cuMemsetD8Async(data, 0, kBytes, first), 0);
  ASSERT_EQ(add(function, 100, first), 0);
  ASSERT_EQ(add(function, 99, first), 0);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(pinned, data, kBytes, first), 0);
  ASSERT_EQ(cuStreamSynchronize(first), 0);
  EXPECT_EQ(values[0], 2);
  EXPECT_EQ(values[98], 2);
  EXPECT_EQ(values[99], 1);
}

TEST_F(EmulatedDriver, AMissingWaitReadsWhatWasThereBefore) {
  CUfunction function = load(kAddOne, "add");
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 2), 0);
  for (bool waits : {false, true}) {
    ASSERT_EQ(cuMemsetD8Async(data, 0, kBytes, first), 0);
    ASSERT_EQ(cuStreamSynchronize(first), 0);
    ASSERT_EQ(add(function, 100, first), 0);
    ASSERT_EQ(cuEventRecord(event, first), 0);
    if (waits)
      ASSERT_EQ(cuStreamWaitEvent(second, event, 0), 0);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(pinned, data, kBytes, second), 0);
    values[0] = 77;
    ASSERT_EQ(cuStreamSynchronize(second), 0);
    EXPECT_EQ(values[0], waits ? 1 : 0);
    ASSERT_EQ(cuStreamSynchronize(first), 0);
  }
}

TEST_F(EmulatedDriver, ResultsAreNotThereBeforeTheyAreWaitedFor) {
  values[0] = 77;
  ASSERT_EQ(cuMemsetD8Async(data, 0, kBytes, first), 0);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(pinned, data, kBytes, first), 0);
  EXPECT_EQ(values[0], 77);
  EXPECT_EQ(cuStreamQuery(first), 600);
  ASSERT_EQ(cuStreamSynchronize(first), 0);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(cuStreamQuery(first), 0);
}

TEST_F(EmulatedDriver, HostMemoryIsReadByTheCallOrByTheCopy) {
  int pageable = 5, got = 0;
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(data, &pageable, 4, first), 0);
  pageable = 6;
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(&got, data, 4, first), 0);
  EXPECT_EQ(got, 5);
  values[0] = 5;
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(data, pinned, 4, first), 0);
  values[0] = 6; // too early
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(&got, data, 4, first), 0);
  EXPECT_EQ(got, 6);
}

TEST_F(EmulatedDriver, TheHostCannotFollowADevicePointer) {
  EXPECT_DEATH(*reinterpret_cast<volatile int *>(data) = 1, "");
}

TEST_F(EmulatedDriver, AKernelThatGoesTooFarStopsItsDevice) {
  CUfunction function = load(kAddOne, "add");
  ASSERT_EQ(add(function, 101, first), 0);
  EXPECT_EQ(cuStreamSynchronize(first), 700);
  const char *text = nullptr;
  ASSERT_EQ(cuGetErrorString(700, &text), 0);
  EXPECT_NE(
      std::strstr(
          text,
          "an illegal memory access was encountered: kernel add, PTX line 12, thread (36, 0, 0) of block (1, 0, 0)"),
      nullptr)
      << text;
  EXPECT_EQ(cuMemcpyDtoH_v2(pinned, data, 4), 700);
}

TEST_F(EmulatedDriver, RefusesWhatCannotBe) {
  CUfunction function = load(kAddOne, "add");
  CUdeviceptr large = 0;
  EXPECT_EQ(cuMemAlloc_v2(&large, size_t(1) << 40), 2);
  EXPECT_EQ(cuMemsetD8Async(data, 0, kBytes + 1, first), 1);
  EXPECT_EQ(cuMemFree_v2(data + 8), 1);
  void *parameters[] = {&data, &data};
  EXPECT_EQ(cuLaunchKernel(function, 0, 1, 1, 64, 1, 1, 0, first, parameters, nullptr), 1);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, first, parameters, nullptr), 1);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 60 << 10, first, parameters, nullptr), 1);
  EXPECT_EQ(cuFuncSetAttribute(function, 8, 60 << 10), 0);
  unsigned none = 0;
  void *fewer[] = {&data, &none};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 60 << 10, first, fewer, nullptr), 0);
  EXPECT_EQ(cuStreamSynchronize(first), 0);
  CUmodule module = nullptr;
  char log[200] = "";
  int options[] = {5, 6};
  void *logs[] = {log, reinterpret_cast<void *>(sizeof log)};
  EXPECT_EQ(cuModuleLoadDataEx(&module, ".entry k()\n{\nnonsense;\n}", 2, options, logs), 218);
  EXPECT_STREQ(log, "PTX line 3: the emulator does not know 'nonsense'");
  EXPECT_EQ(cuModuleLoadDataEx(&module, ".version 8.6\n.target sm_100\n", 0, nullptr, nullptr), 209);
}
} // namespace
