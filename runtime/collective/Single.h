//===- Single.h - A group of one ------------------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communicator of a group with one member; every transport uses it for those.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_SINGLE_H
#define DTCC_RUNTIME_COLLECTIVE_SINGLE_H

#include "runtime/collective/Communicator.h"

namespace dtcc::rt {

std::unique_ptr<Communicator> createSingleCommunicator();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_SINGLE_H
