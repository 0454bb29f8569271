//===- Api.cpp - The functions of the emulated cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of cuDNN's backend API that graphs of operations need. Tables say which attributes a
// kind of descriptor has, of which type and how many, and which are required. Numbers are those of Cudnn.def, which
// tests/conformance/headers compares with cuDNN's.
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Streams.h"
#include "tests/emulator/cudnn/Graph.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

using namespace dtcc::emulator;
using namespace dtcc::emulator::dnn;

namespace {

// cudnnStatus_t
constexpr int kDone = 0, kWrongValue = 2000, kUnsupported = 3000, kFailed = 5000;
thread_local std::string lastError;

int wrong(int status, const char *call, const std::string &what) {
  lastError = what;
  std::fprintf(stderr, "emulated cuDNN: %s: %s\n", call, what.c_str());
  return status;
}
/// Refuses for lack of an engine. The reason is kept for callers that ask for the last error.
int without(const char *what) {
  lastError = what;
  return kUnsupported;
}

struct Handle {
  void *stream = nullptr;
};

struct Attribute {
  int number, type;
  int64_t least, most;
  bool required = true;
};
struct Kind {
  int number;
  std::vector<Attribute> attributes;
};
constexpr int64_t kMany = 1 << 10;

/// The attributes of a convolution's operation, and of its gradients'.
struct Convolution {
  int kind, alpha, beta, mode, x, w, y;
};
constexpr Convolution kConvolutions[] = {
    {kForward, kForwardAlpha, kForwardBeta, kForwardMode, kForwardX, kForwardW, kForwardY},
    {kDataGrad, kDataGradAlpha, kDataGradBeta, kDataGradMode, kDataGradX, kDataGradW, kDataGradY},
    {kFilterGrad, kFilterGradAlpha, kFilterGradBeta, kFilterGradMode, kFilterGradX, kFilterGradW, kFilterGradY}};
const Convolution *convolutionOf(int kind) {
  const Convolution *found = std::ranges::find(kConvolutions, kind, &Convolution::kind);
  return found == std::end(kConvolutions) ? nullptr : found;
}
Kind convolution(int kind) {
  const Convolution &c = *convolutionOf(kind);
  return {kind,
          {{c.alpha, kDnnFloat, 1, 1},
           {c.beta, kDnnFloat, 1, 1},
           {c.mode, kDnnDescriptor, 1, 1},
           {c.x, kDnnDescriptor, 1, 1},
           {c.w, kDnnDescriptor, 1, 1},
           {c.y, kDnnDescriptor, 1, 1}}};
}

const std::vector<Kind> &kinds() {
  static const std::vector<Kind> table = {
      {kTensor,
       {{kTensorId, kDnnInt64, 1, 1},
        {kTensorType, kDnnDataType, 1, 1},
        {kTensorSizes, kDnnInt64, 4, 5},
        {kTensorStrides, kDnnInt64, 4, 5},
        {kTensorAlignment, kDnnInt64, 1, 1},
        {kTensorIsVirtual, kDnnBoolean, 1, 1, false},
        {kTensorIsValue, kDnnBoolean, 1, 1, false}}},
      {kPointwise,
       {{kPointwiseMode, kDnnPointwiseMode, 1, 1},
        {kPointwiseType, kDnnDataType, 1, 1},
        {kPointwiseAxis, kDnnInt64, 1, 1, false}}},
      {kOperationPointwise,
       {{kOperationPointwiseMode, kDnnDescriptor, 1, 1},
        {kOperationPointwiseX, kDnnDescriptor, 1, 1},
        {kOperationPointwiseB, kDnnDescriptor, 1, 1, false},
        {kOperationPointwiseT, kDnnDescriptor, 1, 1, false},
        {kOperationPointwiseY, kDnnDescriptor, 1, 1}}},
      {kMatmul, {{kMatmulType, kDnnDataType, 1, 1}}},
      {kOperationMatmul,
       {{kOperationMatmulMode, kDnnDescriptor, 1, 1},
        {kOperationMatmulA, kDnnDescriptor, 1, 1},
        {kOperationMatmulB, kDnnDescriptor, 1, 1},
        {kOperationMatmulC, kDnnDescriptor, 1, 1}}},
      {kReduction, {{kReductionOperator, kDnnReduction, 1, 1}, {kReductionType, kDnnDataType, 1, 1}}},
      {kOperationReduction,
       {{kOperationReductionMode, kDnnDescriptor, 1, 1},
        {kOperationReductionX, kDnnDescriptor, 1, 1},
        {kOperationReductionY, kDnnDescriptor, 1, 1}}},
      {kOperationReshape, {{kOperationReshapeX, kDnnDescriptor, 1, 1}, {kOperationReshapeY, kDnnDescriptor, 1, 1}}},
      {kConvolution,
       {{kConvolutionType, kDnnDataType, 1, 1},
        {kConvolutionMode, kDnnConvolutionMode, 1, 1},
        {kConvolutionDimensions, kDnnInt64, 1, 1},
        {kConvolutionBefore, kDnnInt64, 2, 3},
        {kConvolutionAfter, kDnnInt64, 2, 3},
        {kConvolutionDilations, kDnnInt64, 2, 3},
        {kConvolutionStrides, kDnnInt64, 2, 3}}},
      convolution(kForward),
      convolution(kDataGrad),
      convolution(kFilterGrad),
      {kOperationGraph,
       {{kOperationGraphHandle, kDnnHandle, 1, 1}, {kOperationGraphOperations, kDnnDescriptor, 1, kMany}}},
      {kHeuristic, {{kHeuristicGraph, kDnnDescriptor, 1, 1}, {kHeuristicMode, kDnnHeuristicMode, 1, 1}}},
      {kEngineConfig, {}},
      {kEngine, {}},
      {kPlan, {{kPlanHandle, kDnnHandle, 1, 1}, {kPlanConfig, kDnnDescriptor, 1, 1}}},
      {kPack,
       {{kPackIds, kDnnInt64, 1, kMany}, {kPackPointers, kDnnPointer, 1, kMany}, {kPackWorkspace, kDnnPointer, 1, 1}}},
  };
  return table;
}

size_t bytesOf(int type) {
  return type == kDnnBoolean                                                                        ? 1
         : type == kDnnInt64 || type == kDnnPointer || type == kDnnHandle || type == kDnnDescriptor ? 8
                                                                                                    : 4;
}

/// The heuristic's order; the first wants more than anybody has, the third takes less time than the second. Both take
/// more than kernels of ours, however slowly a busy machine emulates these.
struct Engine {
  int64_t number, workspaceBytes;
  double seconds;
  bool roundsInputs = false;
};
constexpr Engine kEngines[] = {{9, int64_t{1} << 40, 0}, {6, 256, 2e3}, {7, 0, 1e3}};
/// The first for convolutions of f32: by tensor cores, which round to TF32.
constexpr Engine kTf32Engine = {5, 0, 1e3, true};

/// Content of a descriptor, shared by the descriptors that were made from it.
struct Content {
  int kind = 0;
  bool finalized = false;
  struct Value {
    std::vector<char> bytes;
    std::vector<std::shared_ptr<Content>> descriptors;
  };
  std::map<int, Value> values;
  DnnTensor tensor;
  std::shared_ptr<DnnGraph> graph;
  Engine engine = {};
  int64_t workspaceBytes = 0;

