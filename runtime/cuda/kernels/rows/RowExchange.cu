//===- RowExchange.cu - Rows on their way to experts and back
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/rows/RowExchange.h"

using namespace dtcc::rt::cuda;

namespace {

/// Did the token at `place` of all pick an expert of `member`? A pick that is no expert sets `wrong`.
DTCC_DEVICE bool wants(const RouteRows &p, int64_t place, int64_t member, bool &wrong) {
  bool found = false;
  for (int64_t k = 0; k < p.picks; ++k) {
    const int64_t id = p.ids[place * p.picks + k];
    wrong |= id < 0 || id >= p.experts * p.members;
    found |= id / p.experts == member;
  }
  return found;
}

template <typename Unit> DTCC_DEVICE void packPicks(const PackPickedRows &p) {
  for (int64_t i = blockX(); i < p.tokens * p.picks; i += blocksX()) {
    const int64_t number = p.numbers[i] - p.first;
    if (p.numbers[i] < 0 || number < 0 || number >= p.room)
      continue;
    const Unit *from = static_cast<const Unit *>(p.rows) + i / p.picks * p.units;
    Unit *to = static_cast<Unit *>(p.packed) + (p.ids[i] / p.experts * p.room + number) * p.units;
    for (int64_t c = threadIndex(); c < p.units; c += routeThreads)
      to[c] = from[c];
  }
}

/// Returns the member behind `last` that keeps a pick of the token, or -1.
DTCC_DEVICE int64_t nextMember(const SumPickedRows &p, int64_t token, int64_t last) {
  int64_t next = -1;
  for (int64_t i = token * p.picks; i < (token + 1) * p.picks; ++i)
    if (const int64_t member = p.ids[i] / p.experts; p.numbers[i] >= 0 && member > last && (next < 0 || member < next))
      next = member;
  return next;
}

/// A member's rows are rounded once, as if it had added them up itself.
template <typename T> DTCC_DEVICE void sumPicks(const SumPickedRows &p) {
  for (int64_t token = blockX(); token < p.tokens; token += blocksX())
    for (int64_t c = threadIndex(); c < p.columns; c += routeThreads) {
      float sum = 0;
      bool any = false;
      int64_t begin = 0, last = 0;
      for (int64_t member = nextMember(p, token, -1); member >= 0; member = nextMember(p, token, member)) {
        for (; last < member; ++last)
          begin += p.counts[last];
        float part = 0;
        bool some = false;
        for (int64_t i = token * p.picks; i < (token + 1) * p.picks; ++i) {
          if (p.numbers[i] < 0 || p.ids[i] / p.experts != member)
            continue;
          const float row =
              static_cast<float>(static_cast<const T *>(p.received)[(begin + p.numbers[i]) * p.columns + c]);
          part = some ? part + row : row;
          some = true;
        }
        part = static_cast<float>(static_cast<T>(part));
        sum = any ? sum + part : part;
        any = true;
      }
      static_cast<T *>(p.out)[token * p.columns + c] = static_cast<T>(sum);
    }
}

/// The sum of the block's values of threads before this one, and of all.
struct Before {
  int64_t mine, all;
};
DTCC_DEVICE Before sumBefore(int32_t *values, int32_t value) {
  synchronize();
  values[threadIndex()] = value;
  synchronize();
  Before sum = {0, 0};
  for (int thread = 0; thread < routeThreads; ++thread) {
    sum.mine += thread < threadIndex() ? values[thread] : 0;
    sum.all += values[thread];
  }
  return sum;
}

template <typename Unit> DTCC_DEVICE void pack(const PackRows &p) {
  for (int64_t i = blockX(); i < p.members * p.tokens; i += blocksX()) {
    const int64_t number = p.numbers[i] - p.first, member = i / p.tokens;
    if (p.numbers[i] < 0 || number < 0 || number >= p.room)
      continue;
    const Unit *from = static_cast<const Unit *>(p.rows) + (p.ofMembers ? i : i % p.tokens) * p.units;
    Unit *to = static_cast<Unit *>(p.packed) + (member * p.room + number) * p.units;
    for (int64_t c = threadIndex(); c < p.units; c += routeThreads)
      to[c] = from[c];
  }
}

/// A row's place is never behind where it waits, so what is read ahead has not been written over.
template <typename Unit> DTCC_DEVICE void spread(const SpreadRows &p) {
  constexpr int ahead = 8;
  const int64_t column = blockX() * routeThreads + threadIndex(), member = blockY();
  if (column >= p.units)
    return;
  const int32_t *numbers = p.numbers + member * p.tokens;
  Unit *rows = static_cast<Unit *>(p.rows) + member * p.tokens * p.units + column;
  const Unit *waiting = rows + (p.tokens - p.counts[member]) * p.units;
  for (int64_t first = 0; first < p.tokens; first += ahead) {
    Unit some[ahead];
    for (int i = 0; i < ahead; ++i) {
      const int64_t number = first + i < p.tokens ? numbers[first + i] : -1;
      some[i] = number < 0 ? Unit{} : waiting[number * p.units];
    }
    for (int i = 0; i < ahead; ++i)
      if (first + i < p.tokens)
        rows[(first + i) * p.units] = some[i];
  }
}

/// Halves are added up in f32 and rounded once.
template <typename T> DTCC_DEVICE void sumRows(const SumRows &p) {
  for (int64_t token = blockX(); token < p.tokens; token += blocksX())
    for (int64_t c = threadIndex(); c < p.columns; c += routeThreads) {
      float sum = 0;
      bool any = false;
      int64_t begin = 0;
      for (int64_t member = 0; member < p.members; ++member) {
        const int64_t number = p.numbers[member * p.tokens + token];
        if (number >= 0) {
          const float row = static_cast<float>(static_cast<const T *>(p.received)[(begin + number) * p.columns + c]);
          sum = any ? sum + row : row;
          any = true;
        }
        begin += p.counts[member];
      }
      static_cast<T *>(p.out)[token * p.columns + c] = static_cast<T>(sum);
    }
}

} // namespace

