//===- SharedGroup.cpp - Collectives over shared memory ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/SharedGroup.h"

#include "runtime/collective/Reduce.h"
#include "runtime/core/Error.h"
#include "runtime/core/ThreadTeam.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace dtcc::rt {

struct SharedGroup::Control {
  Signal passed; /* barriers that all members have reached */
  alignas(64) std::atomic<uint32_t> arrived;
};

namespace {

/// Part `index` of [0, count) cut into `parts`, at cache-line boundaries.
std::pair<int64_t, int64_t> slice(int64_t count, int64_t parts, int64_t index) {
  constexpr int64_t line = 64;
  int64_t lines = (count + line - 1) / line;
  return {std::min(count, lines * index / parts * line), std::min(count, lines * (index + 1) / parts * line)};
}

/// Bytes that are worth a thread of their own.
constexpr int64_t grainBytes = 256 << 10;

} // namespace

void SharedGroup::copyBytes(void *to, const void *from, int64_t bytes) const {
  if (to == from || bytes <= 0)
    return;
  auto part = [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte *>(to) + begin, static_cast<const std::byte *>(from) + begin,
                static_cast<size_t>(end - begin));
  };
  if (team)
    team->parallelFor(bytes, grainBytes, part);
  else
    part(0, bytes);
}

void SharedGroup::reduce(dtcc_dtype type, dtcc_reduction reduction, std::span<const void *const> sources,
                         std::span<void *const> destinations, int64_t begin, int64_t end, int64_t shift) const {
  auto part = [&](int64_t first, int64_t last) {
    reduceElements(type, reduction, sources, destinations, begin + first, begin + last, shift);
  };
  if (team)
    team->parallelFor(end - begin, grainBytes / dtcc_dtype_size(type), part);
  else
    part(0, end - begin);
}

size_t SharedGroup::memoryBytes(int64_t size, bool direct) {
  auto n = static_cast<size_t>(size);
  return sizeof(Control) + n * sizeof(Member) + 2 * n * smallBytes + (direct ? 0 : (n + 1) * chunkBytes);
}

void SharedGroup::initialize(void *memory, int64_t size) {
  auto *control = new (memory) Control();
  auto *members = reinterpret_cast<Member *>(control + 1);
  for (int64_t i = 0; i < size; ++i)
    new (members + i) Member();
}

SharedGroup::SharedGroup(std::string name, void *memory, int64_t size, int64_t index, bool direct, const Waiter &waiter)
    : name(std::move(name)), size(size), me(index), direct(direct), waiter(waiter),
      control(static_cast<Control *>(memory)), members(reinterpret_cast<Member *>(control + 1)),
      smalls(reinterpret_cast<std::byte *>(members + size)), stages(smalls + 2 * size * smallBytes),
      result(stages + size * chunkBytes) {}

std::string SharedGroup::describe(const char *what) const {
  std::string absent;
  for (int64_t i = 0; i < size; ++i)
    if (static_cast<int32_t>(members[i].arrivals.load() - generation) <= 0)
      absent += (absent.empty() ? "" : ", ") + std::to_string(i);
  return message("member ", me, " waits in ", what, " of group '", name, "' for members ", absent);
}

void SharedGroup::barrier(const char *what) {
  members[me].arrivals.store(generation + 1, std::memory_order_relaxed);
  uint32_t target = generation + 1;
  uint32_t full = target * static_cast<uint32_t>(size);
  if (control->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == full)
    Waiter::raise(control->passed);
  else
    waiter.await(control->passed, target, [&] { return describe(what); });
  generation = target;
}

void SharedGroup::publish(const void *in, void *out, const char *what) {
  members[me].in = static_cast<const std::byte *>(in);
  members[me].out = static_cast<std::byte *>(out);
  barrier(what);
}

void SharedGroup::allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  if (count * dtcc_dtype_size(type) <= smallBytes)
    smallAllReduce(in, out, count, type, reduction);
  else if (direct)
    directAllReduce(in, out, count, type, reduction);
  else
    stagedAllReduce(in, out, count, type, reduction);
}

void SharedGroup::smallAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  // Two sets of places take turns: who writes one again has passed the barrier of
  // the reduction between, so nobody reads it any more.
  std::byte *places = smalls + (smallCount++ % 2) * size * smallBytes;
  copyBytes(places + me * smallBytes, in, count * dtcc_dtype_size(type));
  barrier("all_reduce");
  std::vector<const void *> sources;
  for (int64_t i = 0; i < size; ++i)
    sources.push_back(places + i * smallBytes);
  reduce(type, reduction, sources, {&out, 1}, 0, count, 0);
}

