//===- TwoLevelGroup.cpp - Collectives of ranks on several hosts - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/TwoLevelGroup.h"

#include "runtime/collective/NodeGroup.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/Single.h"
#include "runtime/core/Error.h"
#include "runtime/core/HalfFloat.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

bool isHalf(dtcc_dtype type) { return type == DTCC_BF16 || type == DTCC_F16; }

std::vector<float> widened(dtcc_dtype type, const std::byte *from, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  const auto *halves = reinterpret_cast<const uint16_t *>(from);
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = type == DTCC_BF16 ? fromBF16(halves[i]) : fromF16(halves[i]);
  return values;
}

void narrow(dtcc_dtype type, const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = type == DTCC_BF16 ? toBF16(from[i]) : toF16(from[i]);
}

} // namespace

std::vector<int64_t> TwoLevelGroup::runsOf(std::span<const int64_t> hosts) {
  std::vector<int64_t> begins{0};
  for (size_t i = 1; i < hosts.size(); ++i)
    if (hosts[i] != hosts[i - 1])
      begins.push_back(static_cast<int64_t>(i));
  begins.push_back(static_cast<int64_t>(hosts.size()));
  return begins;
}

TwoLevelGroup::TwoLevelGroup(Membership facts, std::vector<int64_t> runBegins, std::unique_ptr<Communicator> ofRun,
                             Link &link, uint32_t channel)
    : Communicator(static_cast<int64_t>(facts.ranks.size()), facts.me), membership(std::move(facts)),
      begins(std::move(runBegins)), local(std::move(ofRun)), link(link), channel(channel),
      reserved(static_cast<size_t>(members)) {
  mine = std::upper_bound(begins.begin(), begins.end(), me) - begins.begin() - 1;
  lane = me - first();
  lanes = members;
  for (int64_t run = 0; run < runs(); ++run)
    lanes = std::min(lanes, sizeOf(run));
}

void TwoLevelGroup::post(int64_t member, std::vector<std::byte> data) {
  link.post(rankOf(member), channel, std::move(data));
}

void TwoLevelGroup::post(int64_t member, const void *data, int64_t bytes) {
  const auto *from = static_cast<const std::byte *>(data);
  post(member, std::vector<std::byte>(from, from + bytes));
}

void TwoLevelGroup::take(int64_t member, void *into, int64_t bytes, const char *call) {
  int64_t got = link.take(rankOf(member), channel, into, bytes, [&] { return membership.waiting(call, {member}); });
  if (got != bytes)
    fail("rank ", rankOf(me), " expects ", bytes, " bytes of rank ", rankOf(member), " in ", call, " of group '",
         membership.name, "', got: ", got);
}

std::vector<std::byte> TwoLevelGroup::sumLane(const Chain &chain, int64_t chunk) {
  const int64_t width = dtcc_dtype_size(chain.type), size = local->size(), total = chain.lengthOf(chunk);
  const int64_t slice = (total + lanes - 1) / lanes;
  // Cells behind the last lane are exchanged too, where runs are of different sizes.
  std::vector<std::byte> pack(static_cast<size_t>(size * slice * width));
  std::vector<std::byte> received(static_cast<size_t>(size * slice * width));
  chain.fill(chunk, pack.data());
  local->allToAll(pack.data(), received.data(), slice, chain.type);
  const int64_t count = std::clamp<int64_t>(total - lane * slice, 0, slice);
  if (lane >= lanes || count == 0)
    return {};

  const bool half = isHalf(chain.type);
  const dtcc_dtype type = half ? DTCC_F32 : chain.type;
  std::vector<std::byte> carry, sum(static_cast<size_t>(count * dtcc_dtype_size(type)));
  std::vector<std::vector<float>> wide;
  std::vector<const void *> sources;
  if (mine > 0) {
    carry.resize(sum.size());
    take(laneOf(mine - 1), carry.data(), static_cast<int64_t>(carry.size()), chain.call);
    sources.push_back(carry.data());
  }
  for (int64_t i = 0; i < size; ++i) {
    const std::byte *piece = received.data() + i * slice * width;
    if (half)
      wide.push_back(widened(chain.type, piece, count));
    sources.push_back(half ? static_cast<const void *>(wide.back().data()) : piece);
  }
  void *to = sum.data();
  reduceElements(type, chain.reduction, sources, {&to, 1}, 0, count, 0);
  return sum;
}

