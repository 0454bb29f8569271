//===- Device.cpp - The device that a program wants ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Device.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/HostDevice.h"

namespace dtcc::rt {

std::unique_ptr<Device> createDevice(const DeviceSetup &setup) {
  if (setup.rank.image.isForGpus())
    return std::make_unique<cuda::CudaDevice>(setup);
  return std::make_unique<HostDevice>(setup);
}

} // namespace dtcc::rt
