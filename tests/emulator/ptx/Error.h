//===- Error.h - What is wrong with PTX, or with what it does --- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one exception of the emulator. A real driver has a code for each kind of fault
// and says no more; the message is for whoever wrote the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_ERROR_H
#define DTCC_TESTS_EMULATOR_PTX_ERROR_H

#include <stdexcept>
#include <string>

namespace dtcc::emulator {

enum class Fault {
  Text,       ///< no PTX, or PTX that the emulator does not know
  Address,    ///< an access outside of what is allocated
  Misaligned, ///< an access at an address that its size does not divide
  Launch,     ///< everything else that stops a kernel: threads that never meet, a trap
};

struct PtxError : std::runtime_error {
  PtxError(Fault fault, const std::string &message) : std::runtime_error(message), fault(fault) {}
  Fault fault;
};

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_ERROR_H
