//===- CommandCollective.h - Commands that communicate -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Issues a row of the command table to a communicator, for every device.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DEVICE_COMMANDCOLLECTIVE_H
#define DTCC_RUNTIME_DEVICE_COMMANDCOLLECTIVE_H

#include "runtime/image/Image.h"

namespace dtcc::rt {

class Communicator;

/// Before the first step: room for the messages of a collective or a send.
void reserveMessages(const Image &image, const dtcc_command &command, Communicator &group);
/// Bytes of what a send or a receive moves.
int64_t messageBytes(const Image &image, const dtcc_command &command);
/// Runs a collective, a send or a receive. `buffers`: where `group` finds the operands.
void runCommunication(const Image &image, const dtcc_command &command, Communicator &group, void *const *buffers);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DEVICE_COMMANDCOLLECTIVE_H