int64_t TwoLevelGroup::messageBytes() const { return std::max(leastBytes, laneBytes / (runs() - 1)); }

int64_t TwoLevelGroup::chunkBytes(int64_t bytes) const {
  const int64_t share = bytes / lanes / (chunksPerHop * (runs() - 1));
  return std::clamp(share, leastBytes, messageBytes()) * lanes;
}

void TwoLevelGroup::run(const Chain &chain) {
  const int64_t width = dtcc_dtype_size(chain.type), size = local->size();
  const bool last = mine == runs() - 1;
  // A run goes on with later chunks while one is on its way to the last run and back, which itself has results at once.
  const int64_t behind = window * (runs() - 1 - mine);
  for (int64_t step = 0; step < chain.chunks + behind; ++step) {
    std::vector<std::byte> sum;
    if (step < chain.chunks)
      sum = sumLane(chain, step);
    if (!last && !sum.empty())
      post(laneOf(mine + 1), std::move(sum));
    const int64_t chunk = step - behind;
    if (chunk < 0)
      continue;
    const int64_t total = chain.lengthOf(chunk), slice = (total + lanes - 1) / lanes;
    const int64_t count = lane < lanes ? std::clamp<int64_t>(total - lane * slice, 0, slice) : 0;
    /// Results of this lane that go to a run, for itself and for those before it.
    auto countFor = [&](int64_t run) {
      return std::clamp<int64_t>(chain.neededUpTo(chunk, run) - lane * slice, 0, count);
    };
    std::vector<std::byte> result(static_cast<size_t>(slice * width));
    if (count > 0) {
      if (!last) {
        if (countFor(mine) > 0)
          take(laneOf(mine + 1), result.data(), countFor(mine) * width, chain.call);
      } else if (isHalf(chain.type)) {
        narrow(chain.type, reinterpret_cast<const float *>(sum.data()), reinterpret_cast<uint16_t *>(result.data()),
               count);
      } else {
        std::memcpy(result.data(), sum.data(), static_cast<size_t>(count * width));
      }
      if (mine > 0 && countFor(mine - 1) > 0)
        post(laneOf(mine - 1), result.data(), countFor(mine - 1) * width);
    }
    std::vector<std::byte> all(static_cast<size_t>(size * slice * width));
    local->allGather(result.data(), all.data(), slice, chain.type);
    chain.store(chunk, all.data());
  }
}

void TwoLevelGroup::allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  const int64_t width = dtcc_dtype_size(type);
  if (count * width * members <= smallBytes) {
    std::vector<std::byte> all(static_cast<size_t>(members * count * width));
    gather(in, all.data(), count * width, "all_reduce");
    std::vector<const void *> sources;
    for (int64_t i = 0; i < members; ++i)
      sources.push_back(all.data() + i * count * width);
    return reduceElements(type, reduction, sources, {&out, 1}, 0, count, 0);
  }
  const int64_t length = std::min(count, chunkBytes(count * width) / width);
  auto lengthOf = [=](int64_t chunk) { return std::min(length, count - chunk * length); };
  run({(count + length - 1) / length, length, type, reduction, "all_reduce", lengthOf,
       [=](int64_t chunk, int64_t) { return lengthOf(chunk); },
       [=](int64_t chunk, std::byte *to) {
         std::memcpy(to, static_cast<const std::byte *>(in) + chunk * length * width,
                     static_cast<size_t>(lengthOf(chunk) * width));
       },
       [=](int64_t chunk, const std::byte *from) {
         std::memcpy(static_cast<std::byte *>(out) + chunk * length * width, from,
                     static_cast<size_t>(lengthOf(chunk) * width));
       }});
}

