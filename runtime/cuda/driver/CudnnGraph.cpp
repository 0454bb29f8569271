//===- CudnnGraph.cpp - Operations that cuDNN is to fuse ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/CudnnGraph.h"

#include <algorithm>
#include <bit>

namespace dtcc::rt::cuda {

using namespace dnn;

namespace {

/// Bytes that divide every address.
constexpr int64_t kAlignment = 16;
/// Sizes and strides of a number.
constexpr CudnnSizes kOne = {1, 1, 1, 1};

/// Throws CudnnRefusal with what the library says of the call.
void check(int status, const char *call) {
  if (status == 0)
    return;
  char text[512] = "";
  cudnn().lastError(text, sizeof text);
  std::string words(text);
  while (!words.empty() && words.back() == '\n')
    words.pop_back();
  throw CudnnRefusal{std::string(call) + ": status " + std::to_string(status) + (words.empty() ? "" : ": ") + words};
}

int64_t numberOf(const CudnnDescriptor &of, int attribute) {
  int64_t value = 0, count = 0;
  check(cudnn().getAttribute(of.get(), attribute, kDnnInt64, 1, &count, &value), "cudnnBackendGetAttribute");
  return value;
}

/// Throws CudnnRefusal if the engine has one of the numerical notes.
void refuseNotes(const CudnnDescriptor &engine, int64_t number, const std::vector<int> &avoided) {
  if (avoided.empty())
    return;
  int notes[kDnnMostNotes] = {};
  int64_t count = 0;
  check(cudnn().getAttribute(engine.get(), kEngineNotes, kDnnNumericalNote, kDnnMostNotes, &count, notes),
        "cudnnBackendGetAttribute");
  for (int64_t i = 0; i < std::min<int64_t>(count, kDnnMostNotes); ++i)
    if (std::ranges::count(avoided, notes[i]))
      throw CudnnRefusal{"engine " + std::to_string(number) + " has numerical note " + std::to_string(notes[i])};
}

/// Throws CudnnRefusal, before the library compiles anything for it if it wants too much.
CudnnPlan planOf(const CudnnTarget &target, const CudnnDescriptor &config, int64_t mostWorkspace,
                 const std::vector<int> &avoided) {
  CudnnDescriptor engine(kEngine);
  void *into = engine.get();
  int64_t count = 0;
  check(cudnn().getAttribute(config.get(), kEngineConfigEngine, kDnnDescriptor, 1, &count, &into),
        "cudnnBackendGetAttribute");
  CudnnPlan plan{CudnnDescriptor(kPlan)};
  plan.engine = numberOf(engine, kEngineIndex);
  refuseNotes(engine, plan.engine, avoided);
  auto limit = [&](int64_t bytes) {
    if (bytes > mostWorkspace)
      throw CudnnRefusal{"engine " + std::to_string(plan.engine) + " needs " + std::to_string(bytes) +
                         " bytes of workspace, of " + std::to_string(mostWorkspace)};
  };
  limit(numberOf(config, kEngineConfigWorkspace));
  plan.descriptor.set(kPlanConfig, config);
  if (target.handle)
    plan.descriptor.set(kPlanHandle, kDnnHandle, target.handle);
  else
    plan.descriptor.set(kPlanDevice, *target.properties);
  plan.descriptor.finalize();
  limit(plan.workspaceBytes = numberOf(plan.descriptor, kPlanWorkspace));
  return plan;
}

} // namespace

CudnnDescriptor::CudnnDescriptor(int kind) {
  check(cudnn().createDescriptor(kind, &descriptor), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor)
    cudnn().destroyDescriptor(descriptor);
}

void CudnnDescriptor::set(int attribute, int type, int64_t count, const void *values) {
  check(cudnn().setAttribute(descriptor, attribute, type, count, values),
        ("cudnnBackendSetAttribute " + std::to_string(attribute)).c_str());
}

void CudnnDescriptor::finalize() { check(cudnn().finalize(descriptor), "cudnnBackendFinalize"); }

CudnnGraph::Tensor CudnnGraph::add(int type, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                   bool isVirtual, bool isValue) {
  CudnnDescriptor tensor(kTensor);
  const auto id = static_cast<Tensor>(tensors.size()) + 1;
  tensor.set(kTensorId, kDnnInt64, id);
  tensor.set(kTensorType, kDnnDataType, type);
  tensor.set(kTensorSizes, kDnnInt64, static_cast<int64_t>(sizes.size()), sizes.data());
  tensor.set(kTensorStrides, kDnnInt64, static_cast<int64_t>(strides.size()), strides.data());
  tensor.set(kTensorAlignment, kDnnInt64, kAlignment);
  tensor.set(kTensorIsVirtual, kDnnBoolean, isVirtual);
  tensor.set(kTensorIsValue, kDnnBoolean, isValue);
  tensor.finalize();
  tensors.push_back(std::move(tensor));
  return id;
}

CudnnGraph::Tensor CudnnGraph::memory(int type, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  inMemory.push_back(add(type, sizes, strides, false, false));
  return inMemory.back();
}

CudnnGraph::Tensor CudnnGraph::value(float number) {
  values.push_back({add(kDnnF32, kOne, kOne, false, true), std::bit_cast<uint32_t>(number)});
  return values.back().tensor;
}

CudnnGraph::Tensor CudnnGraph::value(int32_t number) {
  values.push_back({add(kDnnI32, kOne, kOne, false, true), std::bit_cast<uint32_t>(number)});
  return values.back().tensor;
}

CudnnGraph::Tensor CudnnGraph::between(int type, const CudnnSizes &sizes) {
  return between(type, sizes, {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1});
}

CudnnGraph::Tensor CudnnGraph::between(int type, const CudnnSizes &sizes, const CudnnSizes &strides) {
  return add(type, sizes, strides, true, false);
}

void CudnnGraph::addOperation(CudnnDescriptor operation) {
  operation.finalize();
  operations.push_back(std::move(operation));
}

void CudnnGraph::matmul(Tensor a, Tensor b, Tensor c) {
  CudnnDescriptor mode(kMatmul), operation(kOperationMatmul);
  mode.set(kMatmulType, kDnnDataType, kDnnF32);
  mode.finalize();
  operation.set(kOperationMatmulMode, mode);
  operation.set(kOperationMatmulA, of(a));
  operation.set(kOperationMatmulB, of(b));
  operation.set(kOperationMatmulC, of(c));
  addOperation(std::move(operation));
  modes.push_back(std::move(mode));
}

void CudnnGraph::pointwise(int kind, int computeType, std::initializer_list<Tensor> operands, Tensor y,
                           std::optional<int64_t> axis) {
  CudnnDescriptor mode(kPointwise), operation(kOperationPointwise);
  mode.set(kPointwiseMode, kDnnPointwiseMode, kind);
  mode.set(kPointwiseType, kDnnDataType, computeType);
  if (axis)
    mode.set(kPointwiseAxis, kDnnInt64, *axis);
  mode.finalize();
  operation.set(kOperationPointwiseMode, mode);
  const int attributes[] = {kOperationPointwiseX, kOperationPointwiseB, kOperationPointwiseT};
  size_t i = 0;
  for (Tensor operand : operands)
    operation.set(attributes[i++], of(operand));
  operation.set(kOperationPointwiseY, of(y));
  addOperation(std::move(operation));
  modes.push_back(std::move(mode));
}

void CudnnGraph::reduce(int op, Tensor x, Tensor y) {
  CudnnDescriptor mode(kReduction), operation(kOperationReduction);
  mode.set(kReductionOperator, kDnnReduction, op);
  mode.set(kReductionType, kDnnDataType, kDnnF32);
  mode.finalize();
  operation.set(kOperationReductionMode, mode);
  operation.set(kOperationReductionX, of(x));
  operation.set(kOperationReductionY, of(y));
  addOperation(std::move(operation));
  modes.push_back(std::move(mode));
}

void CudnnGraph::reshape(Tensor x, Tensor y) {
  CudnnDescriptor operation(kOperationReshape);
  operation.set(kOperationReshapeX, of(x));
  operation.set(kOperationReshapeY, of(y));
  addOperation(std::move(operation));
}

void CudnnGraph::convolution(int kind, Tensor x, Tensor w, Tensor y, const CudnnWindows &windows) {
  struct Attributes {
    int kind, alpha, beta, mode, x, w, y;
  };
  constexpr Attributes all[] = {
      {kForward, kForwardAlpha, kForwardBeta, kForwardMode, kForwardX, kForwardW, kForwardY},
      {kDataGrad, kDataGradAlpha, kDataGradBeta, kDataGradMode, kDataGradX, kDataGradW, kDataGradY},
      {kFilterGrad, kFilterGradAlpha, kFilterGradBeta, kFilterGradMode, kFilterGradX, kFilterGradW, kFilterGradY}};
  const Attributes &of = *std::ranges::find(all, kind, &Attributes::kind);
  const auto dimensions = static_cast<int64_t>(windows.strides.size());
  CudnnDescriptor mode(kConvolution), operation(kind);
  mode.set(kConvolutionType, kDnnDataType, kDnnF32);
  mode.set(kConvolutionMode, kDnnConvolutionMode, kDnnCorrelation);
  mode.set(kConvolutionDimensions, kDnnInt64, dimensions);
  mode.set(kConvolutionBefore, kDnnInt64, dimensions, windows.before.data());
  mode.set(kConvolutionAfter, kDnnInt64, dimensions, windows.after.data());
  mode.set(kConvolutionDilations, kDnnInt64, dimensions, windows.dilations.data());
  mode.set(kConvolutionStrides, kDnnInt64, dimensions, windows.strides.data());
  mode.finalize();
  operation.set(of.x, this->of(x));
  operation.set(of.w, this->of(w));
  operation.set(of.y, this->of(y));
  operation.set(of.mode, mode);
  operation.set(of.alpha, kDnnFloat, 1.0f);
  operation.set(of.beta, kDnnFloat, 0.0f);
  addOperation(std::move(operation));
  modes.push_back(std::move(mode));
}

std::vector<CudnnPlan> CudnnGraph::plans(const CudnnTarget &target, int64_t mostWorkspace, size_t most) {
  std::vector<void *> pointers;
  for (const CudnnDescriptor &operation : operations)
    pointers.push_back(operation.get());
  CudnnDescriptor graph(kOperationGraph);
  graph.set(kOperationGraphOperations, kDnnDescriptor, static_cast<int64_t>(pointers.size()), pointers.data());
  if (target.handle)
    graph.set(kOperationGraphHandle, kDnnHandle, target.handle);
  graph.finalize();

  CudnnDescriptor heuristic(kHeuristic);
  heuristic.set(kHeuristicGraph, graph);
  heuristic.set(kHeuristicMode, kDnnHeuristicMode, kDnnHeuristicA);
  if (target.properties)
    heuristic.set(kHeuristicDevice, *target.properties);
  heuristic.finalize();
  constexpr int64_t kMostConfigs = 16;
  std::vector<CudnnDescriptor> configs;
  std::vector<void *> found;
  for (int64_t i = 0; i < kMostConfigs; ++i)
    found.push_back(configs.emplace_back(kEngineConfig).get());
  int64_t count = 0;
  check(cudnn().getAttribute(heuristic.get(), kHeuristicResults, kDnnDescriptor, kMostConfigs, &count, found.data()),
        "cudnnBackendGetAttribute");
  std::vector<CudnnPlan> result;
  std::string reason = "its heuristic knows no engine";
  for (int64_t i = 0; i < std::min(count, kMostConfigs) && result.size() < most; ++i) {
    try {
      result.push_back(planOf(target, configs[size_t(i)], mostWorkspace, avoided));
    } catch (const CudnnRefusal &refusal) {
      reason = refusal.reason;
    }
  }
  if (result.empty())
    throw CudnnRefusal{reason};
  return result;
}

void CudnnGraph::execute(void *handle, const CudnnPlan &plan, const std::vector<void *> &addresses, void *workspace) {
  std::vector<int64_t> ids(inMemory);
  std::vector<void *> pointers(addresses);
  for (Value &each : values) {
    ids.push_back(each.tensor);
    pointers.push_back(&each.bits);
  }
  const auto count = static_cast<int64_t>(ids.size());
  CudnnDescriptor pack(kPack);
  pack.set(kPackIds, kDnnInt64, count, ids.data());
  pack.set(kPackPointers, kDnnPointer, count, pointers.data());
  pack.set(kPackWorkspace, kDnnPointer, workspace);
  pack.finalize();
  check(cudnn().execute(handle, plan.descriptor.get(), pack.get()), "cudnnBackendExecute");
}

} // namespace dtcc::rt::cuda
