//===- StreamThread.h - A thread that runs the commands of a stream -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tasks run one after the other, in the order in which they were posted. Who posts them
// in program order has satisfied the waits of the stream for what stands before.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_STREAMTHREAD_H
#define DTCC_RUNTIME_CORE_STREAMTHREAD_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dtcc::rt {

class StreamThread {
public:
  StreamThread();
  /// Waits for what is running; what is posted and not begun is left out.
  ~StreamThread();
  StreamThread(const StreamThread &) = delete;
  StreamThread &operator=(const StreamThread &) = delete;

  /// Returns the number of the task, from 1.
  uint64_t post(std::function<void()> task);
  /// Returns when task `number` has ended. Throws what a task threw; later tasks then do
  /// not run.
  void wait(uint64_t number);
  /// Waits for all tasks.
  void drain();

private:
  void work();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  uint64_t posted = 0, done = 0;
  bool stop = false;
  std::exception_ptr failure;
  std::thread thread;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_STREAMTHREAD_H
