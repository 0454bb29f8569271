//===- Api.h - What the functions of the emulated driver share -- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_CUDA_API_H
#define DTCC_TESTS_EMULATOR_CUDA_API_H

#include "tests/emulator/cuda/Streams.h"
#include "tests/emulator/ptx/Error.h"
#include <cstdio>

namespace dtcc::emulator {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = Device *;
using CUstream = Stream *;
using CUevent = Event *;

/// Runs the body of a call with the lock held. Its result, or that of the error it ends with.
template <class Body> CUresult call(Body body) {
  Emulation &emulation = Emulation::get();
  Lock lock = emulation.hold();
  try {
    body(emulation, lock);
    return kSuccess;
  } catch (const CallError &error) {
    if (!error.what.empty())
      std::fprintf(stderr, "emulated GPU: %s\n", error.what.c_str());
    return error.code;
  }
}

/// call, which also gives the error of work that this call waited for.
template <class Body> CUresult waitingCall(Body body) {
  return call([&](Emulation &emulation, Lock &lock) {
    body(emulation, lock);
    emulation.current();
  });
}

inline void require(bool holds, int code, const char *what) {
  if (!holds)
    throw CallError{code, what};
}

/// Host memory that is pinned: start -> bytes. Under the lock.
std::map<uint64_t, uint64_t> &pinnedMemory();
bool isPinned(const void *start, uint64_t bytes);

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_CUDA_API_H
