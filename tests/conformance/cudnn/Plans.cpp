//===- Plans.cpp - What cuDNN says of the graphs that we ask of it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graphs that the runtime makes, handed to the real library with the description of a GPU in place of
// one (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION): its heuristic knows an engine, its compiler makes the kernels, and
// the workspace is no more than the compiler plans. Nothing is run. Driver.cpp stands for libcuda.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/cuda/ops/LibraryAttention.h"
#include "runtime/cuda/ops/LibraryConvolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <sstream>

using namespace dtcc::rt;
using namespace dtcc::rt::cuda;

namespace {

struct Device {
  const char *name;
  int architecture, processors, sharedBytes, l2Bytes;
};
constexpr Device devices[] = {{"NVIDIA A100-SXM4-80GB", 80, 108, 166912, 40 << 20},
                              {"NVIDIA H200", 90, 132, 232448, 50 << 20},
                              {"NVIDIA B200", 100, 148, 232448, 126 << 20}};

/// As the library writes it (cuDNN 9.19 and 9.26).
std::string descriptionOf(const Device &device) {
  std::ostringstream json;
  json << R"({"cudaDeviceId": 0, "deviceVer": )" << device.architecture * 10
       << R"(, "driverVer": 13000, "totalGlobalMem": 80000000000, "maxGridSize": [2147483647, 65535, 65535], )"
       << R"("maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": )" << device.processors
       << R"(, "smCountOrigin": 0, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": )"
       << device.sharedBytes << R"(, "oversizedSharedMemoryPerBlock": 0, "reservedSharedMemoryPerBlock": 1024, )"
       << R"("maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, )"
       << R"("pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "smClockRateKHz": 1700000, )"
       << R"("memClockRateKHz": 2600000, "l2CacheSize": )" << device.l2Bytes << R"(, "deviceName": ")" << device.name
       << R"("})";
  return json.str();
}

CudnnDescriptor propertiesOf(const Device &device) {
  const std::string text = descriptionOf(device);
  CudnnDescriptor properties(dnn::kDevice);
  properties.set(dnn::kDeviceJson, dnn::kDnnChar, static_cast<int64_t>(text.size()), text.data());
  properties.finalize();
  return properties;
}

struct Shape {
  const char *name;
  int64_t batch, queries, keys, kvHeads, groups, size;
  bool causal = true;
  int64_t firstQuery = 0, window = -1;
  dtcc_dtype type = DTCC_BF16;
  int64_t vSize = 0;   ///< as `size`, if 0
  bool packed = false; ///< q, k and v are columns of one matrix
};

constexpr Shape shapes[] = {
    {"GPT-2 124M", 8, 1024, 1024, 12, 1, 64},
    {"GPT-2 124M, q, k and v of one product", 8, 1024, 1024, 12, 1, 64, true, 0, -1, DTCC_F16, 0, true},
    {"GPT-3 175B, tp=8", 1, 2048, 2048, 12, 1, 128},
    {"Llama 3 8B", 1, 8192, 8192, 8, 4, 128},
    {"Llama 3 405B, tp=8", 1, 8192, 8192, 1, 16, 128},
    {"Llama 3 8B, queries of the second of four ranks", 1, 2048, 8192, 8, 4, 128, true, 2048},
    {"Mixtral 8x7B", 1, 4096, 4096, 8, 4, 128},
    {"Mistral 7B", 1, 8192, 8192, 8, 4, 128, true, 0, 4096},
    {"BERT large without padding", 8, 512, 512, 16, 1, 64, false},
    {"ViT large", 8, 197, 197, 16, 1, 64, false},
    {"heads of 80 cells", 2, 333, 333, 3, 2, 80},
    {"the goldens' Mixtral", 2, 33, 33, 2, 3, 8},
    {"DeepSeek-V3, tp=8", 1, 2048, 2048, 16, 1, 192, true, 0, -1, DTCC_BF16, 128},
};