void TwoLevelGroup::reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) {
  const int64_t width = dtcc_dtype_size(type), size = members, part = me;
  if (count == 0)
    return;
  // A chunk holds as much of every member's part.
  const int64_t most = std::clamp<int64_t>(chunkBytes(count * width * size) / width / size, 1, count);
  auto partOf = [=](int64_t chunk) { return std::min(most, count - chunk * most); };
  run({(count + most - 1) / most, most * size, type, reduction, "reduce_scatter",
       [=](int64_t chunk) { return partOf(chunk) * size; },
       [=, this](int64_t chunk, int64_t run) { return partOf(chunk) * begins[static_cast<size_t>(run) + 1]; },
       [=](int64_t chunk, std::byte *to) {
         const int64_t bytes = partOf(chunk) * width;
         for (int64_t i = 0; i < size; ++i)
           std::memcpy(to + i * bytes, static_cast<const std::byte *>(in) + (i * count + chunk * most) * width,
                       static_cast<size_t>(bytes));
       },
       [=](int64_t chunk, const std::byte *from) {
         const int64_t bytes = partOf(chunk) * width;
         std::memcpy(static_cast<std::byte *>(out) + chunk * most * width, from + part * bytes,
                     static_cast<size_t>(bytes));
       }});
}

void TwoLevelGroup::allGather(const void *in, void *out, int64_t count, dtcc_dtype type) {
  gather(in, out, count * dtcc_dtype_size(type), "all_gather");
}

void TwoLevelGroup::gather(const void *in, void *out, int64_t bytes, const char *call) {
  const auto *from = static_cast<const std::byte *>(in);
  auto *to = static_cast<std::byte *>(out);
  const int64_t size = local->size(), piece = laneBytes;
  // Every member sends its value to one member of each other run, and the members of a run give each other what they
  // got: slot 0 of a member is its own value, then some of every other run.
  struct Slot {
    int64_t run, round;
  };
  std::vector<Slot> slots{{mine, 0}};
  for (int64_t other = 0; other < runs(); ++other)
    for (int64_t round = 0; other != mine && round * size < sizeOf(other); ++round)
      slots.push_back({other, round});
  /// The member whose value is in a slot of place `place` of this run, or -1.
  auto memberOf = [&](const Slot &slot, int64_t place) {
    const int64_t at = slot.round * size + place;
    return at < sizeOf(slot.run) ? begins[static_cast<size_t>(slot.run)] + at : -1;
  };
  const auto slotCount = static_cast<int64_t>(slots.size());
  auto postPiece = [&](int64_t at) {
    if (at < bytes)
      for (int64_t other = 0; other < runs(); ++other)
        if (other != mine)
          post(begins[static_cast<size_t>(other)] + lane % sizeOf(other), from + at, std::min(piece, bytes - at));
  };
  postPiece(0);
  std::vector<std::byte> got, all;
  for (int64_t at = 0; at < bytes; at += piece) {
    postPiece(at + piece);
    const int64_t length = std::min(piece, bytes - at);
    got.resize(static_cast<size_t>(slotCount * length));
    all.resize(static_cast<size_t>(size * slotCount * length));
    std::memcpy(got.data(), from + at, static_cast<size_t>(length));
    for (int64_t i = 1; i < slotCount; ++i)
      if (int64_t member = memberOf(slots[static_cast<size_t>(i)], lane); member >= 0)
        take(member, got.data() + i * length, length, call);
    local->allGather(got.data(), all.data(), slotCount * length, DTCC_I8);
    for (int64_t place = 0; place < size; ++place)
      for (int64_t i = 0; i < slotCount; ++i)
        if (int64_t member = memberOf(slots[static_cast<size_t>(i)], place); member >= 0)
          std::memcpy(to + member * bytes + at, all.data() + (place * slotCount + i) * length,
                      static_cast<size_t>(length));
  }
}

