//===- Watchdog.cpp - Ends waits for a GPU that are in vain -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/Watchdog.h"

#include <iostream>
#include <unistd.h>

namespace dtcc::rt::cuda {
namespace {

constexpr std::chrono::milliseconds kPause(100);
/// Time that aborted kernels may take to end.
constexpr std::chrono::seconds kPatience(20);
/// Calls that are remembered: some steps' worth of a large model's.
constexpr size_t kCalls = 1024;

} // namespace

Watchdog::Watchdog(Gpu &gpu, int64_t rank, Transport &transport)
    : gpu(gpu), rank(rank), transport(transport), thread([this] { loop(); }) {
  gpu.tell(this);
}

Watchdog::~Watchdog() {
  gpu.tell(nullptr);
  {
    std::lock_guard<std::mutex> guard(lock);
    closing = true;
  }
  changed.notify_all();
  thread.join();
}

void Watchdog::add(Group &group) {
  std::lock_guard<std::mutex> guard(lock);
  groups.insert(&group);
}

Watchdog::Close Watchdog::remove(Group &group) {
  std::lock_guard<std::mutex> guard(lock);
  if (groups.erase(&group) == 0)
    return Close::Nothing;
  // After a failure of any rank, kernels may wait for ever: abort instead of waiting for them.
  return transport.watch()->look(0) ? Close::Abort : Close::Destroy;
}

void Watchdog::issued(const char *call, const std::string &group, uint64_t number, CUstream stream) {
  CUevent done = nullptr;
  {
    std::lock_guard<std::mutex> guard(lock);
    if (calls.size() < kCalls)
      calls.push_back({gpu.event(), call, group, number});
    Call &place = calls[issuedCalls++ % kCalls];
    place = {place.done, call, group, number};
    done = place.done;
  }
  gpu.mark(done, stream);
}

void Watchdog::begin(std::string_view what) {
  std::lock_guard<std::mutex> guard(lock);
  doing = what;
  since = Clock::now();
  waiting = true;
}

void Watchdog::end() {
  std::lock_guard<std::mutex> guard(lock);
  waiting = false;
  if (failure) {
    changed.notify_all();
    throw *failure;
  }
  // A launch of a kernel ends here too, so a short wait must cost next to nothing.
  if (auto waited = Clock::now() - since; waited > kPause)
    transport.watch()->passed(std::chrono::duration<double>(waited).count());
}

std::string Watchdog::place() {
  std::string text = message("rank ", rank, " waits for ", gpu.info().title, " in ", doing);
  for (size_t i = 0, count = calls.size(); i < count; ++i)
    if (const Call &call = calls[(issuedCalls + i) % count]; gpu.isPending(call.done))
      return text + message(": ", call.name, ", call ", call.number, " of group '", call.group, "'");
  return text;
}

std::optional<Error> Watchdog::reason(double seconds) {
  if (auto found = transport.watch()->look(seconds))
    return found->error(place());
  for (Group *group : groups)
    if (std::string wrong = group->error(); !wrong.empty())
      return Error(Status::Device, "NCCL: " + wrong + ": " + place());
  return std::nullopt;
}

/// The rank's thread is in a call that does not return: it cannot say so itself.
void Watchdog::giveUp() {
  if (transport.speaks().value_or(true))
    std::cerr << "error: " << failure->what() << std::endl;
  transport.abort(static_cast<int>(failure->status));
  _exit(static_cast<int>(failure->status));
}

void Watchdog::loop() {
  gpu.makeCurrent();
  std::unique_lock<std::mutex> guard(lock);
  while (!closing) {
    changed.wait_for(guard, kPause);
    auto waited = Clock::now() - since;
    if (closing || !waiting || waited < kPause)
      continue;
    if (!failure) {
      failure = reason(std::chrono::duration<double>(waited).count());
      if (!failure)
        continue;
      // A thread of its own aborts, because NCCL may wait for the rank's thread.
      std::vector<std::function<void()>> all;
      for (Group *group : groups)
        all.push_back(group->abort);
      groups.clear();
      std::thread([&gpu = gpu, all] {
        gpu.makeCurrent();
        for (const auto &abort : all)
          abort();
      }).detach();
    }
    if (!changed.wait_for(guard, kPatience, [&] { return !waiting || closing; }))
      giveUp();
  }
}

} // namespace dtcc::rt::cuda
