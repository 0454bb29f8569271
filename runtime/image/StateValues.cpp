//===- StateValues.cpp - The numbers that a rank holds of a state -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/StateValues.h"

#include <algorithm>

namespace dtcc::rt {

StateValues::StateValues(const Rank &rank, const dtcc_state &state) : rank(rank), state(state) {
  if (state.codes == DTCC_CODES_NONE)
    return;
  const dtcc_bucket &bucket = rank.image.buckets()[state.bucket];
  const int64_t length = bucket.length / rank.image.mesh().extent(bucket.flat);
  const int64_t first = rank.index(bucket.flat) * length;
  int64_t cells = 1;
  for (uint32_t d = 0; d < state.rank; ++d)
    cells *= state.dims[d].padded / rank.image.mesh().extent(state.dims[d].axes);
  begin = std::clamp<int64_t>(state.bucket_offset - first, 0, length);
  end = std::clamp<int64_t>(state.bucket_offset + cells - first, begin, length);
  decoded.resize(static_cast<size_t>(end - begin));
}

CodedShare StateValues::share() const {
  const dtcc_bucket &bucket = rank.image.buckets()[state.bucket];
  return {static_cast<dtcc_codes>(state.codes), rank.address(bucket.view, 0),
          bucket.length / rank.image.mesh().extent(bucket.flat)};
}

template <typename Body> void StateValues::forEachBlock(Body body) const {
  constexpr int64_t blocksOfThread = 64;
  rank.team.parallelFor((end - begin + codeBlock - 1) / codeBlock, blocksOfThread, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t at = begin + block * codeBlock;
      body(at, std::min(codeBlock, end - at));
    }
  });
}

void StateValues::read() {
  if (state.codes == DTCC_CODES_NONE)
    return;
  const CodedShare codes = share();
  forEachBlock([&](int64_t at, int64_t count) { codes.decodeSaved(at, count, decoded.data() + (at - begin)); });
}

StateRuns StateValues::runs() {
  if (state.codes == DTCC_CODES_NONE)
    return StateRuns(rank, state);
  return StateRuns(rank, state, reinterpret_cast<std::byte *>(decoded.data()), begin, sizeof(float));
}

void StateValues::store() const {
  if (state.codes == DTCC_CODES_NONE)
    return;
  const CodedShare codes = share();
  forEachBlock([&](int64_t at, int64_t count) { codes.encode(at, count, decoded.data() + (at - begin)); });
}

} // namespace dtcc::rt
