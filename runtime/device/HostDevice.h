//===- HostDevice.h - Commands on the cores of this machine --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rank's one thread runs the commands of all streams in program order. This satisfies every wait, because the
// image's check makes sure that a command waits for earlier ones only. With --overlap a second thread runs the commands
// of other streams than the first, which are collectives, and an action ends when both threads are done. Kernels and
// library ops use the rank's team of threads; collectives on the second thread use that thread alone.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DEVICE_HOSTDEVICE_H
#define DTCC_RUNTIME_DEVICE_HOSTDEVICE_H

#include "runtime/core/Memory.h"
#include "runtime/core/StreamThread.h"
#include "runtime/device/Device.h"
#include "runtime/image/StridedCopy.h"
#include "runtime/kernels/ops/LibraryOp.h"

#include <optional>

namespace dtcc::rt {

class HostDevice : public Device {
public:
  /// Allocates the rank's arenas where its transport wants them.
  explicit HostDevice(const DeviceSetup &setup);

  std::byte *arena(uint32_t number) const override { return setup.rank.arenas[number]; }
  void overlap() override;
  void bind(uint32_t command) override;
  void prepare() override;
  const std::string &choices() const override { return chosen; }
  void run(uint32_t command, void *const *buffers, const void *predicate) override;
  void endAction() override;
  void beginStep() override { exchanged = 0; }
  std::optional<double> exchangeSeconds() const override { return exchanged; }

private:
  /// Objects that were made for a command when the device was bound to the image.
  struct Bound {
    dtcc_kernel kernel = nullptr;
    std::unique_ptr<LibraryOp> library;
    std::optional<StridedCopy> copy;
    uint64_t ticket = 0; /* of the running action, on the second thread */
  };

  void runTraced(uint32_t number, void *const *buffers, int64_t slot, Trace *into);
  /// Runs `work`, whose seconds count as exchanged.
  template <typename Fn> void exchange(Fn &&work);
  void runNow(uint32_t number, void *const *buffers);

  DeviceSetup setup;
  std::vector<ArenaMemory> memory;
  std::vector<Bound> bound; /* by command of the stage */
  std::string chosen;       /* see choices() */
  std::unique_ptr<StreamThread> second;
  double exchanged = 0; /* seconds of the step */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DEVICE_HOSTDEVICE_H
