//===- SharedGroup.cpp - Collectives over shared memory ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/SharedGroup.h"

#include "runtime/collective/Reduce.h"
#include "runtime/collective/StreamCopy.h"
#include "runtime/core/Error.h"
#include "runtime/core/ThreadTeam.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace dtcc::rt {

struct SharedGroup::Control {
  alignas(64) Signal passed; /* barriers that all members have reached */
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

void SharedGroup::copyBytes(void *to, const void *from, int64_t bytes, int64_t whole) const {
  if (to == from || bytes <= 0)
    return;
  bool streams = whole >= streamedBytes;
  auto part = [&](int64_t begin, int64_t end) {
    std::byte *target = static_cast<std::byte *>(to) + begin;
    const std::byte *source = static_cast<const std::byte *>(from) + begin;
    if (streams)
      streamCopy(target, source, end - begin);
    else
      std::memcpy(target, source, static_cast<size_t>(end - begin));
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
  return sizeof(Control) + n * sizeof(Member) + 2 * n * placeBytes(direct) + (direct ? 0 : chunkBytes);
}

void SharedGroup::initialize(void *memory, int64_t size) {
  auto *control = new (memory) Control();
  auto *members = reinterpret_cast<Member *>(control + 1);
  for (int64_t i = 0; i < size; ++i)
    new (members + i) Member();
}

SharedGroup::SharedGroup(const Membership &membership, void *memory, bool direct, const Waiter &waiter)
    : membership(membership), size(static_cast<int64_t>(membership.ranks.size())), me(membership.me), direct(direct),
      waiter(waiter), control(static_cast<Control *>(memory)), members(reinterpret_cast<Member *>(control + 1)),
      places(reinterpret_cast<std::byte *>(members + size)), result(places + 2 * size * placeBytes(direct)),
      ins(static_cast<size_t>(size)), outs(static_cast<size_t>(size)) {}

int64_t SharedGroup::chunk() const {
  if (direct)
    return smallBytes;
  // Half of it stays in a core's own cache until the others have read it; where members
  // share cores, barriers cost more than caches give.
  return waiter.isCrowded() ? chunkBytes : chunkBytes / 2;
}

Wait SharedGroup::describe(const char *what) const {
  std::vector<int64_t> absent;
  for (int64_t i = 0; i < size; ++i)
    if (static_cast<int32_t>(members[i].arrived.value.load() - generation) <= 0)
      absent.push_back(i);
  return membership.waiting(what, absent);
}

void SharedGroup::barrier(const char *what) {
  uint32_t target = generation + 1;
  auto description = [&] { return describe(what); };
  if (waiter.isCrowded()) {
    members[me].arrived.value.store(target, std::memory_order_relaxed);
    uint32_t full = target * static_cast<uint32_t>(size);
    if (control->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == full)
      Waiter::raise(control->passed);
    else
      waiter.await(control->passed, target, description);
  } else {
    Waiter::raise(members[me].arrived);
    for (int64_t step = 1; step < size; ++step)
      waiter.await(members[(me + step) % size].arrived, target, description);
  }
  generation = target;
}

void SharedGroup::usePeers(PeerMemory &memory, std::vector<int64_t> numbers) {
  peers = &memory;
  processes = std::move(numbers);
}

bool SharedGroup::meet(const void *in, const void *out, int64_t bytes, const char *what) {
  if (bytes <= smallBytes || (!direct && !peers))
    return false;
  auto show = [&](const void *address) {
    return direct ? reinterpret_cast<uint64_t>(address) : peers->handle(address);
  };
  members[me].in = show(in);
  members[me].out = out ? show(out) : unused;
  barrier(what);
  // All read the same, so all decide alike.
  for (int64_t i = 0; i < size; ++i)
    if (members[i].in == 0 || members[i].out == 0)
      return false;
  auto address = [&](int64_t member, uint64_t shown) {
    return direct ? reinterpret_cast<std::byte *>(shown)
                  : peers->resolve(processes[static_cast<size_t>(member)], shown);
  };
  for (int64_t i = 0; i < size; ++i) {
    ins[static_cast<size_t>(i)] = address(i, members[i].in);
    if (out)
      outs[static_cast<size_t>(i)] = address(i, members[i].out);
  }
  return true;
}

void SharedGroup::allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  int64_t bytes = count * dtcc_dtype_size(type);
  if (bytes <= (direct || peers ? smallBytes : wholeBytes))
    wholeAllReduce(in, out, count, type, reduction);
  else if (meet(in, out, bytes, "all_reduce"))
    directAllReduce(count, type, reduction);
  else
    stagedAllReduce(in, out, count, type, reduction);
}

void SharedGroup::wholeAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  copyBytes(place(me), in, count * dtcc_dtype_size(type));
  barrier("all_reduce");
  for (int64_t i = 0; i < size; ++i)
    ins[static_cast<size_t>(i)] = i == me ? in : place(i);
  reduce(type, reduction, ins, {&out, 1}, 0, count, 0);
  ++turn;
}

void SharedGroup::directAllReduce(int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  auto [begin, end] = slice(count, size, me);
  reduce(type, reduction, ins, outs, begin, end, 0);
  barrier("all_reduce");
}

