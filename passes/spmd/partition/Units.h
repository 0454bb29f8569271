//===- Units.h - Which states are gathered and reduced together
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice behind `spmd-form-units`, as plain values: from a list of states in the
// order in which they are needed to the number of the unit of each. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_PARTITION_UNITS_H
#define DTCC_PASSES_SPMD_PARTITION_UNITS_H

#include <string>
#include <vector>

namespace dtcc::spmd {

/// A state that is to be put into a unit.
struct UnitMember {
  std::string name;
  /// Equal for states that play the same part in two blocks: shape, layout, reader.
  std::string signature;
  /// Bytes of a rank's part of the state, before ZeRO shards it.
  double bytes = 0;
};

/// Units of repeated blocks: the longest run of equal signatures is cut at its period,
/// what stands before and after likewise; blocks smaller than `least` bytes are joined.
/// States outside of any run stand for themselves (embeddings, heads) if they have `least`
/// bytes, and join their neighbour otherwise. Returns a number for each member, ascending.
std::vector<size_t> unitsByBlock(const std::vector<UnitMember> &members, double least);

/// Units of neighbours of at most `most` bytes together, or of one larger state.
std::vector<size_t> unitsBySize(const std::vector<UnitMember> &members, double most);

/// A name for people: what the names of the members have in common, or first and last.
std::string unitName(const std::vector<std::string> &names);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_UNITS_H