void TwoLevelGroup::allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) {
  const int64_t bytes = count * dtcc_dtype_size(type), piece = 8 * laneBytes;
  const auto *from = static_cast<const std::byte *>(in);
  auto *to = static_cast<std::byte *>(out);
  local->allToAll(from + first() * bytes, to + first() * bytes, count, type);
  for (int64_t at = 0; at < bytes; at += piece) {
    const int64_t length = std::min(piece, bytes - at);
    for (int64_t step = 1; step < members; ++step)
      if (int64_t peer = (me + step) % members; !isLocal(peer))
        post(peer, from + peer * bytes + at, length);
    for (int64_t step = 1; step < members; ++step)
      if (int64_t peer = (me + members - step) % members; !isLocal(peer))
        take(peer, to + peer * bytes + at, length, "all_to_all");
  }
}

void TwoLevelGroup::allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) {
  const auto *from = static_cast<const std::byte *>(in);
  auto *to = static_cast<std::byte *>(out);
  /// The rows of every member, and those of this run as lists of their own.
  struct Part {
    std::vector<std::span<const int64_t>> rows;
    std::span<const int64_t> near, nearCounts;
  };
  auto split = [&](std::span<const int64_t> rows, std::span<const int64_t> counts) {
    Part part;
    size_t at = 0, begin = 0, end = 0;
    for (int64_t peer = 0; peer < members; ++peer) {
      auto count = static_cast<size_t>(counts[static_cast<size_t>(peer)]);
      begin = peer == first() ? at : begin;
      part.rows.push_back(rows.subspan(at, count));
      at += count;
      end = peer == first() + local->size() - 1 ? at : end;
    }
    part.near = rows.subspan(begin, end - begin);
    part.nearCounts = counts.subspan(static_cast<size_t>(first()), static_cast<size_t>(local->size()));
    return part;
  };
  Part sends = split(lists.sendRows, lists.sendCounts), receives = split(lists.receiveRows, lists.receiveCounts);
  for (int64_t step = 1; step < members; ++step) {
    const int64_t peer = (me + step) % members;
    std::span<const int64_t> rows = sends.rows[static_cast<size_t>(peer)];
    if (isLocal(peer) || rows.empty())
      continue;
    std::vector<std::byte> pack(rows.size() * static_cast<size_t>(rowBytes));
    for (size_t i = 0; i < rows.size(); ++i)
      std::memcpy(pack.data() + static_cast<int64_t>(i) * rowBytes, from + rows[i] * rowBytes,
                  static_cast<size_t>(rowBytes));
    post(peer, std::move(pack));
  }
  local->allToAllRows(in, out, rowBytes, {sends.near, sends.nearCounts, receives.near, receives.nearCounts});
  for (int64_t step = 1; step < members; ++step) {
    const int64_t peer = (me + members - step) % members;
    std::span<const int64_t> rows = receives.rows[static_cast<size_t>(peer)];
    if (isLocal(peer) || rows.empty())
      continue;
    std::vector<std::byte> pack(rows.size() * static_cast<size_t>(rowBytes));
    take(peer, pack.data(), static_cast<int64_t>(pack.size()), "exchange of rows");
    for (size_t i = 0; i < rows.size(); ++i)
      std::memcpy(to + rows[i] * rowBytes, pack.data() + static_cast<int64_t>(i) * rowBytes,
                  static_cast<size_t>(rowBytes));
  }
}

