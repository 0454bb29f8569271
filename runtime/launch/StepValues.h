//===- StepValues.h - What the host writes and reads of a step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_STEPVALUES_H
#define DTCC_RUNTIME_LAUNCH_STEPVALUES_H

#include "runtime/data/Batches.h"
#include "runtime/device/Device.h"

#include <initializer_list>

namespace dtcc::rt {

/// The scalars of a rank's stage, and its inputs.
class StepValues {
public:
  StepValues(Rank &rank, Device &device) : rank(rank), device(device) {}

  /// The host's copy of a scalar, or null if the stage has none.
  template <typename T> T *get(dtcc_scalar which) {
    uint32_t view = rank.stage.scalars[which];
    return view == DTCC_NONE ? nullptr : static_cast<T *>(rank.address(view, 0));
  }
  /// Writes a scalar for the commands, if the stage has it.
  template <typename T> void write(dtcc_scalar which, T value) {
    if (T *place = get<T>(which)) {
      *place = value;
      device.upload(rank.stage.scalars[which], 0);
    }
  }
  /// Brings what commands wrote to the host's copies.
  void read(std::initializer_list<dtcc_scalar> which) {
    std::vector<uint32_t> views;
    for (dtcc_scalar each : which)
      if (rank.stage.scalars[each] != DTCC_NONE)
        views.push_back(rank.stage.scalars[each]);
    device.download(views);
  }
  /// Writes the rank's inputs of a slot, in the step that begins at sample `first`.
  void fill(const Batches &batches, int64_t slot, int64_t first) {
    batches.fill(rank, slot, first);
    for (const dtcc_input &input : rowsOf(rank.stage.inputs, rank.image.inputs()))
      if (input.view != DTCC_NONE)
        device.upload(input.view, slot);
  }

private:
  Rank &rank;
  Device &device;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_STEPVALUES_H
