//===- StreamApi.cpp - Emulated driver: streams and events
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Api.h"
#include "tests/emulator/cuda/Capture.h"
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
/// Waits for a stream that only records, or for a point of it, have no end.
void forbidWait(const std::shared_ptr<Capture> &capture, int code, const char *what) {
  if (!capture)
    return;
  capture->invalid = true;
  throw CallError{code, what};
}
void record(Emulation &emulation, Lock &lock, Stream &stream, Event &event) {
  // The record stands on the stream by itself, so that a later record does not move a wait for this one.
  event.capture = nullptr;
  event.stream = &stream;
  event.recorded = true;
  event.position = stream.issued() + 1;
  emulation.enqueue(lock, stream, [&event] {
    event.time = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count() +
                 event.device->emulatedSeconds;
  });
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
    forbidWait(stream.capture, kCaptureUnsupported, "cuStreamSynchronize of a stream that is being captured");
    emulation.force(lock, stream, stream.issued());
  });
}
CUresult cuStreamQuery(CUstream handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(handle);
    forbidWait(stream.capture, kCaptureUnsupported, "cuStreamQuery of a stream that is being captured");
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
    if (point.capture) {
      // Who waits for what is captured is captured with it.
      require(!point.capture->streams.empty() && point.capture->streams[0]->capture == point.capture, kCapturedEvent,
              "cuStreamWaitEvent for an event of a capture that has ended");
      require(!stream.capture || stream.capture == point.capture, kCaptureMerge,
              "cuStreamWaitEvent for an event of another capture");
      stream.capture = point.capture;
      point.capture->wait(stream, point);
      return;
    }
    forbidWait(stream.capture, kCaptureIsolation, "a stream that is being captured waits for work outside of it");
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
CUresult cuEventRecordWithFlags(CUevent handle, CUstream streamHandle, unsigned flags) {
  return call([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(streamHandle);
    Event &event = eventOf(handle);
    require(flags <= 1, kInvalidValue, "cuEventRecordWithFlags with flags that are not there");
    if (flags == 0)
      return record(emulation, lock, stream, event);
    // CU_EVENT_RECORD_EXTERNAL: no part of the capture, but work of its graph.
    require(stream.capture != nullptr, kInvalidValue, "an external record outside of a capture");
    emulation.issue(lock, stream,
                    [&emulation, &event](Lock &held, Stream &onto) { record(emulation, held, onto, event); });
  });
}
CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  return call([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(streamHandle);
    Event &event = eventOf(handle);
    require(event.device == stream.device, kInvalidHandle, "an event of another device than the stream");
    if (stream.capture)
      stream.capture->record(stream, event);
    else
      record(emulation, lock, stream, event);
  });
}
CUresult cuEventQuery(CUevent handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Event &event = eventOf(handle);
    forbidWait(event.capture, kCapturedEvent, "cuEventQuery of an event that was captured");
    if (isDone(event))
      return;
    emulation.advance(lock, *event.stream);
    throw CallError{kNotReady, ""};
  });
}
CUresult cuEventSynchronize(CUevent handle) {
  return waitingCall([&](Emulation &emulation, Lock &lock) {
    Event &event = eventOf(handle);
    forbidWait(event.capture, kCapturedEvent, "cuEventSynchronize of an event that was captured");
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
