//===- CreateDevice.cpp - The device of a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/CreateDevice.h"

#include "runtime/core/Error.h"
#include "runtime/device/HostDevice.h"

namespace dtcc::rt {

std::unique_ptr<Device> createDevice(const DeviceSetup &setup) {
  if (!setup.rank.image.isForGpus())
    return std::make_unique<HostDevice>(setup);
  if (!dtcc_create_cuda_device)
    fail("damaged program: it is for GPUs, and was linked without the runtime's part for them");
  return std::unique_ptr<Device>(dtcc_create_cuda_device(setup));
}

} // namespace dtcc::rt
