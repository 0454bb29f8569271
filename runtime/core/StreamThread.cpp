//===- StreamThread.cpp - A thread that runs the commands of a stream -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StreamThread.h"

#include <utility>

namespace dtcc::rt {

StreamThread::StreamThread() : thread([this] { work(); }) {}

StreamThread::~StreamThread() {
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  changed.notify_all();
  thread.join();
}

uint64_t StreamThread::post(std::function<void()> task) {
  uint64_t number;
  {
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    number = ++posted;
  }
  changed.notify_all();
  return number;
}

void StreamThread::wait(uint64_t number) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done >= number || failure; });
  if (failure)
    std::rethrow_exception(failure);
}

void StreamThread::drain() {
  uint64_t last;
  {
    std::lock_guard lock(mutex);
    last = posted;
  }
  wait(last);
}

void StreamThread::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stop || (!tasks.empty() && !failure); });
    if (stop)
      return;
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    std::exception_ptr thrown;
    try {
      task();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    failure = thrown;
    ++done;
    changed.notify_all();
  }
}

} // namespace dtcc::rt
