//===- Gpu.cpp - One GPU as one rank uses it ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/Gpu.h"

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/AmountText.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/driver/CublasLt.h"
#include "runtime/cuda/driver/Cudnn.h"
#include "runtime/cuda/kernels/KernelModules.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <utility>

namespace dtcc::rt::cuda {
namespace {

/// Dynamic shared memory that a kernel may have unasked.
constexpr uint64_t kPlainSharedBytes = 48 << 10;

} // namespace

Gpu::Gpu(int64_t rank, int64_t ordinal) : cuda(driver()), rank(rank) {
  int count = 0;
  check(cuda.deviceCount(&count), "cuDeviceGetCount");
  auto number = static_cast<int>(ordinal % count);
  title = "GPU " + std::to_string(number);
  check(cuda.deviceAt(&device, number), "cuDeviceGet");
  char name[128] = "";
  check(cuda.deviceName(name, sizeof name, device), "cuDeviceGetName");
  modelName = name;
  title += " (" + modelName + ")";
  generation = 10 * attribute(kMajor) + attribute(kMinor);
  processors = attribute(kMultiprocessorCount);
  check(cuda.retainContext(&context, device), "cuDevicePrimaryCtxRetain");
  makeCurrent();
}

void Gpu::makeCurrent() const { check(cuda.setContext(context), "cuCtxSetCurrent"); }

Gpu::~Gpu() {
  // Running kernels may still use the memory that is freed below. Errors were reported before, or repeat such a one.
  cuda.synchronizeContext();
  if (blas)
    cublasLt().destroy(blas);
  if (dnn)
    cudnn().destroy(dnn);
  for (CUmodule module : modules)
    cuda.unloadModule(module);
  for (CUevent event : events)
    cuda.destroyEvent(event);
  for (auto [number, stream] : streams)
    cuda.destroyStream(stream);
  for (CUdeviceptr block : blocks)
    cuda.release(block);
  for (void *block : lockedBlocks)
    cuda.releaseLocked(block);
  cuda.releaseContext(device);
}

void Gpu::check(CUresult error, const char *call) const {
  if (error != 0)
    failWith(Status::Device, where(), ": ", call, ": ", cuda.text(error));
}

std::string Gpu::where() const { return message("rank ", rank, ", ", doing, ", ", title); }

int Gpu::attribute(int which) const {
  int value = 0;
  check(cuda.deviceAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

void Gpu::uuid(unsigned char bytes[16]) const { check(cuda.deviceUuid(bytes, device), "cuDeviceGetUuid"); }

CUdeviceptr Gpu::allocate(uint64_t bytes, std::string_view what) {
  if (bytes == 0)
    return 0;
  CUdeviceptr address = 0;
  CUresult error = cuda.allocate(&address, bytes);
  if (error == kOutOfMemory) {
    size_t free = 0, total = 0;
    check(cuda.memoryInfo(&free, &total), "cuMemGetInfo");
    failWith(Status::Memory, "rank ", rank, ", ", title, ": ", what, " needs ", bytesText(static_cast<double>(bytes)),
             ", and ", bytesText(static_cast<double>(free)), " of ", bytesText(static_cast<double>(total)),
             " are free");
  }
  check(error, "cuMemAlloc");
  blocks.push_back(address);
  check(cuda.setBytes(address, 0, bytes, firstStream()), "cuMemsetD8Async");
  return address;
}

std::byte *Gpu::allocateLocked(uint64_t bytes, std::string_view what) {
  if (bytes == 0)
    return nullptr;
  void *start = nullptr;
  CUresult error = cuda.allocateLocked(&start, bytes, kSeenByAllContexts | kSeenByKernels);
  if (error == kOutOfMemory)
    failWith(Status::Memory, "rank ", rank, ", ", title, ": ", what, " needs ", bytesText(static_cast<double>(bytes)),
             " of the host's memory that the driver can lock, and it cannot");
  check(error, "cuMemHostAlloc");
  lockedBlocks.push_back(start);
  std::memset(start, 0, bytes);
  return static_cast<std::byte *>(start);
}

CUstream Gpu::stream(uint32_t number) {
  auto [at, isNew] = streams.try_emplace(number, nullptr);
  if (isNew)
    check(cuda.createStream(&at->second, kNonBlocking), "cuStreamCreate");
  return at->second;
}

CUevent Gpu::event() {
  CUevent event = nullptr;
  check(cuda.createEvent(&event, kNoTiming), "cuEventCreate");
  events.push_back(event);
  return event;
}

CUevent Gpu::timedEvent() {
  CUevent event = nullptr;
  check(cuda.createEvent(&event, 0), "cuEventCreate");
  events.push_back(event);
  return event;
}

float Gpu::milliseconds(CUevent begin, CUevent end) {
  float result = 0;
  check(cuda.elapsedTime(&result, begin, end), "cuEventElapsedTime");
  return result;
}

void Gpu::record(CUevent event, CUstream stream) { check(cuda.recordEvent(event, stream), "cuEventRecord"); }
void Gpu::mark(CUevent event, CUstream stream) {
  check(cuda.recordEventWith(event, stream, capturing ? kRecordExternal : 0), "cuEventRecordWithFlags");
}
void Gpu::wait(CUstream stream, CUevent event) { check(cuda.waitForEvent(stream, event, 0), "cuStreamWaitEvent"); }
bool Gpu::isPending(CUevent event) const { return cuda.queryEvent(event) == kNotReady; }

void Gpu::synchronize(CUstream stream) {
  check(waiting([&] { return cuda.synchronizeStream(stream); }), "cuStreamSynchronize");
}

void Gpu::copyToDevice(CUdeviceptr to, const void *from, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    check(cuda.copyToDevice(to, from, bytes, stream), "cuMemcpyHtoDAsync");
}

void Gpu::copyWithin(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    check(cuda.copyWithin(to, from, bytes, stream), "cuMemcpyDtoDAsync");
}

void Gpu::copyToHost(void *to, CUdeviceptr from, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    // Into memory that is not locked: it waits for what stands before it.
    check(waiting([&] { return cuda.copyToHost(to, from, bytes, stream); }), "cuMemcpyDtoHAsync");
}

void Gpu::copy(void *to, const void *from, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    check(cuda.copy(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes, stream),
          "cuMemcpyAsync");
}

CUgraphExec Gpu::capture(CUstream origin, const std::function<void()> &work) {
  // The capture is of this thread alone, because other ranks of the process may allocate meanwhile.
  check(cuda.beginCapture(origin, kCaptureOfThread), "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  capturing = true;
  try {
    work();
    capturing = false;
  } catch (...) {
    capturing = false;
    cuda.endCapture(origin, &graph); // fails, or gives what nobody wants
    if (graph)
      cuda.destroyGraph(graph);
    throw;
  }
  nowDoing("keeping the step as a graph");
  check(cuda.endCapture(origin, &graph), "cuStreamEndCapture");
  CUgraphExec made = nullptr;
  CUresult error = cuda.instantiate(&made, graph, 0);
  cuda.destroyGraph(graph);
  check(error, "cuGraphInstantiate");
  return made;
}

void Gpu::launch(CUgraphExec graph, CUstream stream) {
  nowDoing("a step");
  check(cuda.launchGraph(graph, stream), "cuGraphLaunch");
}

void Gpu::destroy(CUgraphExec graph) {
  if (graph)
    cuda.destroyExecutable(graph);
}

CUmodule Gpu::load(const char *code, std::string_view what) {
  // The driver's assembler says what it does not like.
  char log[1024] = "";
  int options[] = {kErrorLogBuffer, kErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule module = nullptr;
  if (CUresult error = cuda.loadModule(&module, code, 2, options, values)) {
    log[std::min(sizeof log - 1, std::strcspn(log, "\n"))] = 0;
    failWith(Status::Device, "rank ", rank, ", ", title, ": cannot load ", what, ": ", cuda.text(error),
             *log ? ": " : "", log);
  }
  modules.push_back(module);
  return module;
}

CUfunction Gpu::function(CUmodule module, const char *name) {
  CUfunction function = nullptr;
  if (CUresult error = cuda.functionOf(&function, module, name))
    failWith(Status::Device, "rank ", rank, ", ", title, ": no kernel ", name, ": ", cuda.text(error));
  return function;
}

CUfunction Gpu::kernel(const char *module, const char *name, uint64_t wanted) {
  auto [at, isNew] = ownModules.try_emplace(module, nullptr);
  if (isNew) {
    auto all = kernelModules();
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const KernelModule &each) { return std::string_view(each.name) == module; });
    if (found == all.end())
      fail("this program needs the runtime's kernels for GPUs (", module,
           "), and the compiler that wrote it was built without them: build dtcc with clang");
    at->second = load(found->ptx, "the runtime's kernels");
  }
  CUfunction found = function(at->second, name);
  if (uint64_t &allowed = sharedBytes[found]; wanted > std::max(allowed, kPlainSharedBytes)) {
    check(cuda.setFunctionAttribute(found, kMostDynamicSharedBytes, static_cast<int>(wanted)), "cuFuncSetAttribute");
    allowed = wanted;
  }
  return found;
}

void *Gpu::products() {
  if (!std::exchange(blasTried, true)) {
    const CublasLt &library = cublasLt();
    std::string problem = library.problem;
    if (problem.empty() && library.create(&blas) != 0)
      problem = "cublasLtCreate failed";
    if (!problem.empty() && rank == 0)
      std::cerr << "note: matrix products run in dtcc's own kernel, which is slower: " << problem << std::endl;
  }
  return blas;
}

void *Gpu::fusions() {
  if (!std::exchange(dnnTried, true)) {
    const Cudnn &library = cudnn();
    std::string problem = library.problem;
    if (problem.empty() && library.create(&dnn) != 0)
      problem = "cudnnCreate failed";
    if (!problem.empty() && rank == 0)
      std::cerr << "note: attention runs in dtcc's own kernels, which are slower: " << problem << std::endl;
  }
  return dnn;
}

const void *Gpu::upload(std::span<const std::byte> bytes) {
  CUdeviceptr address = allocate(bytes.size(), "a table of an operation");
  copyToDevice(address, bytes.data(), bytes.size(), firstStream());
  return reinterpret_cast<const void *>(address);
}

void Gpu::launch(CUfunction function, CUstream stream, const LaunchShape &shape, void **parameters) {
  check(cuda.launch(function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                    shape.block[2], shape.sharedBytes, stream, parameters, nullptr),
        "cuLaunchKernel");
}

void Gpu::reserveWorkspace(uint64_t bytes) {
  uint64_t &most = reserved[boundFor];
  if (bytes > most && workspaces.count(boundFor))
    fail("operations of stream ", boundFor, " have ", most, " bytes of workspace, and one that --tune tries wants ",
         bytes);
  most = std::max(most, bytes);
}

void *Gpu::workspace(uint32_t stream) {
  auto [at, isNew] = workspaces.try_emplace(stream, 0);
  if (isNew && lentBytes) {
    const uint64_t wanted = reserved[stream];
    if (takenBytes + wanted > lentBytes)
      fail("operations of stream ", stream, " want ", wanted, " bytes of workspace, and the program was planned with ",
           lentBytes - std::min(takenBytes, lentBytes));
    at->second = lent + takenBytes;
    takenBytes += static_cast<uint64_t>(gpu_workspace::piece(static_cast<int64_t>(wanted)));
  } else if (isNew) {
    uint64_t most = 0;
    for (auto [number, bytes] : reserved)
      most = std::max(most, bytes);
    at->second = allocate(most, "the workspace of operations");
  }
  return reinterpret_cast<void *>(at->second);
}

} // namespace dtcc::rt::cuda
