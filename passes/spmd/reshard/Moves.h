//===- Moves.h - Steps from one layout to another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_RESHARD_MOVES_H
#define DTCC_PASSES_SPMD_RESHARD_MOVES_H

#include "dialects/spmd/Layout.h"
#include <functional>

namespace dtcc::spmd {

struct Move {
  enum Kind : uint32_t {
    AllGather = uint32_t(CollectiveKind::AllGather),
    AllToAll = uint32_t(CollectiveKind::AllToAll),
    ReduceScatter = uint32_t(CollectiveKind::ReduceScatter),
    AllReduce = uint32_t(CollectiveKind::AllReduce),
    /// The moves from here on need no communication.
    LocalSlice = kCollectives,
    ZeroFill,
  };
  Kind kind = AllGather;
  /// The dimension that grows, shrinks, or gives its axes away. -1: none.
  int64_t dim = -1;
  /// all_to_all: the dimension that takes the axes.
  int64_t to = -1;
  Axes axes;
  Reduction reduction = Reduction::Sum;

  static std::string_view name(Kind kind);
  /// The collective by which members of a group exchange data; nothing if they do not.
  std::optional<CollectiveKind> collective() const {
    return kind < kCollectives ? std::optional(CollectiveKind(kind)) : std::nullopt;
  }
  /// The dimension along which parts are joined, and the one of which a rank takes its part; -1: none.
  int64_t joins() const { return kind < kCollectives && infoOf(*collective()).out == Extent::Whole ? dim : -1; }
  int64_t splits() const {
    bool takes = kind == LocalSlice || (kind < kCollectives && infoOf(*collective()).in == Extent::Whole);
    return takes ? (joins() >= 0 ? to : dim) : -1;
  }
  bool operator==(const Move &) const = default;
};

/// The layout after a move, which must be possible.
Layout applyMove(const Move &move, Layout layout);
/// All moves that are possible from `layout`, on the way to `to`.
std::vector<Move> movesFrom(const Layout &layout, const Layout &to, const Mesh &mesh);

/// The price of a move in any unit. Bytes are those of the local value before and
/// after; `group` is the number of its members.
using MoveCost = std::function<double(const Move &move, double bytesBefore, double bytesAfter, int64_t group)>;

/// The local value of a move. What has one cell in all dimensions outside of a dimension lies in its order.
struct MoveSizes {
  double before = 0, after = 0; // bytes
  /// Members of a group of the move.
  int64_t group = 1;
  /// Whether dimensions outside of the one that the move splits, or joins, have more than one cell: the pieces that
  /// members exchange are then no ranges of memory.
  bool splitsInner = false, joinsInner = false;
};
/// The seconds of a move, or of several.
struct MoveTime {
  double seconds = 0;
  /// Parts of these seconds: `start` is what a move of no bytes takes too, and `copies` bring pieces into ranges of
  /// memory and out of them.
  double start = 0, copies = 0;
  MoveTime &operator+=(const MoveTime &other) {
    seconds += other.seconds;
    start += other.start;
    copies += other.copies;
    return *this;
  }
};
using MoveSeconds = std::function<MoveTime(const Move &move, const MoveSizes &sizes)>;

/// Bytes that a member sends, by ring algorithms, plus a little for every byte copied
/// and for every move.
double bytesMoved(const Move &move, double bytesBefore, double bytesAfter, int64_t group);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_RESHARD_MOVES_H
