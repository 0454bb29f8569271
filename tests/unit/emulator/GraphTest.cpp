//===- GraphTest.cpp - The emulated driver captures and launches graphs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Streams.h"
#include "tests/unit/emulator/Calls.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace dtcc::rt::cuda;
namespace emulator = dtcc::emulator;

namespace {

constexpr const char *kAdd = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 value)
{
.reg .b32 %r<4>; .reg .b64 %d<2>;
ld.param.b64 %d0, [data]; ld.param.b32 %r0, [value];
ld.global.b32 %r1, [%d0]; add.s32 %r1, %r1, %r0; st.global.b32 [%d0], %r1;
ret;
}
.visible .entry twice(.param .u64 data, .param .u32 value)
{
.reg .b32 %r<4>; .reg .b64 %d<2>;
ld.param.b64 %d0, [data];
ld.global.b32 %r1, [%d0]; add.s32 %r1, %r1, %r1; st.global.b32 [%d0], %r1;
ret;
}
)";

class EmulatedGraphs : public testing::Test {
protected:
  void SetUp() override {
    setenv("DTCC_EMULATED_GPUS", "32", 0);
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    ASSERT_EQ(cuInit(0), 0);
    ASSERT_EQ(cuDeviceGet(&device, 23), 0);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, device), 0);
    ASSERT_EQ(cuCtxSetCurrent(context), 0);
    ASSERT_EQ(cuMemAlloc_v2(&data, 4), 0);
    ASSERT_EQ(cuStreamCreate(&first, kNonBlocking), 0);
    ASSERT_EQ(cuStreamCreate(&second, kNonBlocking), 0);
    ASSERT_EQ(cuEventCreate(&fork, kNoTiming), 0);
    ASSERT_EQ(cuEventCreate(&join, kNoTiming), 0);
    ASSERT_EQ(cuModuleLoadDataEx(&module, kAdd, 0, nullptr, nullptr), 0);
    ASSERT_EQ(cuModuleGetFunction(&add, module, "add"), 0);
    ASSERT_EQ(cuModuleGetFunction(&twice, module, "twice"), 0);
    ASSERT_EQ(cuMemsetD8Async(data, 0, 4, first), 0);
    ASSERT_EQ(cuStreamSynchronize(first), 0);
  }
  CUresult launch(CUfunction function, CUstream stream, unsigned value = 1) {
    void *parameters[] = {&data, &value};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  CUresult begin() { return cuStreamBeginCapture_v2(first, kCaptureOfThread); }
  CUresult end() { return cuStreamEndCapture(first, &graph); }
  CUgraphExec made() {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(end(), 0);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), 0);
    EXPECT_EQ(cuGraphDestroy(graph), 0);
    return executable;
  }
  int value() {
    int got = -1;
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(&got, data, 4, first), 0);
    return got;
  }

  CUdeviceptr data = 0;
  CUstream first = nullptr, second = nullptr;
  CUevent fork = nullptr, join = nullptr;
  CUfunction add = nullptr, twice = nullptr;
  CUgraph graph = nullptr;
};

TEST_F(EmulatedGraphs, LaunchWhatWasCapturedWithItsParameters) {
  ASSERT_EQ(begin(), 0);
  ASSERT_EQ(launch(add, first, 5), 0);
  ASSERT_EQ(launch(twice, first), 0);
  CUgraphExec executable = made();
  EXPECT_EQ(value(), 0) << "a capture runs nothing";
  ASSERT_EQ(cuGraphLaunch(executable, first), 0);
  EXPECT_EQ(value(), 10);
  ASSERT_EQ(cuGraphLaunch(executable, first), 0);
  ASSERT_EQ(cuGraphLaunch(executable, first), 0);
  EXPECT_EQ(value(), 70);
  ASSERT_EQ(cuGraphExecDestroy(executable), 0);
  EXPECT_NE(cuGraphLaunch(executable, first), 0);
}

TEST_F(EmulatedGraphs, ForkAndJoin) {
  for (bool waits : {true, false}) {
    ASSERT_EQ(cuMemsetD8Async(data, 0, 4, first), 0);
    ASSERT_EQ(begin(), 0);
    ASSERT_EQ(cuEventRecord(fork, first), 0);
    ASSERT_EQ(cuStreamWaitEvent(second, fork, 0), 0);
    ASSERT_EQ(launch(add, second, 3), 0);
    ASSERT_EQ(cuEventRecord(join, second), 0);
    if (waits) {
      ASSERT_EQ(cuStreamWaitEvent(first, join, 0), 0);
    }
    ASSERT_EQ(launch(twice, first), 0);
    if (!waits) {
      ASSERT_EQ(cuStreamWaitEvent(first, join, 0), 0);
    }
    CUgraphExec executable = made();
    ASSERT_EQ(cuGraphLaunch(executable, first), 0);
    ASSERT_EQ(cuGraphLaunch(executable, first), 0);
    // Without the wait the other stream comes as late as can be.
    EXPECT_EQ(value(), waits ? 18 : 9);
    ASSERT_EQ(cuGraphExecDestroy(executable), 0);
  }
}

