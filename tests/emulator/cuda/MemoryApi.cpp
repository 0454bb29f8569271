//===- MemoryApi.cpp - Emulated driver: memory, copies, fills
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device memory is seen at an address where this process may not read, and lies at another:
// a program that follows a device pointer on the host stops at once. It begins as NaN.
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Api.h"
#include "tests/emulator/cuda/Capture.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace dtcc::emulator {

std::map<uint64_t, uint64_t> &pinnedMemory() {
  static auto *memory = new std::map<uint64_t, uint64_t>;
  return *memory;
}

bool isPinned(const void *start, uint64_t bytes) {
  auto address = reinterpret_cast<uint64_t>(start);
  auto after = pinnedMemory().upper_bound(address);
  if (after == pinnedMemory().begin())
    return false;
  --after;
  return address - after->first + bytes <= after->second;
}

namespace {

constexpr uint64_t kPage = 4096;
/// Between allocations, where nothing may be touched.
constexpr uint64_t kGuard = 1 << 20;
/// Alignment of a driver's allocations in bytes.
constexpr uint64_t kAlignment = 512;
/// Beyond this, memory begins as zeros: filling it would take the time of the test.
constexpr uint64_t kMostFilled = uint64_t(256) << 20;

void allocate(Emulation &emulation, Device &device, CUdeviceptr *address, uint64_t bytes) {
  require(bytes > 0, kInvalidValue, "cuMemAlloc of no bytes");
  if (bytes > emulation.memoryBytes - device.used)
    throw CallError{kOutOfMemory, ""};
  uint64_t mapped = (bytes + kPage - 1) / kPage * kPage;
  int file = memfd_create("emulated GPU", 0);
  void *view = MAP_FAILED, *storage = MAP_FAILED;
  if (file >= 0 && ftruncate(file, off_t(mapped)) == 0) {
    view = mmap(nullptr, mapped + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    storage = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0)
    close(file);
  require(view != MAP_FAILED && storage != MAP_FAILED, kOutOfMemory, "the emulator has no memory left");
  if (bytes <= kMostFilled)
    std::memset(storage, 0xff, bytes);
  // The last byte is as near to the guard as the driver's alignment lets it be.
  uint64_t start = reinterpret_cast<uint64_t>(view) + kGuard + (mapped - bytes) / kAlignment * kAlignment;
  device.memory.add({start, bytes, reinterpret_cast<uint64_t>(storage) - start});
  device.allocations[start] = {bytes, mapped, view, storage};
  device.used += bytes;
  *address = start;
}

void release(Device &device, CUdeviceptr address) {
  auto found = device.allocations.find(address);
  require(found != device.allocations.end(), kInvalidValue, "cuMemFree of what was not allocated");
  device.memory.remove(address);
  munmap(found->second.view, found->second.mapped + 2 * kGuard);
  munmap(found->second.storage, found->second.mapped);
  device.used -= found->second.bytes;
  device.allocations.erase(found);
}

/// Kernels of all devices see it.
void pin(Emulation &emulation, void *start, uint64_t bytes) {
  pinnedMemory()[reinterpret_cast<uint64_t>(start)] = bytes;
  for (const auto &device : emulation.devices)
    device->memory.add(start, bytes);
}
void unpin(Emulation &emulation, Lock &lock, void *start) {
  auto found = pinnedMemory().find(reinterpret_cast<uint64_t>(start));
  require(found != pinnedMemory().end(), kInvalidValue, "host memory that is not pinned");
  for (const auto &device : emulation.devices) {
    emulation.forceAll(lock, *device);
    device->memory.remove(found->first);
  }
  pinnedMemory().erase(found);
}

template <class T> void fill(CUdeviceptr to, T value, size_t count, Emulation &emulation, Lock &lock, CUstream handle) {
  Stream &stream = emulation.streamOf(handle);
  if (count == 0)
    return;
  char *start = emulation.locate(*stream.device, to, count * sizeof(T), "cuMemset");
  require(to % sizeof(T) == 0, kInvalidValue, "cuMemset of an address that the size of an element does not divide");
  emulation.enqueue(lock, stream, [=] {
    for (size_t i = 0; i < count; ++i)
      std::memcpy(start + i * sizeof(T), &value, sizeof(T));
  });
}

/// Tells on stderr that a copy was issued, if it is large enough.
void tell(const Emulation &emulation, const Stream &stream, uint64_t bytes, const char *what) {
  if (emulation.leastTold && bytes >= emulation.leastTold)
    std::fprintf(stderr, "emulated GPU %d: copy of %llu bytes %s\n", stream.device->number,
                 static_cast<unsigned long long>(bytes), what);
}

/// Pageable memory is staged by the call; pinned memory is read when the copy runs.
void copyIn(CUdeviceptr to, const void *from, size_t bytes, Emulation &emulation, Lock &lock, CUstream handle) {
  Stream &stream = emulation.streamOf(handle);
  if (bytes == 0)
    return;
  char *start = emulation.locate(*stream.device, to, bytes, "cuMemcpyHtoD");
  tell(emulation, stream, bytes, isPinned(from, bytes) ? "from locked memory" : "from the host");
  if (isPinned(from, bytes)) {
    emulation.enqueue(lock, stream, [=] { std::memcpy(start, from, bytes); });
    return;
  }
  if (stream.capture)
    forbidInCapture("a copy from memory of the host that is not pinned");
  auto *source = static_cast<const char *>(from);
  auto staged = std::make_shared<std::vector<char>>(source, source + bytes);
  emulation.enqueue(lock, stream, [=] { std::memcpy(start, staged->data(), bytes); });
}

/// A copy into pageable memory is complete when the call returns.
void copyOut(void *to, CUdeviceptr from, size_t bytes, Emulation &emulation, Lock &lock, CUstream handle) {
  Stream &stream = emulation.streamOf(handle);
  if (bytes == 0)
    return;
  char *start = emulation.locate(*stream.device, from, bytes, "cuMemcpyDtoH");
  if (stream.capture && !isPinned(to, bytes))
    forbidInCapture("a copy to memory of the host that is not pinned");
  emulation.enqueue(lock, stream, [=] { std::memcpy(to, start, bytes); });
  if (!isPinned(to, bytes))
    emulation.force(lock, stream, stream.issued());
}

void copyWithin(CUdeviceptr to, CUdeviceptr from, size_t bytes, Emulation &emulation, Lock &lock, CUstream handle) {
  Stream &stream = emulation.streamOf(handle);
  if (bytes == 0)
    return;
  char *target = emulation.locate(*stream.device, to, bytes, "cuMemcpyDtoD");
  const char *source = emulation.locate(*stream.device, from, bytes, "cuMemcpyDtoD");
  tell(emulation, stream, bytes, "within its memory");
  emulation.enqueue(lock, stream, [=] { std::memmove(target, source, bytes); });
}

void finish(Emulation &emulation, Lock &lock) {
  forbidInCapture("a copy that waits");
  Stream &stream = emulation.current().defaultStream;
  emulation.force(lock, stream, stream.issued());
}

/// CUDA_MEMCPY2D
struct Copy2D {
  size_t fromX, fromY;
  int fromKind;
  const void *fromHost;
  CUdeviceptr fromDevice;
  void *fromArray;
  size_t fromPitch;
  size_t toX, toY;
  int toKind;
  void *toHost;
  CUdeviceptr toDevice;
  void *toArray;
  size_t toPitch;
  size_t width, height;
};
constexpr int kHostKind = 1, kDeviceKind = 2;
} // namespace
} // namespace dtcc::emulator

