//===- Rank.cpp - The context of one rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Rank.h"

#include "runtime/core/Error.h"

#include <cmath>

namespace dtcc::rt {

Rank::Rank(const Image &image, int64_t rank, ThreadTeam &team, uint64_t seed)
    : image(image), team(team), scratch(team.threads()), coordinates(image.mesh().coordinates(rank, 0)),
      stage(image.stageAt(coordinates)), arenas(image.arenas().size()) {
  abi = {rank, image.mesh().ranks(), /*slot=*/0, seed, /*step=*/1, coordinates.data()};
}

std::string Rank::whereaboutsAt(int64_t step, uint32_t number) const {
  std::string text = "step " + std::to_string(step);
  if (number >= image.commands().size())
    return text;
  for (const dtcc_phase &phase : image.phases())
    if (number >= phase.first_command && number - phase.first_command < phase.command_count)
      text += ", phase '" + std::string(image.string(phase.name)) + "'";
  return text + ", command " + std::to_string(number) + " (" +
         std::string(image.string(image.commands()[number].name)) + ")";
}

void Rank::checkRoom(int64_t wanted, int64_t room, double mean, bool counts) {
  if (wanted <= room)
    return;
  if (!mayDropRows) {
    // Rounded up, so that the number that is said suffices.
    const double needed = std::ceil(100 * static_cast<double>(wanted) / mean) / 100;
    fail("step ", abi.step, ": the experts of a rank are picked by ", wanted, " rows, and it has room for ", room,
         ": compile with --moe-capacity=", needed,
         " or more, or drop the rows beyond the room (--on-moe-overflow=drop)");
  }
  droppedRows += counts ? wanted - room : 0;
}

void Rank::enterSlot(int64_t slot) {
  abi.slot = slot;
  auto axes = image.axes();
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].kind != DTCC_AXIS_TIME)
      continue;
    coordinates[i] = slot % axes[i].size;
    slot /= axes[i].size;
  }
}

int64_t Rank::groupIndex(int64_t communicator) const {
  if (communicator < 0 || communicator == DTCC_NONE)
    return 0;
  return index(image.communicators()[static_cast<size_t>(communicator)].axes);
}

} // namespace dtcc::rt
