//===- GraphApi.cpp - Emulated driver: captures and graphs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Api.h"
#include "tests/emulator/cuda/Capture.h"
#include <algorithm>

namespace dtcc::emulator {
namespace {

/// The capture of this thread, unless it is in relaxed mode.
thread_local std::shared_ptr<Capture> captured;

/// CUgraph
struct Graph {
  std::shared_ptr<Capture> content;
};

/// CUgraphExec
struct Executable {
  std::shared_ptr<Capture> content;
  Device *device;
  std::vector<Stream *> streams; ///< for those of the capture behind its origin
};

template <class T> std::set<T *> &handles() {
  static auto *all = new std::set<T *>;
  return *all;
}
template <class T> T &handleOf(T *handle, const char *what) {
  require(handles<T>().count(handle), kInvalidHandle, what);
  return *handle;
}

/// Ends a capture, however it went: its streams work again.
void release(Capture &capture) {
  for (Stream *stream : capture.streams)
    stream->capture = nullptr;
  if (captured.get() == &capture)
    captured = nullptr;
}
} // namespace

size_t Capture::numberOf(Stream &stream) {
  auto found = std::find(streams.begin(), streams.end(), &stream);
  if (found == streams.end()) {
    streams.push_back(&stream);
    known.emplace_back();
    return streams.size() - 1;
  }
  return size_t(found - streams.begin());
}

void Capture::add(Step step) {
  Clock &own = known[step.stream];
  own.resize(std::max(own.size(), step.stream + 1));
  ++own[step.stream];
  steps.push_back(std::move(step));
}

void Capture::record(Stream &stream, Event &event) {
  size_t number = numberOf(stream);
  event.capture = stream.capture;
  event.captureRecord = records.size();
  records.push_back(known[number]);
  steps.push_back({Step::Record, number, nullptr, event.captureRecord});
}

void Capture::wait(Stream &stream, const Event &event) {
  size_t number = numberOf(stream);
  Clock &own = known[number];
  const Clock &seen = records[event.captureRecord];
  own.resize(std::max(own.size(), seen.size()));
  for (size_t i = 0; i < seen.size(); ++i)
    own[i] = std::max(own[i], seen[i]);
  // A stream that only waited must be joined too.
  add({Step::Wait, number, nullptr, event.captureRecord});
}

bool Capture::isJoined() const {
  for (size_t i = 1; i < streams.size(); ++i)
    if (known[0].size() <= i || known[0][i] < known[i][i])
      return false;
  return true;
}

void forbidInCapture(const char *call) {
  if (!captured)
    return;
  captured->invalid = true;
  throw CallError{kCaptureUnsupported, std::string(call) + " while this thread captures a stream"};
}

} // namespace dtcc::emulator

using namespace dtcc::emulator;

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
  return call([&](Emulation &emulation, Lock &) {
    Stream &stream = emulation.streamOf(handle);
    require(mode >= 0 && mode <= 2, kInvalidValue, "a mode of captures that is not there");
    require(&stream != &stream.device->defaultStream, kCaptureImplicit, "the default stream is not captured");
    require(!stream.capture, kIllegalState, "a stream that is being captured");
    require(mode == 2 || !captured, kIllegalState, "the emulator has one capture a thread");
    stream.capture = std::make_shared<Capture>();
    stream.capture->thread = std::this_thread::get_id();
    stream.capture->anyThread = mode == 2;
    stream.capture->numberOf(stream);
    if (mode != 2)
      captured = stream.capture;
  });
}
CUresult cuStreamEndCapture(CUstream handle, Graph **graph) {
  return call([&](Emulation &emulation, Lock &) {
    *graph = nullptr;
    Stream &stream = emulation.streamOf(handle);
    std::shared_ptr<Capture> capture = stream.capture;
    require(capture != nullptr, kIllegalState, "a stream that is not being captured");
    require(capture->streams[0] == &stream, kCaptureUnmatched, "a capture ends on the stream where it began");
    require(capture->anyThread || capture->thread == std::this_thread::get_id(), kCaptureWrongThread,
            "a capture ends in the thread that began it");
    release(*capture);
    require(!capture->invalid, kCaptureInvalidated, "the capture was made worthless by a call before");
    require(capture->isJoined(), kCaptureUnjoined, "a stream of the capture was not joined to its origin");
    *graph = new Graph{capture};
    handles<Graph>().insert(*graph);
  });
}
CUresult cuStreamIsCapturing(CUstream handle, int *status) {
  return call([&](Emulation &emulation, Lock &) {
    Stream &stream = emulation.streamOf(handle);
    *status = !stream.capture ? 0 : stream.capture->invalid ? 2 : 1;
  });
}
CUresult cuGraphDestroy(Graph *graph) {
  return call([&](Emulation &, Lock &) {
    handleOf(graph, "a graph that is not there");
    handles<Graph>().erase(graph);
    delete graph;
  });
}

CUresult cuGraphInstantiateWithFlags(Executable **made, Graph *graph, unsigned long long flags) {
  return call([&](Emulation &emulation, Lock &) {
    require(flags == 0, kNotSupported, "cuGraphInstantiate with flags");
    Device &device = emulation.current();
    *made = new Executable{handleOf(graph, "a graph that is not there").content, &device, {}};
    for (size_t i = 1; i < (*made)->content->streams.size(); ++i) {
      Stream *stream = new Stream;
      stream->device = &device;
      stream->blocking = false;
      device.streams.insert(stream);
      (*made)->streams.push_back(stream);
    }
    handles<Executable>().insert(*made);
  });
}
CUresult cuGraphLaunch(Executable *handle, CUstream onto) {
  return call([&](Emulation &emulation, Lock &lock) {
    Executable &graph = handleOf(handle, "a graph that is not there");
    Stream &origin = emulation.streamOf(onto);
    require(!origin.capture, kNotSupported, "a graph inside another");
    require(origin.device == graph.device, kInvalidHandle, "a graph of another device than the stream");
    std::vector<std::pair<Stream *, uint64_t>> records(graph.content->records.size());
    for (const Capture::Step &step : graph.content->steps) {
      Stream &stream = step.stream == 0 ? origin : *graph.streams[step.stream - 1];
      switch (step.kind) {
      case Capture::Step::Work:
        step.work(lock, stream);
        break;
      case Capture::Step::Record:
        records[step.record] = {&stream, stream.issued()};
        break;
      case Capture::Step::Wait:
        emulation.enqueueHeld(lock, stream, [&emulation, point = records[step.record]](Lock &held) {
          emulation.force(held, *point.first, point.second);
        });
        break;
      }
    }
    emulation.makeRoom(lock, origin);
  });
}
CUresult cuGraphExecDestroy(Executable *graph) {
  return call([&](Emulation &, Lock &) {
    handleOf(graph, "a graph that is not there");
    // Work under way goes on, and events may still name the streams, so the streams are not freed.
    for (Stream *stream : graph->streams)
      if (stream->queue.empty())
        stream->device->streams.erase(stream);
    handles<Executable>().erase(graph);
    delete graph;
  });
}
}