using namespace dtcc::emulator;

extern "C" {

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return call([&](Emulation &emulation, Lock &) {
    *total = emulation.memoryBytes;
    *free = emulation.memoryBytes - emulation.current().used;
  });
}
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  return call([&](Emulation &emulation, Lock &) {
    forbidInCapture("cuMemAlloc");
    allocate(emulation, emulation.current(), address, bytes);
  });
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    forbidInCapture("cuMemFree");
    Device &device = emulation.current();
    emulation.forceAll(lock, device);
    if (address)
      release(device, address);
  });
}
CUresult cuMemHostAlloc(void **start, size_t bytes, unsigned) {
  return call([&](Emulation &emulation, Lock &) {
    forbidInCapture("cuMemHostAlloc");
    emulation.current();
    require(bytes > 0, kInvalidValue, "cuMemHostAlloc of no bytes");
    if (emulation.lockableBytes && bytes > emulation.lockableBytes)
      throw CallError{kOutOfMemory, ""};
    *start = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
    require(*start, kOutOfMemory, "no host memory left");
    if (bytes <= kMostFilled)
      std::memset(*start, 0xff, bytes);
    pin(emulation, *start, bytes);
  });
}
CUresult cuMemFreeHost(void *start) {
  return call([&](Emulation &emulation, Lock &lock) {
    unpin(emulation, lock, start);
    std::free(start);
  });
}
CUresult cuMemHostRegister_v2(void *start, size_t bytes, unsigned) {
  return call([&](Emulation &emulation, Lock &) {
    emulation.current();
    require(start && bytes, kInvalidValue, "cuMemHostRegister of nothing");
    pin(emulation, start, bytes);
  });
}
CUresult cuMemHostUnregister(void *start) {
  return call([&](Emulation &emulation, Lock &lock) { unpin(emulation, lock, start); });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return call([&](Emulation &emulation, Lock &lock) { copyIn(to, from, bytes, emulation, lock, stream); });
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return waitingCall([&](Emulation &emulation, Lock &lock) { copyOut(to, from, bytes, emulation, lock, stream); });
}
/// Each end is memory of the device, or of the host that is locked.
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call([&](Emulation &emulation, Lock &lock) { copyWithin(to, from, bytes, emulation, lock, stream); });
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call([&](Emulation &emulation, Lock &lock) { copyWithin(to, from, bytes, emulation, lock, stream); });
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    copyIn(to, from, bytes, emulation, lock, nullptr);
    finish(emulation, lock);
  });
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    copyOut(to, from, bytes, emulation, lock, nullptr);
    finish(emulation, lock);
  });
}
CUresult cuMemcpy2DAsync_v2(const void *description, CUstream handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Copy2D copy = *static_cast<const Copy2D *>(description);
    Stream &stream = emulation.streamOf(handle);
    bool in = copy.fromKind == kHostKind, out = copy.toKind == kHostKind;
    require((in || copy.fromKind == kDeviceKind) && (out || copy.toKind == kDeviceKind), kNotSupported,
            "cuMemcpy2D of another kind of memory than host or device");
    if (copy.width == 0 || copy.height == 0)
      return;
    copy.fromPitch = copy.fromPitch ? copy.fromPitch : copy.width;
    copy.toPitch = copy.toPitch ? copy.toPitch : copy.width;
    require(copy.fromPitch >= copy.fromX + copy.width && copy.toPitch >= copy.toX + copy.width, kInvalidValue,
            "cuMemcpy2D with a pitch less than the width");
    size_t fromOffset = copy.fromY * copy.fromPitch + copy.fromX, toOffset = copy.toY * copy.toPitch + copy.toX;
    size_t fromBytes = (copy.height - 1) * copy.fromPitch + copy.width,
           toBytes = (copy.height - 1) * copy.toPitch + copy.width;
    const char *from = in ? static_cast<const char *>(copy.fromHost) + fromOffset
                          : emulation.locate(*stream.device, copy.fromDevice + fromOffset, fromBytes, "cuMemcpy2D");
    char *to = out ? static_cast<char *>(copy.toHost) + toOffset
                   : emulation.locate(*stream.device, copy.toDevice + toOffset, toBytes, "cuMemcpy2D");
    std::shared_ptr<std::vector<char>> staged;
    if (in && !isPinned(from, fromBytes)) {
      staged = std::make_shared<std::vector<char>>(from, from + fromBytes);
      from = staged->data();
    }
    emulation.enqueue(lock, stream, [copy, from, to, staged] {
      for (size_t row = 0; row < copy.height; ++row)
        std::memmove(to + row * copy.toPitch, from + row * copy.fromPitch, copy.width);
    });
    if (out && !isPinned(to, toBytes))
      emulation.force(lock, stream, stream.issued());
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return call([&](Emulation &emulation, Lock &lock) { fill<uint8_t>(to, value, count, emulation, lock, stream); });
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return call([&](Emulation &emulation, Lock &lock) { fill<uint16_t>(to, value, count, emulation, lock, stream); });
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return call([&](Emulation &emulation, Lock &lock) { fill<uint32_t>(to, value, count, emulation, lock, stream); });
}
}