void SharedGroup::stagedAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  int64_t width = dtcc_dtype_size(type), most = chunk() / width;
  for (int64_t at = 0; at < count; at += most, ++turn) {
    int64_t length = std::min(most, count - at);
    const std::byte *from = static_cast<const std::byte *>(in) + at * width;
    std::byte *to = static_cast<std::byte *>(out) + at * width;
    // All slices but this member's.
    auto copyOthers = [&](std::byte *target, const std::byte *source) {
      auto [begin, end] = slice(length, size, me);
      copyBytes(target, source, begin * width);
      copyBytes(target + end * width, source + end * width, (length - end) * width);
    };
    copyOthers(place(me), from);
    barrier("all_reduce");
    for (int64_t i = 0; i < size; ++i)
      ins[static_cast<size_t>(i)] = i == me ? from : place(i);
    void *destinations[] = {result, to};
    auto [begin, end] = slice(length, size, me);
    reduce(type, reduction, ins, destinations, begin, end, 0);
    barrier("all_reduce");
    copyOthers(to, result);
  }
}

void SharedGroup::allGather(const void *in, void *out, int64_t count, dtcc_dtype type) {
  int64_t bytes = count * dtcc_dtype_size(type);
  auto *to = static_cast<std::byte *>(out);
  auto *from = static_cast<const std::byte *>(in);
  if (meet(in, nullptr, bytes, "all_gather")) {
    // Each begins with its own, then takes its right neighbour's, so that not all read
    // the same memory.
    for (int64_t step = 0; step < size; ++step) {
      int64_t i = (me + step) % size;
      copyBytes(to + i * bytes, ins[static_cast<size_t>(i)], bytes, size * bytes);
    }
    barrier("all_gather");
    return;
  }
  for (int64_t at = 0; at < bytes; at += chunk(), ++turn) {
    int64_t length = std::min(chunk(), bytes - at);
    copyBytes(place(me), from + at, length);
    barrier("all_gather");
    for (int64_t i = 0; i < size; ++i)
      copyBytes(to + i * bytes + at, i == me ? from + at : place(i), length, size * bytes);
  }
}

void SharedGroup::reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  int64_t width = dtcc_dtype_size(type);
  auto *from = static_cast<const std::byte *>(in);
  if (meet(in, nullptr, size * count * width, "reduce_scatter")) {
    reduce(type, reduction, ins, {&out, 1}, me * count, (me + 1) * count, me * count);
    barrier("reduce_scatter");
    return;
  }
  // A chunk holds the same range of every part.
  int64_t most = chunk() / width / size;
  for (int64_t at = 0; at < count; at += most, ++turn) {
    int64_t length = std::min(most, count - at);
    for (int64_t part = 0; part < size; ++part)
      if (part != me)
        copyBytes(place(me) + part * length * width, from + (part * count + at) * width, length * width);
    barrier("reduce_scatter");
    for (int64_t i = 0; i < size; ++i)
      ins[static_cast<size_t>(i)] = i == me ? from + (me * count + at) * width : place(i) + me * length * width;
    void *to = static_cast<std::byte *>(out) + at * width;
    reduce(type, reduction, ins, {&to, 1}, 0, length, 0);
  }
}

void SharedGroup::allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) {
  int64_t bytes = count * dtcc_dtype_size(type);
  auto *to = static_cast<std::byte *>(out);
  auto *from = static_cast<const std::byte *>(in);
  if (meet(in, nullptr, size * bytes, "all_to_all")) {
    for (int64_t step = 0; step < size; ++step) {
      int64_t i = (me + step) % size;
      copyBytes(to + i * bytes, static_cast<const std::byte *>(ins[static_cast<size_t>(i)]) + me * bytes, bytes,
                size * bytes);
    }
    barrier("all_to_all");
    return;
  }
  int64_t most = chunk() / size;
  for (int64_t at = 0; at < bytes; at += most, ++turn) {
    int64_t length = std::min(most, bytes - at);
    for (int64_t part = 0; part < size; ++part)
      if (part != me)
        copyBytes(place(me) + part * length, from + part * bytes + at, length);
    barrier("all_to_all");
    for (int64_t i = 0; i < size; ++i)
      copyBytes(to + i * bytes + at, i == me ? from + me * bytes + at : place(i) + me * length, length, size * bytes);
  }
}

void SharedGroup::broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) {
  int64_t bytes = count * dtcc_dtype_size(type);
  // The others' `in` may be anything.
  if (meet(me == 0 ? in : out, nullptr, bytes, "broadcast")) {
    copyBytes(out, ins[0], bytes);
    barrier("broadcast");
    return;
  }
  auto *to = static_cast<std::byte *>(out);
  auto *from = static_cast<const std::byte *>(in);
  for (int64_t at = 0; at < bytes; at += chunk(), ++turn) {
    int64_t length = std::min(chunk(), bytes - at);
    if (me == 0)
      copyBytes(place(0), from + at, length);
    barrier("broadcast");
    copyBytes(to + at, me == 0 ? from + at : place(0), length);
  }
}

} // namespace dtcc::rt
