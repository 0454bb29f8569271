//===- Streams.cpp - Work that waits until somebody must see it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Streams.h"
#include "tests/emulator/cuda/Capture.h"
#include "tests/emulator/ptx/Error.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace dtcc::emulator {

thread_local Device *currentDevice = nullptr;

static uint64_t variable(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

Emulation::Emulation() {
  uint64_t count = variable("DTCC_EMULATED_GPUS", 1);
  memoryBytes = variable("DTCC_EMULATED_GPU_MEMORY", uint64_t(4) << 30);
  lockableBytes = variable("DTCC_EMULATED_LOCKABLE_MEMORY", 0);
  kernelThreads = unsigned(variable("DTCC_EMULATED_GPU_THREADS", 1));
  seed = variable("DTCC_EMULATED_GPU_SEED", 0);
  random.seed(seed);
  mostCaptured = variable("DTCC_EMULATED_GPU_MOST_CAPTURED", 0);
  leastTold = variable("DTCC_EMULATED_GPU_LEAST_TOLD", 0);
  mostQueued = variable("DTCC_EMULATED_GPU_MOST_QUEUED", 0);
  for (uint64_t i = 0; i < count; ++i) {
    devices.push_back(std::make_unique<Device>());
    devices.back()->number = int(i);
    devices.back()->defaultStream.device = devices.back().get();
  }
}

Emulation &Emulation::get() {
  // Never destroyed: threads of a program that ends may still be in a call.
  static Emulation *emulation = new Emulation;
  return *emulation;
}

Device &Emulation::current() {
  if (!initialized)
    throw CallError{kNotInitialized, "a call before cuInit"};
  if (!currentDevice)
    throw CallError{kInvalidContext, "a call in a thread without a context"};
  if (currentDevice->error)
    throw CallError{currentDevice->error, ""};
  return *currentDevice;
}

Stream &Emulation::streamOf(void *handle) {
  Device &device = current();
  // CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are 1 and 2.
  if (reinterpret_cast<uintptr_t>(handle) <= 2)
    return device.defaultStream;
  auto *stream = static_cast<Stream *>(handle);
  for (const auto &each : devices)
    if (each->streams.count(stream))
      return *stream;
  throw CallError{kInvalidHandle, "a stream that is not there"};
}

void Emulation::stop(Device &device, int code, const std::string &problem) {
  if (!device.error) {
    device.error = code;
    device.problem = problem;
    std::fprintf(stderr, "emulated GPU %d: %s\n", device.number, problem.c_str());
  }
  changed.notify_all();
}

char *Emulation::locate(Device &device, uint64_t address, uint64_t bytes, const char *call) {
  if (char *found = device.memory.locate(address, bytes))
    return found;
  char text[160];
  std::snprintf(text, sizeof text, "%s: %llu bytes at 0x%llx are not all of one allocation of GPU %d", call,
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(address), device.number);
  throw CallError{kInvalidValue, text};
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void Emulation::issue(Lock &lock, Stream &stream, std::function<void(Lock &, Stream &)> work) {
  Capture *capture = stream.capture.get();
  if (!capture)
    return work(lock, stream);
  if (capture->invalid)
    throw CallError{kCaptureInvalidated, ""};
  if (mostCaptured && capture->steps.size() >= mostCaptured) {
    capture->invalid = true;
    throw CallError{kCaptureUnsupported, "more work than DTCC_EMULATED_GPU_MOST_CAPTURED lets a graph hold"};
  }
  capture->add({Capture::Step::Work, capture->numberOf(stream), std::move(work)});
}

void Emulation::enqueueHeld(Lock &lock, Stream &stream, Stream::Work work, bool waits) {
  if (stream.capture)
    return issue(lock, stream, [this, work = std::move(work), waits](Lock &held, Stream &onto) {
      enqueueHeld(held, onto, work, waits);
    });
  // Work of the default stream comes after earlier work and before later work of the blocking streams.
  Device &device = *stream.device;
  std::vector<std::pair<Stream *, uint64_t>> before;
  if (&stream == &device.defaultStream) {
    for (Stream *other : device.streams)
      if (other->blocking)
        before.emplace_back(other, other->issued());
  } else if (stream.blocking) {
    before.emplace_back(&device.defaultStream, device.defaultStream.issued());
  }
  std::erase_if(before, [](const auto &point) { return point.first->done >= point.second; });
  waits = waits || !before.empty();
  stream.queue.push_back({[this, before, work = std::move(work)](Lock &held) {
                            for (auto [other, position] : before)
                              force(held, *other, position);
                            work(held);
                          },
                          waits});
  changed.notify_all();
  if (seed)
    maybeRunAhead(lock, device);
}

void Emulation::enqueue(Lock &lock, Stream &stream, std::function<void()> work) {
  Device *device = stream.device;
  enqueueHeld(
      lock, stream,
      [this, device, work = std::move(work)](Lock &held) {
        if (device->error)
          return;
        held.unlock();
        int code = kSuccess;
        std::string problem;
        try {
          work();
        } catch (const PtxError &error) {
          code = error.fault == Fault::Address      ? kIllegalAddress
                 : error.fault == Fault::Misaligned ? kMisalignedAddress
                 : error.fault == Fault::Text       ? kInvalidPtx
                                                    : kLaunchFailed;
          problem = error.what();
        }
        held.lock();
        if (code)
          stop(*device, code, problem);
      },
      false);
}

void Emulation::runFront(Lock &lock, Stream &stream) {
  stream.owner = std::this_thread::get_id();
  Stream::Work work = std::move(stream.queue.front().work);
  try {
    work(lock);
  } catch (const CallError &error) {
    stop(*stream.device, error.code, error.what);
  }
  stream.queue.pop_front();
  ++stream.done;
  stream.owner = {};
  changed.notify_all();
}

void Emulation::force(Lock &lock, Stream &stream, uint64_t position) {
  while (stream.done < position) {
    if (stream.owner == std::thread::id())
      runFront(lock, stream);
    else if (stream.owner == std::this_thread::get_id())
      throw CallError{kLaunchFailed, "streams wait for each other: collectives in another order on another rank"};
    else
      changed.wait(lock);
  }
}

void Emulation::forceAll(Lock &lock, Device &device) {
  force(lock, device.defaultStream, device.defaultStream.issued());
  std::vector<Stream *> all(device.streams.begin(), device.streams.end());
  for (Stream *stream : all)
    force(lock, *stream, stream->issued());
}

void Emulation::makeRoom(Lock &lock, Stream &stream) {
  if (mostQueued && !stream.capture && stream.issued() > mostQueued)
    force(lock, stream, stream.issued() - mostQueued);
}

void Emulation::advance(Lock &lock, Stream &stream) {
  if (stream.queue.empty() || stream.owner != std::thread::id() || stream.polled > stream.done)
    return;
  if (!stream.queue.front().waits)
    return runFront(lock, stream);
  // Who polls does not wait.
  stream.polled = stream.done + 1;
  std::thread([this, &stream, position = stream.polled] {
    Lock held = hold();
    currentDevice = stream.device;
    force(held, stream, position);
  }).detach();
}

/// With a seed: perhaps some work of some stream now.
void Emulation::maybeRunAhead(Lock &lock, Device &device) {
  std::vector<Stream *> all(device.streams.begin(), device.streams.end());
  all.push_back(&device.defaultStream);
  Stream *stream = all[random() % all.size()];
  for (uint64_t left = random() % 4; left && !stream->queue.empty() && !stream->queue.front().waits; --left)
    advance(lock, *stream);
}

} // namespace dtcc::emulator