DTCC_KERNEL(route_rows, RouteRows, routeThreads) {
  DTCC_SHARED int32_t found[routeThreads];
  DTCC_SHARED int32_t wrongs[routeThreads];
  const bool comes = blockX() >= p.members;
  const int64_t member = comes ? blockX() - p.members : blockX();
  // Tokens of the one that sends, and who must hold an expert that they picked.
  const int64_t base = (comes ? member : p.me) * p.tokens, holder = comes ? p.me : member;
  const int64_t share = (p.tokens + routeThreads - 1) / routeThreads, from = threadIndex() * share;
  const int64_t end = from + share < p.tokens ? from + share : p.tokens;
  int32_t mine = 0;
  bool wrong = false;
  for (int64_t token = from; token < end; ++token)
    mine += wants(p, base + token, holder, wrong);
  found[threadIndex()] = mine;
  wrongs[threadIndex()] = wrong;
  synchronize();
  int32_t number = 0, total = 0;
  bool anyWrong = false;
  for (int thread = 0; thread < routeThreads; ++thread) {
    number += thread < threadIndex() ? found[thread] : 0;
    total += found[thread];
    anyWrong |= wrongs[thread] != 0;
  }
  int32_t *numbers = p.numbers + blockX() * p.tokens;
  for (int64_t token = from; token < end; ++token)
    numbers[token] = wants(p, base + token, holder, wrong) ? number++ : -1;
  if (threadIndex() == 0)
    p.counts[blockX()] = anyWrong ? -1 : total;
}

