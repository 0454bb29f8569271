//===- DeviceApi.cpp - Emulated driver: devices, contexts, errors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Api.h"
#include "tests/emulator/cuda/Capture.h"
#include <cstdlib>
#include <cstring>

using namespace dtcc::emulator;

namespace {

struct ErrorText {
  int code;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
#define DTCC_EMULATED_RESULT(NAME, THEIRS, VALUE, TEXT) {NAME, #THEIRS, TEXT},
#include "tests/emulator/cuda/Results.def"
};

const ErrorText *find(int code) {
  for (const ErrorText &error : kErrors)
    if (error.code == code)
      return &error;
  return nullptr;
}

/// CUdevice_attribute -> value, of an H100 where the emulator has no own limit.
int attributeOf(int attribute) {
  switch (attribute) {
  case 1: // threads of a block
  case 2: // x
  case 3: // y
    return 1024;
  case 4: // z
    return 64;
  case 5: // blocks: x
    return 2147483647;
  case 6: // y
  case 7: // z
    return 65535;
  case 8: // shared memory of a block, unasked
    return 48 << 10;
  case 9: // constant memory
    return 64 << 10;
  case 10: // lanes of a warp
    return 32;
  case 11: // pitch
    return 2147483647;
  case 12: // registers of a block
  case 82: // of a multiprocessor
    return 65536;
  case 13: // kHz
    return 1980000;
  case 16: // multiprocessors: few, so that kernels that walk a grid do
    return 4;
  case 19: // maps host memory
  case 31: // concurrent kernels
  case 41: // unified addresses
  case 78: // priorities of streams
    return 1;
  case 36: // kHz of the memory
    return 2619000;
  case 37: // its bits
    return 5120;
  case 38: // bytes of L2
    return 50 << 20;
  case 39: // threads of a multiprocessor
    return 2048;
  case 40: // copy engines
    return 3;
  case 75: // compute capability
    return 9;
  case 76:
    return 0;
  case 81: // shared memory of a multiprocessor
    return 228 << 10;
  case 97: // of a block, if asked for
    return 227 << 10;
  case 106: // blocks of a multiprocessor
    return 32;
  case 111: // shared memory that the system keeps
    return 1024;
  default:
    return 0;
  }
}

Device &deviceAt(Emulation &emulation, CUdevice number) {
  require(emulation.initialized, kNotInitialized, "a call before cuInit");
  require(number >= 0 && size_t(number) < emulation.devices.size(), kInvalidDevice, "a device that is not there");
  return *emulation.devices[number];
}
} // namespace

extern "C" {

CUresult cuInit(unsigned flags) {
  return call([&](Emulation &emulation, Lock &) {
    require(flags == 0, kInvalidValue, "cuInit with flags");
    if (emulation.devices.empty())
      throw CallError{kNoDevice, ""};
    emulation.initialized = true;
  });
}
CUresult cuDriverGetVersion(int *version) {
  const char *told = std::getenv("DTCC_EMULATED_DRIVER_VERSION");
  *version = told ? std::atoi(told) : 13000;
  return kSuccess;
}
CUresult cuDeviceGetCount(int *count) {
  return call([&](Emulation &emulation, Lock &) {
    require(emulation.initialized, kNotInitialized, "a call before cuInit");
    *count = int(emulation.devices.size());
  });
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return call([&](Emulation &emulation, Lock &) { *device = deviceAt(emulation, ordinal).number; });
}
CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  return call([&](Emulation &emulation, Lock &) {
    deviceAt(emulation, device);
    std::snprintf(name, size_t(length), "Emulated GPU");
  });
}
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  return call([&](Emulation &emulation, Lock &) {
    deviceAt(emulation, device);
    *value = attributeOf(attribute);
  });
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  return call([&](Emulation &emulation, Lock &) {
    deviceAt(emulation, device);
    *bytes = emulation.memoryBytes;
  });
}
CUresult cuDeviceGetUuid(void *bytes, CUdevice device) {
  return call([&](Emulation &emulation, Lock &) {
    char uuid[17] = "emulated GPU   ";
    uuid[15] = char(deviceAt(emulation, device).number);
    std::memcpy(bytes, uuid, 16);
  });
}
CUresult cuDeviceGetUuid_v2(void *bytes, CUdevice device) { return cuDeviceGetUuid(bytes, device); }

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return call([&](Emulation &emulation, Lock &) {
    *context = &deviceAt(emulation, device);
    ++(*context)->retained;
  });
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return call([&](Emulation &emulation, Lock &) {
    Device &released = deviceAt(emulation, device);
    require(released.retained > 0, kInvalidContext, "a context released more often than retained");
    --released.retained;
  });
}
CUresult cuCtxSetCurrent(CUcontext context) {
  return call([&](Emulation &emulation, Lock &) {
    require(emulation.initialized, kNotInitialized, "a call before cuInit");
    currentDevice = context;
  });
}
CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = currentDevice;
  return kSuccess;
}
CUresult cuCtxGetDevice(CUdevice *device) {
  return call([&](Emulation &emulation, Lock &) { *device = emulation.current().number; });
}
CUresult cuCtxSynchronize() {
  return waitingCall([](Emulation &emulation, Lock &lock) {
    forbidInCapture("cuCtxSynchronize");
    emulation.forceAll(lock, emulation.current());
  });
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  const ErrorText *known = find(error);
  *name = known ? known->name : nullptr;
  return known ? kSuccess : kInvalidValue;
}
/// The text that a real driver has, and behind it what the emulator found.
CUresult cuGetErrorString(CUresult error, const char **text) {
  static thread_local std::string whole;
  const ErrorText *known = find(error);
  if (!known) {
    *text = nullptr;
    return kInvalidValue;
  }
  whole = known->text;
  Lock lock = Emulation::get().hold();
  if (error && currentDevice && currentDevice->error == error)
    whole += ": " + currentDevice->problem;
  *text = whole.c_str();
  return kSuccess;
}
}