AttentionProblem problemOf(const Shape &s) {
  AttentionProblem p;
  p.batch = s.batch, p.queries = s.queries, p.keys = s.keys, p.kvHeads = s.kvHeads, p.groups = s.groups;
  p.qkSize = s.size, p.vSize = s.vSize ? s.vSize : s.size;
  p.scale = 0.125f, p.causal = s.causal, p.firstQuery = s.firstQuery, p.windowLeft = s.window;
  const int64_t row = s.packed ? 3 * s.kvHeads * s.groups * s.size : 0;
  auto strides = [](AttentionTensor &x, std::initializer_list<int64_t> values) {
    std::copy(values.begin(), values.end(), x.strides);
  };
  auto ofQueries = [&](AttentionTensor &x, int64_t cells, int64_t row) {
    row = row ? row : s.kvHeads * s.groups * cells;
    strides(x, {s.queries * row, row, s.groups * cells, cells, 1});
  };
  auto ofKeys = [&](AttentionTensor &x, int64_t cells, int64_t row) {
    row = row ? row : s.kvHeads * cells;
    strides(x, {s.keys * row, row, cells, 1});
  };
  ofQueries(p.q, p.qkSize, row), ofQueries(p.dq, p.qkSize, row);
  ofQueries(p.out, p.vSize, 0), ofQueries(p.dout, p.vSize, 0);
  ofKeys(p.k, p.qkSize, row), ofKeys(p.dk, p.qkSize, row), ofKeys(p.v, p.vSize, row), ofKeys(p.dv, p.vSize, row);
  const int64_t heads = s.kvHeads * s.groups;
  strides(p.lse, {heads * s.queries, s.groups * s.queries, s.queries, 1});
  return p;
}

class CudnnPlans : public testing::TestWithParam<Device> {};

TEST_P(CudnnPlans, KnowAnEngineOfEveryModelsAttention) {
  const CudnnDescriptor properties = propertiesOf(GetParam());
  for (const Shape &shape : shapes)
    for (bool backward : {false, true}) {
      SCOPED_TRACE(std::string(shape.name) + (backward ? ", gradient" : ""));
      const AttentionProblem problem = problemOf(shape);
      AttentionForm form;
      form.type = shape.type, form.backward = backward;
      const char *obstacle = attentionObstacle(problem, form, cudnn().number());
      // Graphs that the library is known to compute wrongly are not tried.
      if (backward && shape.keys % 128 && cudnn().number() <= 91500) {
        EXPECT_NE(obstacle, nullptr);
        continue;
      }
      ASSERT_EQ(obstacle, nullptr) << obstacle;
      try {
        const std::vector<AttentionWay> ways = attentionWays(problem, form, {nullptr, &properties}, 1);
        std::cout << GetParam().name << ", " << shape.name << (backward ? ", gradient" : "") << ": engine "
                  << ways[0].plan.engine << ", " << ways[0].plan.workspaceBytes << " bytes"
                  << (backward && !ways[0].addsInMemory ? ", sums of its own" : "") << std::endl;
      } catch (const CudnnRefusal &refusal) {
        // The gradient of heads of 192 cells is for Hopper and, from 9.11 on, Blackwell.
        const int most = cudnn().number() < 91100 ? 90 : 100;
        EXPECT_TRUE(backward && shape.size > 128 && (GetParam().architecture < 90 || GetParam().architecture > most))
            << refusal.reason;
      }
    }
}

struct ConvolutionShape {
  const char *name;
  int64_t samples, groups, inputs, outputs, image, window, stride, low;
  dtcc_dtype type = DTCC_BF16;
};

constexpr ConvolutionShape convolutionShapes[] = {
    {"ResNet-50, 7x7", 256, 1, 3, 64, 224, 7, 2, 3},
    {"ResNet-50, 3x3 of 64", 256, 1, 64, 64, 56, 3, 1, 1},
    {"ResNet-50, 3x3 of 128 with stride 2", 256, 1, 128, 128, 56, 3, 2, 1},
    {"ResNet-50, 3x3 of 512", 256, 1, 512, 512, 7, 3, 1, 1},
    {"ResNet-50, 1x1 of 64 to 256", 256, 1, 64, 256, 56, 1, 1, 0},
    {"ResNet-50, 1x1 of 1024 with stride 2", 256, 1, 1024, 2048, 14, 1, 2, 0},
    {"ResNet-50 in f16, 3x3 of 64", 256, 1, 64, 64, 56, 3, 1, 1, DTCC_F16},
    {"ResNet-50 in f32, 3x3 of 64", 64, 1, 64, 64, 56, 3, 1, 1, DTCC_F32},
    {"ResNeXt-50, groups of 4", 64, 32, 4, 4, 56, 3, 1, 1},
    {"ConvNeXt, depthwise 7x7", 64, 96, 1, 1, 56, 7, 1, 3},
    {"ViT, patches of 16x16", 64, 1, 3, 768, 224, 16, 16, 0},
};

