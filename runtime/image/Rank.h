//===- Rank.h - The context of one rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that belongs to one rank: its coordinates, its arenas, its team, its
// communicators. Ranks may be threads of one process, so there are no globals:
// every op gets the Rank.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_RANK_H
#define DTCC_RUNTIME_IMAGE_RANK_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/image/Image.h"

#include <atomic>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace dtcc::rt {

class Communicator;
struct Position;

/// Sums of squares of a step's gradients, by parameter.
struct GradSquares {
  /// One for each state of the image: the sum over the cells of which this rank is the first holder.
  std::vector<double> ofState;
  /// The factor between these gradients and those of the mean loss, before clipping.
  double unit = 1;
  /// A dynamic loss scale leaves the updates of the step out, on all ranks alike.
  bool isLeftOut = false;
};

/// Addresses in GPU memory at which the commands of a GPU read and write the fields of GradSquares.
struct GradSquaresOnGpu {
  /// An i32, which is 0 in steps that are not asked for norms.
  const void *isAsked = nullptr;
  /// The unit, then 1 or 0 for what is left out, then from `ofState` on a sum for each state; null: the run asks for
  /// no norms.
  double *found = nullptr;
  static constexpr int64_t unit = 0, isLeftOut = 1, ofState = 2;
};

struct Rank {
  /// `arenas` start empty: the rank's device fills them in.
  Rank(const Image &image, int64_t rank, ThreadTeam &team, uint64_t seed);
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  /// The part that kernels see; `abi.coordinates` points into `coordinates`.
  dtcc_rank abi;
  const Image &image;
  ThreadTeam &team;
  /// Tiles of the team's threads: library ops reserve them when they are bound.
  TeamScratch scratch;
  /// One per mesh axis, time axes included: their coordinates are those of the
  /// running action's slot.
  std::vector<int64_t> coordinates;
  /// Buffers and actions of the rank's stage.
  const dtcc_stage &stage;
  /// Address at which the host reaches each arena of the image; null for arenas of other stages. The device sets it.
  std::vector<std::byte *> arenas;
  /// One per communicator of the image.
  std::vector<Communicator *> communicators;
  /// All ranks; null in a program of one rank.
  Communicator *world = nullptr;
  /// The command that communicates now, for messages about waits; DTCC_NONE: none does.
  std::atomic<uint32_t> exchange{DTCC_NONE};
  /// How far the rank is, where other ranks can read it; null: nobody does.
  Position *position = nullptr;

  /// Largest norm of gradients by which a step updates anything, and where the commands of a GPU read it: the device
  /// sets that, and copies the limit there before a step.
  float gradNormLimit = std::numeric_limits<float>::infinity();
  const float *gradNormLimitOnGpu = nullptr;

  /// The ops that update parameters add the squares of their gradients here; null: nobody asks in this step.
  GradSquares *gradSquares = nullptr;
  /// The device of a GPU sets it, and brings what it holds to `gradSquares` (Device::endGradSquares).
  GradSquaresOnGpu gradSquaresOnGpu;

  /// Rows of experts that this step dropped, because more came than there is room for (--moe-capacity). They are
  /// dropped only if `mayDropRows`, else that is an error.
  int64_t droppedRows = 0;
  bool mayDropRows = false;
  /// Throws Error if `wanted` rows, which were picked for this rank's experts, are more than its `room` and none may be
  /// dropped. `mean`: the rows that a rank would get if all got the same. Adds to droppedRows if it `counts`.
  void checkRoom(int64_t wanted, int64_t room, double mean, bool counts);

  /// "step 5, phase 'forward', command 12 (all_reduce of wte)": what the rank is doing, for people.
  std::string whereabouts() const { return whereaboutsAt(abi.step, exchange.load(std::memory_order_relaxed)); }
  /// The text of whereabouts() for a rank at `command` of `step`; DTCC_NONE: at no command.
  std::string whereaboutsAt(int64_t step, uint32_t command) const;
  /// Sets the slot and the coordinates of the time axes.
  void enterSlot(int64_t slot);
  /// The states that this rank holds a part of.
  std::span<const dtcc_state> states() const { return rowsOf(stage.states, image.states()); }
  /// This rank's linear index on `axes`.
  int64_t index(const dtcc_axes &axes) const { return image.mesh().index(axes, coordinates.data()); }
  /// This rank's index in a communicator; 0 for -1 and DTCC_NONE.
  int64_t groupIndex(int64_t communicator) const;
  /// Offset in bytes from the start of the arena to the first element of a view in slot 0.
  int64_t offset(uint32_t view) const {
    const dtcc_view &v = image.views()[view];
    int64_t block = v.block_of == 0 ? 0
                                    : groupIndex(v.block_of - 1) * v.sizes[v.block_dim] * v.strides[v.block_dim] *
                                          dtcc_dtype_size(v.dtype);
    return v.offset + block;
  }
  /// First element of a view in `slot`, for the host.
  void *address(uint32_t view, int64_t slot) const {
    const dtcc_view &v = image.views()[view];
    return arenas[v.arena] + offset(view) + slotMemoryOf(image, v).offsetOf(slot);
  }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_RANK_H