TEST_F(EmulatedGraphs, StreamsMustBeJoined) {
  ASSERT_EQ(begin(), 0);
  ASSERT_EQ(cuEventRecord(fork, first), 0);
  ASSERT_EQ(cuStreamWaitEvent(second, fork, 0), 0);
  ASSERT_EQ(launch(add, second), 0);
  EXPECT_EQ(cuStreamEndCapture(second, &graph), emulator::kCaptureUnmatched);
  EXPECT_EQ(end(), emulator::kCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  // Both work again.
  ASSERT_EQ(launch(add, second, 4), 0);
  ASSERT_EQ(cuStreamSynchronize(second), 0);
  EXPECT_EQ(value(), 4);
}

TEST_F(EmulatedGraphs, WhatACaptureForbids) {
  int got = 0, here = 1;
  CUdeviceptr more = 0;
  ASSERT_EQ(cuEventRecord(join, second), 0);
  const std::pair<const char *, std::pair<CUresult, std::function<CUresult()>>> calls[] = {
      {"waiting for the stream", {emulator::kCaptureUnsupported, [&] { return cuStreamSynchronize(first); }}},
      {"asking for it", {emulator::kCaptureUnsupported, [&] { return cuStreamQuery(first); }}},
      {"waiting for the GPU", {emulator::kCaptureUnsupported, [&] { return cuCtxSynchronize(); }}},
      {"allocating", {emulator::kCaptureUnsupported, [&] { return cuMemAlloc_v2(&more, 4); }}},
      {"reading", {emulator::kCaptureUnsupported, [&] { return cuMemcpyDtoHAsync_v2(&got, data, 4, first); }}},
      {"writing", {emulator::kCaptureUnsupported, [&] { return cuMemcpyHtoDAsync_v2(data, &here, 4, first); }}},
      {"work outside", {emulator::kCaptureIsolation, [&] { return cuStreamWaitEvent(first, join, 0); }}},
  };
  for (const auto &[name, call] : calls) {
    SCOPED_TRACE(name);
    ASSERT_EQ(begin(), 0);
    ASSERT_EQ(launch(add, first), 0);
    EXPECT_EQ(call.second(), call.first);
    EXPECT_EQ(launch(add, first), emulator::kCaptureInvalidated);
    EXPECT_EQ(end(), emulator::kCaptureInvalidated);
  }
  EXPECT_EQ(begin(), 0);
  EXPECT_EQ(begin(), emulator::kIllegalState);
  EXPECT_EQ(end(), 0);
  EXPECT_EQ(end(), emulator::kIllegalState);
  EXPECT_EQ(value(), 0);
}

TEST_F(EmulatedGraphs, EventsOfACaptureAreNoEndOfWork) {
  ASSERT_EQ(begin(), 0);
  ASSERT_EQ(launch(add, first), 0);
  ASSERT_EQ(cuEventRecord(join, first), 0);
  ASSERT_EQ(end(), 0);
  EXPECT_EQ(cuStreamWaitEvent(second, join, 0), emulator::kCapturedEvent);
  ASSERT_EQ(cuEventRecord(join, first), 0);
  EXPECT_EQ(cuStreamWaitEvent(second, join, 0), 0);
  ASSERT_EQ(cuStreamSynchronize(first), 0);
  EXPECT_NE(cuEventRecordWithFlags(join, first, kRecordExternal), 0);

  // But for those that a launch records.
  ASSERT_EQ(begin(), 0);
  ASSERT_EQ(cuEventRecordWithFlags(join, first, kRecordExternal), 0);
  CUgraphExec executable = made();
  for (int launch = 0; launch < 2; ++launch) {
    EXPECT_EQ(cuEventQuery(join), 0);
    ASSERT_EQ(cuGraphLaunch(executable, first), 0);
    EXPECT_EQ(cuEventQuery(join), kNotReady);
    ASSERT_EQ(cuStreamSynchronize(first), 0);
  }
}

} // namespace