void TwoLevelGroup::broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) {
  const int64_t bytes = count * dtcc_dtype_size(type), piece = laneBytes;
  auto *to = static_cast<std::byte *>(out);
  if (me == 0 && in != out)
    std::memmove(out, in, static_cast<size_t>(bytes));
  for (int64_t at = 0; at < bytes; at += piece) {
    const int64_t length = std::min(piece, bytes - at);
    // From the first of a run to the first of the next.
    if (lane == 0 && mine > 0)
      take(laneOf(mine - 1), to + at, length, "broadcast");
    if (lane == 0 && mine + 1 < runs()) {
      const int64_t next = laneOf(mine + 1);
      post(next, to + at, length);
      link.drain(rankOf(next), window, [&] { return membership.waiting("broadcast", {next}); });
    }
    local->broadcast(to + at, to + at, length, DTCC_I8);
  }
}

void TwoLevelGroup::barrier() {
  std::vector<std::byte> all(static_cast<size_t>(members));
  std::byte own{0};
  gather(&own, all.data(), 1, "barrier");
}

void TwoLevelGroup::reserveSend(int64_t peer, int64_t bytes) {
  if (isLocal(peer))
    return local->reserveSend(peer - first(), bytes);
  Reserved &room = reserved[static_cast<size_t>(peer)];
  ++room.messages;
  room.largest = std::max(room.largest, bytes);
}

void TwoLevelGroup::send(const void *data, int64_t bytes, int64_t peer) {
  if (isLocal(peer))
    return local->send(data, bytes, peer - first());
  const Reserved &room = reserved[static_cast<size_t>(peer)];
  if (room.messages == 0 || bytes > room.largest)
    fail("a message of ", bytes, " bytes to member ", peer, " of group '", membership.name, "' was not reserved");
  link.drain(rankOf(peer), room.messages - 1, [&] { return membership.waiting("a send", {peer}); });
  const auto *from = static_cast<const std::byte *>(data);
  link.post(rankOf(peer), channel + 1, {from, from + bytes});
}

void TwoLevelGroup::receive(void *data, int64_t bytes, int64_t peer) {
  if (isLocal(peer))
    return local->receive(data, bytes, peer - first());
  int64_t got =
      link.take(rankOf(peer), channel + 1, data, bytes, [&] { return membership.waiting("a receive", {peer}); });
  if (got != bytes)
    fail("member ", me, " of group '", membership.name, "' expects a message of ", bytes, " bytes from member ", peer,
         ", got: ", got);
}

void TwoLevelGroup::tellWhere(const Whereabouts &where) {
  membership.where = &where;
  local->tellWhere(where);
}

uint64_t TwoLevelGroup::stagingBytes() const {
  // A chain holds at a time a chunk before and behind the local exchange, and the messages that are on their way.
  auto bytes = static_cast<uint64_t>(messageBytes() * (3 * local->size() + window * (runs() - 1) + 1));
  for (const Reserved &room : reserved)
    bytes += room.messages * static_cast<uint64_t>(room.largest);
  return bytes + local->stagingBytes();
}

std::unique_ptr<Communicator> twoLevelGroup(const std::string &name, std::span<const int64_t> members, int64_t rank,
                                            const std::vector<int64_t> &hosts, Node *node, Link &link,
                                            uint32_t &channel) {
  Membership facts{name, {members.begin(), members.end()}, 0};
  facts.me = std::find(members.begin(), members.end(), rank) - members.begin();
  std::vector<int64_t> places;
  for (int64_t member : members)
    places.push_back(hosts[static_cast<size_t>(member)]);
  std::vector<int64_t> begins = TwoLevelGroup::runsOf(places);
  auto end = std::upper_bound(begins.begin(), begins.end(), facts.me);
  std::unique_ptr<Communicator> local =
      node ? node->group(name, members.subspan(static_cast<size_t>(end[-1]), static_cast<size_t>(*end - end[-1])))
           : createSingleCommunicator();
  const uint32_t own = channel;
  channel += 2;
  if (begins.size() == 2)
    return local;
  return std::make_unique<TwoLevelGroup>(std::move(facts), std::move(begins), std::move(local), link, own);
}

} // namespace dtcc::rt
