//===- StateValues.h - The numbers that a rank holds of a state -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checkpoints and files of weights hold numbers, whatever the memory of a rank does. A state of 8-bit codes is decoded
// into f32 values when it is read, and coded when its values have come: its blocks are those of this rank's plan, so
// the file says nothing of blocks and loads under every plan. The values take four bytes a cell of this one state, for
// as long as the object lives. Other states are read and written in place.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_STATEVALUES_H
#define DTCC_RUNTIME_IMAGE_STATEVALUES_H

#include "runtime/core/DynamicCodes.h"
#include "runtime/image/Block.h"

#include <vector>

namespace dtcc::rt {

/// The element type of the numbers of a state.
inline uint32_t valueTypeOf(const dtcc_state &state) {
  return state.codes == DTCC_CODES_NONE ? state.dtype : uint32_t{DTCC_F32};
}

class StateValues {
public:
  StateValues(const Rank &rank, const dtcc_state &state);

  /// Reads the values of a state of codes. Without it they are zeros.
  void read();
  /// The cells that the rank holds, with the addresses of their numbers.
  StateRuns runs();
  /// Stores values that have been written through `runs`.
  void store() const;

private:
  /// Calls `body` with the cells of each block of codes in the share, as a begin and a count.
  template <typename Body> void forEachBlock(Body body) const;
  CodedShare share() const;

  const Rank &rank;
  const dtcc_state &state;
  /// Cells of the share that the codes of the state take.
  int64_t begin = 0, end = 0;
  std::vector<float> decoded;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_STATEVALUES_H
