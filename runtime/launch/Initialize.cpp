//===- Initialize.cpp - Initial values of state --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Initialize.h"

#include "runtime/core/Error.h"
#include "runtime/core/Philox.h"
#include "runtime/image/Block.h"

#include <algorithm>

namespace dtcc::rt {
namespace {

/// Writes doubles into a run of any element type, in chunks.
void storeRun(const Rank &rank, const dtcc_state &state, std::byte *address, const double *values, int64_t count) {
  int64_t bad = convertElements(FileType::F64, values, state.dtype, address, count, /*rounding=*/true);
  if (bad >= 0)
    fail("damaged program: state '", rank.image.string(state.name), "' of type ", dtypeName(state.dtype),
         " cannot start from ", values[bad]);
}

void storeConstant(const Rank &rank, const dtcc_state &state, std::byte *address, int64_t count) {
  bool integer = state.dtype == DTCC_I64 || state.dtype == DTCC_I32 || state.dtype == DTCC_I16 ||
                 state.dtype == DTCC_I8 || state.dtype == DTCC_BOOL;
  auto whole = static_cast<int64_t>(state.init_a);
  for (int64_t i = 0; i < count; ++i) {
    std::byte *to = address + i * dtcc_dtype_size(state.dtype);
    if (integer)
      convertElements(FileType::I64, &whole, state.dtype, to, 1, false);
    else
      storeRun(rank, state, to, &state.init_a, 1);
  }
}

void storeRandom(const Rank &rank, const dtcc_state &state, uint64_t seed, int64_t first, std::byte *address,
                 int64_t count) {
  constexpr int64_t chunk = 512;
  double values[chunk];
  uint64_t stream = streamOf(rank.image.string(state.name));
  for (int64_t at = 0; at < count; at += chunk) {
    int64_t length = std::min(chunk, count - at);
    for (int64_t i = 0; i < length; ++i) {
      auto element = static_cast<uint64_t>(first + at + i);
      if (state.init == DTCC_INIT_UNIFORM) {
        values[i] = state.init_a + (state.init_b - state.init_a) * uniformElement(seed, stream, element);
        continue;
      }
      auto [even, odd] = normalPair(seed, stream, element / 2);
      if (element % 2 == 0) {
        values[i] = state.init_a + state.init_b * even;
        if (i + 1 < length)
          values[++i] = state.init_a + state.init_b * odd;
      } else {
        values[i] = state.init_a + state.init_b * odd;
      }
    }
    storeRun(rank, state, address + at * dtcc_dtype_size(state.dtype), values, length);
  }
}

} // namespace

void initializeStates(Rank &rank, uint64_t seed, const ModelWeights &weights) {
  for (const dtcc_state &state : rank.states()) {
    if (weights.load(rank, state) || state.init == DTCC_INIT_ZERO)
      continue;
    int64_t width = dtcc_dtype_size(state.dtype);
    StateRuns runs(rank, state);
    for (StateRun run; runs.next(run);)
      rank.team.parallelFor(run.length, 4096, [&](int64_t begin, int64_t end) {
        if (state.init == DTCC_INIT_CONSTANT)
          storeConstant(rank, state, run.address + begin * width, end - begin);
        else
          storeRandom(rank, state, seed, run.whole + begin, run.address + begin * width, end - begin);
      });
  }
}

} // namespace dtcc::rt