void SharedGroup::directAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  publish(in, out, "all_reduce");
  std::vector<const void *> sources;
  std::vector<void *> destinations;
  for (int64_t i = 0; i < size; ++i) {
    sources.push_back(members[i].in);
    destinations.push_back(members[i].out);
  }
  auto [begin, end] = slice(count, size, me);
  reduce(type, reduction, sources, destinations, begin, end, 0);
  barrier("all_reduce");
}

void SharedGroup::stagedAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  int64_t width = dtcc_dtype_size(type), chunk = chunkBytes / width;
  std::vector<const void *> sources;
  for (int64_t i = 0; i < size; ++i)
    sources.push_back(stage(i));
  void *destination = result;
  for (int64_t at = 0; at < count; at += chunk) {
    int64_t length = std::min(chunk, count - at);
    copyBytes(stage(me), static_cast<const std::byte *>(in) + at * width, length * width);
    barrier("all_reduce");
    auto [begin, end] = slice(length, size, me);
    reduce(type, reduction, sources, {&destination, 1}, begin, end, 0);
    barrier("all_reduce");
    copyBytes(static_cast<std::byte *>(out) + at * width, result, length * width);
  }
}

void SharedGroup::allGather(const void *in, void *out, int64_t count, dtcc_dtype type) {
  int64_t bytes = count * dtcc_dtype_size(type);
  auto *to = static_cast<std::byte *>(out);
  if (direct) {
    publish(in, out, "all_gather");
    // Each begins with its right neighbour, so that not all read the same memory.
    for (int64_t step = 0; step < size; ++step) {
      int64_t i = (me + step) % size;
      copyBytes(to + i * bytes, members[i].in, bytes);
    }
    barrier("all_gather");
    return;
  }
  for (int64_t at = 0; at < bytes; at += chunkBytes) {
    int64_t length = std::min(chunkBytes, bytes - at);
    copyBytes(stage(me), static_cast<const std::byte *>(in) + at, length);
    barrier("all_gather");
    for (int64_t i = 0; i < size; ++i)
      copyBytes(to + i * bytes + at, stage(i), length);
    barrier("all_gather");
  }
}

void SharedGroup::reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  int64_t width = dtcc_dtype_size(type);
  std::vector<const void *> sources(static_cast<size_t>(size));
  if (direct) {
    publish(in, out, "reduce_scatter");
    for (int64_t i = 0; i < size; ++i)
      sources[static_cast<size_t>(i)] = members[i].in;
    reduce(type, reduction, sources, {&out, 1}, me * count, (me + 1) * count, me * count);
    barrier("reduce_scatter");
    return;
  }
  // A chunk holds the same range of every part.
  int64_t chunk = chunkBytes / width / size;
  for (int64_t at = 0; at < count; at += chunk) {
    int64_t length = std::min(chunk, count - at);
    for (int64_t part = 0; part < size; ++part)
      copyBytes(stage(me) + part * length * width, static_cast<const std::byte *>(in) + (part * count + at) * width,
                length * width);
    barrier("reduce_scatter");
    for (int64_t i = 0; i < size; ++i)
      sources[static_cast<size_t>(i)] = stage(i) + me * length * width;
    void *to = static_cast<std::byte *>(out) + at * width;
    reduce(type, reduction, sources, {&to, 1}, 0, length, 0);
    barrier("reduce_scatter");
  }
}

void SharedGroup::allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) {
  int64_t bytes = count * dtcc_dtype_size(type);
  auto *to = static_cast<std::byte *>(out);
  auto *from = static_cast<const std::byte *>(in);
  if (direct) {
    publish(in, out, "all_to_all");
    for (int64_t step = 0; step < size; ++step) {
      int64_t i = (me + step) % size;
      copyBytes(to + i * bytes, members[i].in + me * bytes, bytes);
    }
    barrier("all_to_all");
    return;
  }
  int64_t chunk = chunkBytes / size;
  for (int64_t at = 0; at < bytes; at += chunk) {
    int64_t length = std::min(chunk, bytes - at);
    for (int64_t part = 0; part < size; ++part)
      copyBytes(stage(me) + part * length, from + part * bytes + at, length);
    barrier("all_to_all");
    for (int64_t i = 0; i < size; ++i)
      copyBytes(to + i * bytes + at, stage(i) + me * length, length);
    barrier("all_to_all");
  }
}

void SharedGroup::broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) {
  int64_t bytes = count * dtcc_dtype_size(type);
  if (direct) {
    publish(in, out, "broadcast");
    copyBytes(out, members[0].in, bytes);
    barrier("broadcast");
    return;
  }
  for (int64_t at = 0; at < bytes; at += chunkBytes) {
    int64_t length = std::min(chunkBytes, bytes - at);
    if (me == 0)
      copyBytes(result, static_cast<const std::byte *>(in) + at, length);
    barrier("broadcast");
    copyBytes(static_cast<std::byte *>(out) + at, result, length);
    barrier("broadcast");
  }
}

} // namespace dtcc::rt
