//===- Streams.h - Work that waits until somebody must see it -- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams of the emulated libraries. Work on a stream is done as late as CUDA allows: when
// somebody waits for its end, and by the thread that waits. A program that forgets to wait
// therefore reads stale memory. With a seed (DTCC_EMULATED_GPU_SEED) some work is done earlier,
// in another order that CUDA allows.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_CUDA_STREAMS_H
#define DTCC_TESTS_EMULATOR_CUDA_STREAMS_H

#include "tests/emulator/ptx/Machine.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>

namespace dtcc::emulator {

/// CUresult, as cuda.h numbers them.
enum Result : int {
#define DTCC_EMULATED_RESULT(NAME, THEIRS, VALUE, TEXT) NAME = VALUE,
#include "tests/emulator/cuda/Results.def"
};

/// An error of a call, which it returns; `what` goes to stderr.
struct CallError {
  int code;
  std::string what;
};

using Lock = std::unique_lock<std::mutex>;
struct Device;
struct Capture;

/// A stream's work: run by the thread that needs its end.
struct Stream {
  Device *device = nullptr;
  bool blocking = true; ///< waits for the default stream, and is waited for by it
  /// Called with the lock held; may give it up.
  using Work = std::function<void(Lock &)>;
  struct Item {
    Work work;
    bool waits; ///< for other streams: not to be run ahead of time
  };
  std::deque<Item> queue;
  uint64_t done = 0;                ///< how many have been run
  std::thread::id owner;            ///< who runs the front
  uint64_t polled = 0;              ///< up to where a thread of its own runs it, for one who polled
  std::shared_ptr<Capture> capture; ///< records what the stream is given; or null
  uint64_t issued() const { return done + queue.size(); }
};

/// A point of a stream.
struct Event {
  Device *device = nullptr;
  Stream *stream = nullptr;
  uint64_t position = 0;
  bool recorded = false;
  std::shared_ptr<Capture> capture; ///< in which it was recorded last; or null
  size_t captureRecord = 0;
  double time = 0; ///< seconds
};

struct Device {
  int number = 0;
  DeviceMemory memory;
  /// An allocation of cuMemAlloc.
  struct Allocation {
    uint64_t bytes, mapped;
    void *view, *storage;
  };
  std::map<uint64_t, Allocation> allocations;
  uint64_t used = 0;
  int retained = 0;
  Stream defaultStream;
  /// Seconds that libraries state for their work beyond the time it took. Events count them.
  std::atomic<double> emulatedSeconds = 0;
  std::set<Stream *> streams;
  /// Kernels of libraries that were used; each is loaded when it is first.
  std::set<std::string> loaded;
  /// Works of NCCL that are queued, or wait for other members.
  std::atomic<int> meetings = 0;
  /// Error that stopped the device. Every call from then on returns it.
  int error = kSuccess;
  std::string problem;
};

/// One for the process, shared by the emulated libraries.
class Emulation {
public:
  static Emulation &get();

  Lock hold() { return Lock(mutex); }
  /// The current device of the calling thread; throws CallError if there is none.
  Device &current();
  std::vector<std::unique_ptr<Device>> devices;
  bool initialized = false;
  uint64_t memoryBytes = 0;
  uint64_t lockableBytes = 0; ///< of the host, by one call; 0: any
  unsigned kernelThreads = 1;
  uint64_t seed = 0;
  uint64_t mostCaptured = 0; ///< work that a graph can hold; 0: any
  uint64_t leastTold = 0;    ///< bytes from which on a copy is told on stderr; 0: none is
  uint64_t mostQueued = 0;   ///< work of a stream behind which a launch waits; 0: any
  std::condition_variable changed;

  Stream &streamOf(void *handle);
  /// Gives work to a stream: now, or at each launch of the graph if the stream is being captured.
  void issue(Lock &lock, Stream &stream, std::function<void(Lock &, Stream &)> work);
  /// Behind all that is on the stream. `work` runs without the lock.
  void enqueue(Lock &lock, Stream &stream, std::function<void()> work);
  /// As enqueue, for work that waits for other streams.
  void enqueueHeld(Lock &lock, Stream &stream, Stream::Work work, bool waits = true);
  /// Until the first `position` works of the stream are done.
  void force(Lock &lock, Stream &stream, uint64_t position);
  void forceAll(Lock &lock, Device &device);
  /// Waits, as a driver in a launch, until the stream has no more work before it than it can hold.
  void makeRoom(Lock &lock, Stream &stream);
  /// Does what is first on a stream: who polls gets on.
  void advance(Lock &lock, Stream &stream);
  /// Address of these bytes of a device; throws CallError if they are not its memory.
  char *locate(Device &device, uint64_t address, uint64_t bytes, const char *call);
  void stop(Device &device, int code, const std::string &problem);
  std::mt19937_64 random;

private:
  Emulation();
  void runFront(Lock &lock, Stream &stream);
  void maybeRunAhead(Lock &lock, Device &device);
  std::mutex mutex;
};

/// The device that cuCtxSetCurrent named in this thread.
extern thread_local Device *currentDevice;

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_CUDA_STREAMS_H
