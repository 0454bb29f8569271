//===- CreateDevice.h - The device of a program
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DEVICE_CREATEDEVICE_H
#define DTCC_RUNTIME_DEVICE_CREATEDEVICE_H

#include "runtime/device/Device.h"

namespace dtcc::rt {

/// The device that the program was compiled for. Throws Error if it is not there, or too small.
std::unique_ptr<Device> createDevice(const DeviceSetup &setup);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DEVICE_CREATEDEVICE_H
