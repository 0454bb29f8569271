//===- NullDevice.h - A device that runs nothing -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// It has no memory and notes what it is asked to run: with a StepClock, which knows how long
// each command takes, the step of any number of ranks is forecast on any machine.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DEVICE_NULLDEVICE_H
#define DTCC_RUNTIME_DEVICE_NULLDEVICE_H

#include "runtime/abi/StepClock.h"
#include "runtime/device/Device.h"

namespace dtcc::rt {

class NullDevice : public Device {
public:
  /// The rank's commands are those of `stage` of the clock.
  NullDevice(const DeviceSetup &setup, StepClock &clock, size_t stage) : rank(setup.rank), clock(clock), stage(stage) {}

  /// An address that nobody reads or writes.
  std::byte *arena(uint32_t) const override { return const_cast<std::byte *>(&nowhere); }
  void overlap() override {}
  void bind(uint32_t) override {}
  void run(uint32_t command, void *const *, const void *) override {
    clock.issue(stage, command, static_cast<uint32_t>(rank.abi.slot));
  }
  void endAction() override { clock.endAction(stage); }

private:
  Rank &rank;
  StepClock &clock;
  size_t stage;
  std::byte nowhere{};
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DEVICE_NULLDEVICE_H