DTCC_KERNEL(route_picks, RoutePicks, routeThreads) {
  DTCC_SHARED int32_t values[routeThreads];
  const bool comes = blockX() >= p.members;
  const int64_t member = comes ? blockX() - p.members : blockX();
  const int64_t holder = comes ? p.me : member, ofOwner = p.tokens * p.picks;
  const int64_t begin = (comes ? member : p.me) * ofOwner, end = begin + ofOwner;
  const int64_t share = (end + routeThreads - 1) / routeThreads, from = threadIndex() * share;
  const int64_t until = from + share < end ? from + share : end;
  int32_t hits = 0, earlier = 0, wrong = 0;
  for (int64_t at = from; at < until; ++at) {
    const int64_t id = p.ids[at];
    wrong |= id < 0 || id >= p.experts * p.members;
    const bool hit = id / p.experts == holder;
    hits += hit;
    earlier += hit && at < begin;
  }
  const Before found = sumBefore(values, hits);
  const int64_t start = sumBefore(values, earlier).all;
  const bool anyWrong = sumBefore(values, wrong).all != 0;
  int64_t number = found.mine;
  for (int64_t at = from; at < until && !comes; ++at)
    if (p.ids[at] / p.experts == holder) {
      if (at >= begin)
        p.numbers[at - begin] = number < p.room ? static_cast<int32_t>(number - start) : -1;
      ++number;
    }
  const int64_t kept = (found.all < p.room ? found.all : p.room) - (start < p.room ? start : p.room);
  if (threadIndex() == 0)
    p.counts[blockX()] = anyWrong ? -1 : static_cast<int32_t>(kept);
}

DTCC_KERNEL(keep_picks, KeepPicks, routeThreads) {
  DTCC_SHARED int32_t values[routeThreads];
  auto write = [&](int64_t row, int64_t id, int64_t place) {
    if (p.ids.wide)
      static_cast<int64_t *>(p.picked)[row] = id;
    else
      static_cast<int32_t *>(p.picked)[row] = static_cast<int32_t>(id);
    p.places[row] = place;
  };
  auto isMine = [&](int64_t id) { return id >= p.first && id < p.first + p.experts; };
  const int64_t share = (p.size + routeThreads - 1) / routeThreads, from = threadIndex() * share;
  const int64_t until = from + share < p.size ? from + share : p.size;
  int32_t hits = 0;
  for (int64_t at = from; at < until; ++at)
    hits += isMine(p.ids[at]);
  const Before found = sumBefore(values, hits);
  int64_t row = found.mine;
  for (int64_t at = from; at < until && row < p.room; ++at)
    if (const int64_t id = p.ids[at]; isMine(id))
      write(row++, id, at);
  for (int64_t free = found.all + threadIndex(); free < p.room; free += routeThreads)
    write(free, -1, -1);
  if (threadIndex() == 0 && p.wanted)
    *p.wanted = found.all;
}

#define DTCC_UNIT(BYTES, TYPE)                                                                                         \
  DTCC_KERNEL(pack_rows_##BYTES, PackRows, routeThreads) { pack<TYPE>(p); }                                            \
  DTCC_KERNEL(pack_picks_##BYTES, PackPickedRows, routeThreads) { packPicks<TYPE>(p); }                                \
  DTCC_KERNEL(spread_rows_##BYTES, SpreadRows, routeThreads) { spread<TYPE>(p); }
DTCC_UNIT(2, uint16_t)
DTCC_UNIT(4, uint32_t)
DTCC_UNIT(8, uint64_t)
DTCC_UNIT(16, Unit16)

DTCC_KERNEL(sum_rows_f32, SumRows, routeThreads) { sumRows<float>(p); }
DTCC_KERNEL(sum_rows_bf16, SumRows, routeThreads) { sumRows<__bf16>(p); }
DTCC_KERNEL(sum_rows_f16, SumRows, routeThreads) { sumRows<_Float16>(p); }
DTCC_KERNEL(sum_picks_f32, SumPickedRows, routeThreads) { sumPicks<float>(p); }
DTCC_KERNEL(sum_picks_bf16, SumPickedRows, routeThreads) { sumPicks<__bf16>(p); }
DTCC_KERNEL(sum_picks_f16, SumPickedRows, routeThreads) { sumPicks<_Float16>(p); }