LibraryConvolutionForm formOf(const ConvolutionShape &s, ConvolutionDirection direction) {
  LibraryConvolutionForm form;
  form.direction = direction;
  ConvolutionProblem &p = form.problem;
  p.samples = s.samples, p.groups = s.groups, p.inputs = s.inputs, p.outputs = s.outputs;
  for (int d = 1; d < 3; ++d) {
    p.window.image[d] = s.image, p.window.window[d] = s.window, p.window.strides[d] = s.stride;
    p.window.low[d] = s.low, p.window.result[d] = (s.image + 2 * s.low - s.window) / s.stride + 1;
  }
  p.type = p.outType = s.type, form.usesTf32 = s.type == DTCC_F32;
  p.channelsLast.image = p.channelsLast.kernel = p.channelsLast.result = true;
  return form;
}

/// With the workspace that the compiler plans, in halves: f32 stays with kernels of ours unless TF32 is allowed.
TEST_P(CudnnPlans, KnowAnEngineOfEveryConvolution) {
  const CudnnDescriptor properties = propertiesOf(GetParam());
  for (const ConvolutionShape &shape : convolutionShapes)
    for (auto direction :
         {ConvolutionDirection::Forward, ConvolutionDirection::InputGrad, ConvolutionDirection::KernelGrad})
      for (bool denseKernel : {false, true}) {
        LibraryConvolutionForm form = formOf(shape, direction);
        form.problem.channelsLast.kernel = !denseKernel;
        const std::string name = std::string(shape.name) + ", direction " +
                                 std::to_string(static_cast<int>(direction)) + (denseKernel ? ", dense kernel" : "");
        SCOPED_TRACE(name);
        try {
          const int64_t most = convolutionWorkspace(form.problem).engine();
          const auto ways = convolutionWays(form, {nullptr, &properties}, most, 1);
          std::cout << GetParam().name << ", " << name << ": engine " << ways[0].plan.engine << ", "
                    << ways[0].plan.workspaceBytes << " bytes of " << most << std::endl;
        } catch (const CudnnRefusal &refusal) {
          // Before Hopper, engines for TF32 first copy an image.
          EXPECT_TRUE(shape.type == DTCC_F32 && GetParam().architecture < 90) << refusal.reason;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlans, testing::ValuesIn(devices), [](const auto &info) {
  return "sm" + std::to_string(info.param.architecture) + "_" + std::to_string(info.index);
});

/// An engine that wants more than was planned is passed over, and says so.
TEST(CudnnPlan, NeedsTheWorkspaceItSays) {
  const CudnnDescriptor properties = propertiesOf(devices[1]);
  const AttentionProblem problem = problemOf(shapes[3]); // heads share keys
  AttentionForm form;
  form.backward = true;
  CudnnGraph graph = attentionGraph(problem, form);
  const CudnnPlan first = std::move(graph.plans({nullptr, &properties}, int64_t{1} << 40, 1).front());
  EXPECT_GT(first.workspaceBytes, 0);
  try {
    graph.plans({nullptr, &properties}, 0, 1);
    FAIL() << "a plan without workspace";
  } catch (const CudnnRefusal &refusal) {
    EXPECT_NE(refusal.reason.find("bytes of workspace, of 0"), std::string::npos) << refusal.reason;
  }
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!cudnn().problem.empty()) {
    std::cout << "skipped: " << cudnn().problem << std::endl;
    return 77;
  }
  std::cout << "cuDNN " << cudnn().version() << std::endl;
  return RUN_ALL_TESTS();
}
