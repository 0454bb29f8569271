//===- Gpu.cpp - One GPU as one rank uses it ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/Gpu.h"

#include "runtime/abi/console/AmountText.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt::cuda {
Gpu::Gpu(int64_t rank, int64_t ordinal) : cuda(driver()), rank(rank) {
  int count = 0;
  check(cuda.deviceCount(&count), "cuDeviceGetCount");
  auto number = static_cast<int>(ordinal % count);
  check(cuda.deviceAt(&device, number), "cuDeviceGet");
  char name[128] = "";
  check(cuda.deviceName(name, sizeof name, device), "cuDeviceGetName");
  about.model = name;
  about.title = message("GPU ", number, " (", name, ")");
  auto attribute = [&](int which) {
    int value = 0;
    check(cuda.deviceAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  about.architecture = 10 * attribute(kMajor) + attribute(kMinor);
  about.multiprocessors = attribute(kMultiprocessorCount);
  check(cuda.retainContext(&context, device), "cuDevicePrimaryCtxRetain");
  makeCurrent();
}

void Gpu::beginWait() {
  isWaiting = true;
  waits->begin(doing);
}

void Gpu::endWait() {
  isWaiting = false;
  waits->end();
}

void Gpu::makeCurrent() const { check(cuda.setContext(context), "cuCtxSetCurrent"); }

Gpu::~Gpu() {
  // Running kernels may still use the memory that is freed below. Errors were reported before, or repeat such a one.
  cuda.synchronizeContext();
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

std::string Gpu::where() const { return message("rank ", rank, ", ", doing, ", ", about.title); }

void Gpu::uuid(unsigned char bytes[16]) const { check(cuda.deviceUuid(bytes, device), "cuDeviceGetUuid"); }

CUdeviceptr Gpu::allocate(uint64_t bytes, std::string_view what) {
  if (bytes == 0)
    return 0;
  CUdeviceptr address = 0;
  CUresult error = cuda.allocate(&address, bytes);
  if (error == kOutOfMemory) {
    size_t free = 0, total = 0;
    check(cuda.memoryInfo(&free, &total), "cuMemGetInfo");
    failWith(Status::Memory, "rank ", rank, ", ", about.title, ": ", what, " needs ",
             formatBytes(static_cast<double>(bytes)), ", and ", formatBytes(static_cast<double>(free)), " of ",
             formatBytes(static_cast<double>(total)), " are free");
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
    failWith(Status::Memory, "rank ", rank, ", ", about.title, ": ", what, " needs ",
             formatBytes(static_cast<double>(bytes)), " of the host's memory that the driver can lock, and it cannot");
  check(error, "cuMemHostAlloc");
  lockedBlocks.push_back(start);
  std::memset(start, 0, bytes);
  return static_cast<std::byte *>(start);
}

uint64_t Gpu::freeBytes() const {
  size_t free = 0, total = 0;
  check(cuda.memoryInfo(&free, &total), "cuMemGetInfo");
  return free;
}

CUstream Gpu::stream(uint32_t number) {
  auto [at, isNew] = streams.try_emplace(number, nullptr);
  if (isNew)
    check(cuda.createStream(&at->second, kNonBlocking), "cuStreamCreate");
  return at->second;
}

CUevent Gpu::event(unsigned flags) {
  CUevent event = nullptr;
  check(cuda.createEvent(&event, flags), "cuEventCreate");
  events.push_back(event);
  return event;
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

bool Gpu::copyBeside(CUdeviceptr to, const void *from, uint64_t bytes, CUstream stream,
                     std::initializer_list<CUevent> before, CUevent after) const {
  return cuda.setContext(context) == 0 &&
         std::ranges::all_of(before, [&](CUevent each) { return cuda.waitForEvent(stream, each, 0) == 0; }) &&
         cuda.copyToDevice(to, from, bytes, stream) == 0 && cuda.recordEvent(after, stream) == 0;
}

void Gpu::copyWithin(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    check(cuda.copyWithin(to, from, bytes, stream), "cuMemcpyDtoDAsync");
}

void Gpu::clear(CUdeviceptr at, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    check(cuda.setBytes(at, 0, bytes, stream), "cuMemsetD8Async");
}
void Gpu::copyToHost(void *to, CUdeviceptr from, uint64_t bytes, CUstream stream) {
  if (bytes > 0)
    // Into memory that is not locked: it waits for what stands before it.
    check(waiting([&] { return cuda.copyToHost(to, from, bytes, stream); }), "cuMemcpyDtoHAsync");
}

CUmodule Gpu::load(const char *code, std::string_view what) {
  // The driver's assembler says what it does not like.
  char log[1024] = "";
  int options[] = {kErrorLogBuffer, kErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule module = nullptr;
  if (CUresult error = cuda.loadModule(&module, code, 2, options, values)) {
    log[std::min(sizeof log - 1, std::strcspn(log, "\n"))] = 0;
    failWith(Status::Device, "rank ", rank, ", ", about.title, ": cannot load ", what, ": ", cuda.text(error),
             *log ? ": " : "", log);
  }
  modules.push_back(module);
  return module;
}

CUfunction Gpu::function(CUmodule module, const char *name) {
  CUfunction function = nullptr;
  if (CUresult error = cuda.functionOf(&function, module, name))
    failWith(Status::Device, "rank ", rank, ", ", about.title, ": no kernel ", name, ": ", cuda.text(error));
  return function;
}

void Gpu::launch(CUfunction function, CUstream stream, const LaunchShape &shape, void **parameters) {
  check(cuda.launch(function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                    shape.block[2], shape.sharedBytes, stream, parameters, nullptr),
        "cuLaunchKernel");
}

} // namespace dtcc::rt::cuda