  template <typename T> T value(int attribute, T otherwise = {}) const {
    auto found = values.find(attribute);
    return found == values.end() ? otherwise : cellAs<T>(found->second.bytes.data());
  }
  template <typename T> std::vector<T> all(int attribute) const {
    const std::vector<char> &bytes = values.at(attribute).bytes;
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  const Content &of(int attribute) const { return *values.at(attribute).descriptors[0]; }
  bool has(int attribute) const { return values.count(attribute); }
};
struct Descriptor {
  std::shared_ptr<Content> content;
};

std::string finishTensor(Content &c) {
  DnnTensor &t = c.tensor;
  t.id = c.value<int64_t>(kTensorId), t.type = c.value<int>(kTensorType);
  t.isVirtual = c.value<bool>(kTensorIsVirtual), t.isValue = c.value<bool>(kTensorIsValue);
  const auto sizes = c.all<int64_t>(kTensorSizes), strides = c.all<int64_t>(kTensorStrides);
  std::copy(sizes.begin(), sizes.end(), t.sizes.begin());
  std::copy(strides.begin(), strides.end(), t.strides.begin());
  t.rank = sizes.size();
  if (strides.size() != t.rank)
    return "not a stride for each size";
  if (*std::min_element(sizes.begin(), sizes.end()) < 1)
    return "a size below 1";
  for (size_t d = 0; d < t.rank; ++d)
    if (t.sizes[d] > 1 && t.strides[d] < 1)
      return "a stride below 1";
  if (t.isValue && (t.isVirtual || t.cells() != 1))
    return "a value is one number that the caller holds";
  if (!t.isVirtual && (t.type == kDnnBool || (t.type == kDnnI32 && !t.isValue)))
    return "a type that no memory holds here";
  if (const int64_t alignment = c.value<int64_t>(kTensorAlignment); alignment < 1 || alignment & (alignment - 1))
    return "an alignment that is no power of two";
  return {};
}

/// An operation's mode, inputs and output, by the attributes of its kind.
DnnOperation operationOf(const Content &c) {
  DnnOperation op;
  op.kind = c.kind;
  auto take = [&](std::initializer_list<int> inputs, int output) {
    for (int input : inputs)
      if (c.has(input))
        op.inputs.push_back(c.of(input).tensor);
    op.output = c.of(output).tensor;
  };
  if (c.kind == kOperationPointwise) {
    const Content &mode = c.of(kOperationPointwiseMode);
    op.mode = mode.value<int>(kPointwiseMode), op.computeType = mode.value<int>(kPointwiseType);
    op.axis = mode.value<int64_t>(kPointwiseAxis, -1);
    take({kOperationPointwiseX, kOperationPointwiseB, kOperationPointwiseT}, kOperationPointwiseY);
  } else if (c.kind == kOperationMatmul) {
    op.computeType = c.of(kOperationMatmulMode).value<int>(kMatmulType);
    take({kOperationMatmulA, kOperationMatmulB}, kOperationMatmulC);
  } else if (c.kind == kOperationReduction) {
    const Content &mode = c.of(kOperationReductionMode);
    op.mode = mode.value<int>(kReductionOperator), op.computeType = mode.value<int>(kReductionType);
    take({kOperationReductionX}, kOperationReductionY);
  } else if (const Convolution *of = convolutionOf(c.kind)) {
    const Content &mode = c.of(of->mode);
    op.computeType = mode.value<int>(kConvolutionType);
    op.windowStrides = mode.all<int64_t>(kConvolutionStrides), op.dilations = mode.all<int64_t>(kConvolutionDilations);
    op.before = mode.all<int64_t>(kConvolutionBefore), op.after = mode.all<int64_t>(kConvolutionAfter);
    if (c.kind == kForward)
      take({of->x, of->w}, of->y);
    else if (c.kind == kDataGrad)
      take({of->w, of->y}, of->x);
    else
      take({of->x, of->y}, of->w);
  } else {
    take({kOperationReshapeX}, kOperationReshapeY);
  }
  return op;
}

std::string finishGraph(Content &c) {
  c.graph = std::make_shared<DnnGraph>();
  for (const auto &operation : c.values.at(kOperationGraphOperations).descriptors)
    if (std::string problem = c.graph->add(operationOf(*operation)); !problem.empty())
      return problem;
  return {};
}

std::string convolutionProblem(const Content &c) {
  const auto dimensions = static_cast<size_t>(c.value<int64_t>(kConvolutionDimensions));
  for (const auto &[attribute, least] :
       {std::pair(kConvolutionStrides, 1), {kConvolutionDilations, 1}, {kConvolutionBefore, 0}, {kConvolutionAfter, 0}})
    if (const auto all = c.all<int64_t>(attribute);
        all.size() != dimensions || *std::min_element(all.begin(), all.end()) < least)
      return "windows of a convolution with too few numbers, or too small ones";
  return c.value<int>(kConvolutionMode) == kDnnCorrelation ? "" : "a mode that the emulator does not know";
}

std::string finish(Content &c) {
  if (const Convolution *of = convolutionOf(c.kind))
    return c.value<float>(of->alpha) == 1 && c.value<float>(of->beta) == 0 ? ""
                                                                           : "a convolution that is scaled or added";
  switch (c.kind) {
  case kConvolution:
    return convolutionProblem(c);
  case kTensor:
    return finishTensor(c);
  case kOperationGraph:
    return finishGraph(c);
  case kPlan: {
    const Content &config = c.of(kPlanConfig);
    c.graph = config.graph, c.engine = config.engine;
    c.workspaceBytes = config.engine.workspaceBytes + config.graph->sharedBytes();
    return {};
  }
  case kPack:
    return c.all<int64_t>(kPackIds).size() == c.all<void *>(kPackPointers).size() ? "" : "not an address for each id";
  default:
    return {};
  }
}

/// Engines that DTCC_EMULATED_CUDNN leaves for a graph.
std::vector<Engine> enginesFor(const DnnGraph &graph) {
  const char *which = std::getenv("DTCC_EMULATED_CUDNN");
  const std::string what = which ? which : "";
  if (what == "none" || (what == "ampere" && graph.addsInMemory()) || !graph.hasEngines())
    return {};
  std::vector<Engine> engines(std::begin(kEngines), std::end(kEngines));
  if (graph.isFloatConvolution())
    engines.insert(engines.begin(), kTf32Engine);
  if (what == "fast") // than anything else
    for (Engine &engine : engines)
      engine.seconds -= 1e6;
  return engines;
}

std::atomic<uint64_t> executed = 0;

} // namespace

extern "C" {

uint64_t dtcc_emulated_cudnn_graphs() { return executed; }

size_t cudnnGetVersion() { return 92600; }
void cudnnGetLastErrorString(char *text, size_t bytes) { std::snprintf(text, bytes, "%s", lastError.c_str()); }
int cudnnCreate(Handle **made) {
  *made = new Handle;
  return kDone;
}
int cudnnDestroy(Handle *handle) {
  delete handle;
  return kDone;
}
int cudnnSetStream(Handle *handle, void *stream) {
  handle->stream = stream;
  return kDone;
}

int cudnnBackendCreateDescriptor(int kind, Descriptor **made) {
  if (std::none_of(kinds().begin(), kinds().end(), [&](const Kind &k) { return k.number == kind; }))
    return wrong(kUnsupported, "cudnnBackendCreateDescriptor", "a kind that the emulator does not know");
  *made = new Descriptor{std::make_shared<Content>()};
  (*made)->content->kind = kind;
  return kDone;
}
int cudnnBackendDestroyDescriptor(Descriptor *descriptor) {
  delete descriptor;
  return kDone;
}

int cudnnBackendSetAttribute(Descriptor *descriptor, int attribute, int type, int64_t count, const void *values) {
  Content &c = *descriptor->content;
  auto kind = std::find_if(kinds().begin(), kinds().end(), [&](const Kind &k) { return k.number == c.kind; });
  auto row = std::find_if(kind->attributes.begin(), kind->attributes.end(),
                          [&](const Attribute &a) { return a.number == attribute; });
  auto bad = [&](const char *what) {
    return wrong(kWrongValue, "cudnnBackendSetAttribute",
                 "attribute " + std::to_string(attribute) + " of descriptor " + std::to_string(c.kind) + ": " + what);
  };
  if (c.finalized)
    return bad("the descriptor is finalized");
  if (row == kind->attributes.end())
    return bad("none of its kind that the emulator knows");
  if (row->type != type || count < row->least || count > row->most)
    return bad("another type or number of values");
  Content::Value value;
  if (type == kDnnDescriptor) {
    for (int64_t i = 0; i < count; ++i) {
      auto each = static_cast<Descriptor *const *>(values)[i];
      if (!each || !each->content->finalized)
        return bad("a descriptor that is not finalized");
      value.descriptors.push_back(each->content);
    }
  } else {
    const char *begin = static_cast<const char *>(values);
    value.bytes.assign(begin, begin + size_t(count) * bytesOf(type));
  }
  c.values[attribute] = std::move(value);
  return kDone;
}

int cudnnBackendFinalize(Descriptor *descriptor) {
  Content &c = *descriptor->content;
  auto kind = std::find_if(kinds().begin(), kinds().end(), [&](const Kind &k) { return k.number == c.kind; });
  for (const Attribute &attribute : kind->attributes)
    if (attribute.required && !c.has(attribute.number))
      return wrong(kWrongValue, "cudnnBackendFinalize", "no attribute " + std::to_string(attribute.number));
  if (std::string problem = finish(c); !problem.empty())
    return wrong(kWrongValue, "cudnnBackendFinalize", problem);
  c.finalized = true;
  return kDone;
}

int cudnnBackendGetAttribute(Descriptor *descriptor, int attribute, int type, int64_t wanted, int64_t *count,
                             void *values) {
  const Content &c = *descriptor->content;
  if (!c.finalized)
    return wrong(kWrongValue, "cudnnBackendGetAttribute", "the descriptor is not finalized");
  auto give = [&](int64_t value) {
    *count = 1;
    *static_cast<int64_t *>(values) = value;
    return kDone;
  };
  auto fill = [&](Descriptor *to, int kind, const Engine &engine) {
    *to->content = {};
    to->content->kind = kind, to->content->finalized = true;
    to->content->engine = engine;
  };
  if (c.kind == kHeuristic && attribute == kHeuristicResults && type == kDnnDescriptor) {
    auto graph = c.of(kHeuristicGraph).graph;
    *count = 0;
    for (const Engine &engine : enginesFor(*graph)) {
      if (*count == wanted)
        break;
      Descriptor *to = static_cast<Descriptor **>(values)[(*count)++];
      if (to->content->kind != kEngineConfig)
        return wrong(kWrongValue, "cudnnBackendGetAttribute", "no descriptor of an engine's configuration");
      fill(to, kEngineConfig, engine);
      to->content->graph = graph;
    }
    return *count ? kDone : without("no engine");
  }
  if (c.kind == kEngineConfig && attribute == kEngineConfigWorkspace && type == kDnnInt64)
    return give(c.engine.workspaceBytes + c.graph->sharedBytes());
  if (c.kind == kPlan && attribute == kPlanWorkspace && type == kDnnInt64)
    return give(c.workspaceBytes);
  if (c.kind == kEngineConfig && attribute == kEngineConfigEngine && type == kDnnDescriptor) {
    fill(*static_cast<Descriptor **>(values), kEngine, c.engine);
    *count = 1;
    return kDone;
  }
  if (c.kind == kEngine && attribute == kEngineIndex && type == kDnnInt64)
    return give(c.engine.number);
  if (c.kind == kEngine && attribute == kEngineNotes && type == kDnnNumericalNote && wanted >= 2) {
    const int notes[] = {kDnnTensorCores, kDnnRoundsInputs};
    *count = c.engine.roundsInputs ? 2 : 0;
    std::copy_n(notes, *count, static_cast<int *>(values));
    return kDone;
  }
  return wrong(kWrongValue, "cudnnBackendGetAttribute", "an attribute that the emulator does not know");
}

int cudnnBackendExecute(Handle *handle, Descriptor *planned, Descriptor *packed) {
  const Content &plan = *planned->content, &pack = *packed->content;
  auto bad = [](const std::string &what) { return wrong(kWrongValue, "cudnnBackendExecute", what); };
  if (plan.kind != kPlan || pack.kind != kPack || !plan.finalized || !pack.finalized)
    return bad("no finalized plan and pack");
  if (plan.value<Handle *>(kPlanHandle) != handle)
    return bad("a plan of another handle");
  const auto ids = pack.all<int64_t>(kPackIds);
  const auto pointers = pack.all<void *>(kPackPointers);
  std::map<int64_t, void *> given;
  for (size_t i = 0; i < ids.size(); ++i)
    if (!given.try_emplace(ids[i], pointers[i]).second)
      return bad("an id twice");
  Emulation &emulation = Emulation::get();
  Lock lock = emulation.hold();
  try {
    Stream &stream = emulation.streamOf(handle->stream);
    std::map<int64_t, char *> memory;
    auto numbers = std::make_shared<std::map<int64_t, uint32_t>>(); // values are read now
    for (const auto &[id, tensor] : plan.graph->tensors()) {
      if (tensor.isVirtual)
        continue;
      auto found = given.find(id);
      if (found == given.end())
        return bad("no address of tensor " + std::to_string(id));
      if (tensor.isValue) {
        auto &number = (*numbers)[id] = cellAs<uint32_t>(static_cast<const char *>(found->second));
        memory[id] = reinterpret_cast<char *>(&number);
        continue;
      }
      const auto address = reinterpret_cast<uint64_t>(found->second);
      if (address % 16)
        return bad("an address that is less aligned than its tensor says");
      memory[id] = emulation.locate(*stream.device, address, uint64_t(tensor.span()) * bytesOf(tensor.element()),
                                    "a tensor of cudnnBackendExecute");
    }
    if (given.size() != memory.size())
      return bad("an address of no tensor in memory");
    char *scratch = nullptr;
    const auto scratchBytes = static_cast<uint64_t>(plan.workspaceBytes);
    if (scratchBytes)
      scratch = emulation.locate(*stream.device, reinterpret_cast<uint64_t>(pack.value<void *>(kPackWorkspace)),
                                 scratchBytes, "the workspace of cudnnBackendExecute");
    const std::string kernel = "cudnn " + std::to_string(reinterpret_cast<uintptr_t>(plan.graph.get())) + ' ' +
                               std::to_string(plan.engine.number);
    if (stream.device->loaded.insert(kernel).second && stream.device->meetings > 0)
      return wrong(
          kFailed, "cudnnBackendExecute",
          "its kernels are loaded when they are first used: the driver then waits for all work of the GPU, and "
          "NCCL's may wait for other ranks");
    ++executed;
    emulation.enqueue(
        lock, stream,
        [graph = plan.graph, memory, numbers, scratch, scratchBytes, engine = plan.engine, device = stream.device] {
          // Nobody may count on what it holds.
          if (scratch)
            std::memset(scratch, 0xff, scratchBytes);
          graph->run(memory, engine.roundsInputs);
          device->emulatedSeconds += engine.seconds;
        });
    return kDone;
  } catch (const CallError &error) {
    return wrong(kFailed, "cudnnBackendExecute", error.what);
  }
}
}
