//===- MpiLink.cpp - Messages by MPI -------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/mpi/MpiLink.h"

#include "runtime/collective/network/HostNotes.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <thread>

namespace dtcc::rt {
namespace {

using Clock = std::chrono::steady_clock;

/// Tags of what is said beside channels, which begin behind them. MPI has tags up to 32767 at least.
constexpr int questionTag = 1, answerTag = 2, spokenTag = 3, firstTag = 4;

int tagOf(uint32_t channel) { return firstTag + static_cast<int>(channel % 32000); }

int intCount(int64_t count) {
  if (count > INT32_MAX)
    fail("MPI can move at most 2147483647 bytes at once, got: ", count);
  return static_cast<int>(count);
}

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

} // namespace

MpiLink::~MpiLink() {
  for (Sent &each : sent)
    MPI_Wait(&each.request, MPI_STATUS_IGNORE);
}

template <typename Done> void MpiLink::wait(Done &&done, const Describe &describe) {
  auto begin = Clock::now();
  double looked = 0;
  while (!done()) {
    double waited = since(begin);
    if (waited < 0.001) {
      if (crowded)
        sched_yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (waited < looked + 0.05)
      continue;
    looked = waited;
    if (std::optional<Error> error = watch.check(waited, describe()); error && !done())
      throw *error;
  }
  if (looked > 0)
    watch.passed(since(begin));
}

size_t MpiLink::pending(int64_t rank) {
  size_t count = 0;
  for (auto each = sent.begin(); each != sent.end();) {
    int done = 0;
    MPI_Test(&each->request, &done, MPI_STATUS_IGNORE);
    count += !done && each->rank == rank;
    each = done ? sent.erase(each) : std::next(each);
  }
  return count;
}

void MpiLink::post(int64_t rank, uint32_t channel, std::vector<std::byte> data) {
  pending(rank);
  Sent &message = sent.emplace_back(Sent{rank, std::move(data), MPI_REQUEST_NULL});
  MPI_Isend(message.data.data(), intCount(static_cast<int64_t>(message.data.size())), MPI_BYTE, static_cast<int>(rank),
            tagOf(channel), comm, &message.request);
}

void MpiLink::drain(int64_t rank, size_t most, const Describe &describe) {
  wait([&] { return pending(rank) <= most; }, describe);
}

int64_t MpiLink::take(int64_t rank, uint32_t channel, void *into, int64_t bytes, const Describe &describe) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  auto done = [&] {
    int found = 0;
    MPI_Improbe(static_cast<int>(rank), tagOf(channel), comm, &found, &message, &status);
    return found != 0;
  };
  wait(done, describe);
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  if (length > bytes)
    return length;
  // A long message arrives while it is received: this may take as long as the wait for it.
  MPI_Request request;
  MPI_Imrecv(into, length, MPI_BYTE, &message, &request);
  auto received = [&] {
    int all = 0;
    MPI_Test(&request, &all, MPI_STATUS_IGNORE);
    return all != 0;
  };
  wait(received, describe);
  return length;
}

void MpiLink::answer() {
  // Requests that are pending move on as well.
  pending(-1);
  while (true) {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, questionTag, comm, &found, &status);
    if (!found)
      return;
    char question = 0;
    MPI_Recv(&question, 1, MPI_BYTE, status.MPI_SOURCE, questionTag, comm, MPI_STATUS_IGNORE);
    Sent &message = sent.emplace_back(Sent{status.MPI_SOURCE, bytesOf(tell()), MPI_REQUEST_NULL});
    MPI_Isend(message.data.data(), static_cast<int>(message.data.size()), MPI_BYTE, status.MPI_SOURCE, answerTag, comm,
              &message.request);
  }
}

MpiLink::Notes MpiLink::ask(std::span<const int64_t> ranks) {
  for (int64_t rank : ranks) {
    Sent &message = sent.emplace_back(Sent{rank, {std::byte(0)}, MPI_REQUEST_NULL});
    MPI_Isend(message.data.data(), 1, MPI_BYTE, static_cast<int>(rank), questionTag, comm, &message.request);
  }
  GatheredNotes gathered;
  for (auto begin = Clock::now(); gathered.answers() < ranks.size() && since(begin) < 1;) {
    answer();
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, answerTag, comm, &found, &status);
    if (!found) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    std::vector<std::byte> theirs(static_cast<size_t>(length));
    MPI_Recv(theirs.data(), length, MPI_BYTE, status.MPI_SOURCE, answerTag, comm, MPI_STATUS_IGNORE);
    gathered.add(status.MPI_SOURCE, theirs);
  }
  // A rank without an answer may compute, be stopped, or be out of reach: nobody knows.
  return gathered.notes(ranks, /*always=*/false);
}

bool MpiLink::speaksFirst(int64_t ranks, double seconds) {
  for (auto begin = Clock::now(); true;) {
    answer();
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, spokenTag, comm, &found, MPI_STATUS_IGNORE);
    if (found)
      return false;
    if (since(begin) >= seconds)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Sent &message = sent.emplace_back(Sent{rank, {std::byte(0)}, MPI_REQUEST_NULL});
    MPI_Isend(message.data.data(), 1, MPI_BYTE, static_cast<int>(rank), spokenTag, comm, &message.request);
  }
  // MPI connects when the first message goes, and this process is about to end.
  for (auto begin = Clock::now(); !sent.empty() && since(begin) < 0.3; pending(-1))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return true;
}

} // namespace dtcc::rt
