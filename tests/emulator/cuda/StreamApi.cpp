//===- StreamApi.cpp - Emulated driver: streams and events
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Api.h"
#include <chrono>

using namespace dtcc::emulator;

namespace {

/// All that were made and not destroyed, under the lock.
std::set<Event *> &events() {
  static auto *all = new std::set<Event *>;
  return *all;
}
Event &eventOf(Event *event) {
  require(events().count(event), kInvalidHandle, "an event that is not there");
  return *event;
}
bool isDone(const Event &event) { return !event.recorded || event.stream->done >= event.position; }
} // namespace

extern "C" {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return call([&](Emulation &emulation, Lock &) {
    Device &device = emulation.current();
    *stream = new Stream;
    (*stream)->device = &device;
    (*stream)->blocking = (flags & 1) == 0;
    device.streams.insert(*stream);
  });
}
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
CUresult cuStreamDestroy_v2(CUstream handle) {
  return call([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(handle);
    require(&stream != &stream.device->defaultStream, kInvalidHandle, "the default stream is not destroyed");
    emulation.force(lock, stream, stream.issued());
    // Events may still name it: it is not freed.
    stream.device->streams.erase(&stream);
  });
}
CUresult cuStreamSynchronize(CUstream handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(handle);
    emulation.force(lock, stream, stream.issued());
  });
}
CUresult cuStreamQuery(CUstream handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(handle);
    if (stream.queue.empty())
      return;
    emulation.advance(lock, stream);
    throw CallError{kNotReady, ""};
  });
}
CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return call([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(handle);
    Event point = eventOf(event);
    if (isDone(point) || point.stream == &stream)
      return;
    emulation.enqueueHeld(lock, stream,
                          [&emulation, point](Lock &held) { emulation.force(held, *point.stream, point.position); });
  });
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  return call([&](Emulation &emulation, Lock &) {
    *event = new Event;
    (*event)->device = &emulation.current();
    events().insert(*event);
  });
}
CUresult cuEventDestroy_v2(CUevent event) {
  // Not freed: a record of it may still be on its way.
  return call([&](Emulation &, Lock &) {
    eventOf(event);
    events().erase(event);
  });
}
CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  return call([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(streamHandle);
    Event &event = eventOf(handle);
    require(event.device == stream.device, kInvalidHandle, "an event of another device than the stream");
    // What stands on the stream by itself, so that a later record does not move a wait for this one.
    event.stream = &stream;
    event.recorded = true;
    event.position = stream.issued() + 1;
    emulation.enqueue(lock, stream, [&event] {
      event.time = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    });
  });
}
CUresult cuEventQuery(CUevent handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Event &event = eventOf(handle);
    if (isDone(event))
      return;
    emulation.advance(lock, *event.stream);
    throw CallError{kNotReady, ""};
  });
}
CUresult cuEventSynchronize(CUevent handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Event &event = eventOf(handle);
    if (event.recorded)
      emulation.force(lock, *event.stream, event.position);
  });
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  return call([&](Emulation &, Lock &) {
    Event &first = eventOf(begin), &last = eventOf(end);
    require(first.recorded && last.recorded, kInvalidHandle, "an event that was not recorded");
    if (!isDone(first) || !isDone(last))
      throw CallError{kNotReady, ""};
    *milliseconds = float((last.time - first.time) * 1e3);
  });
}
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent begin, CUevent end) {
  return cuEventElapsedTime(milliseconds, begin, end);
}

CUresult cuLaunchHostFunc(CUstream handle, void (*function)(void *), void *argument) {
  return call([&](Emulation &emulation, Lock &lock) {
    emulation.enqueue(lock, emulation.streamOf(handle), [=] { function(argument); });
  });
}
}
