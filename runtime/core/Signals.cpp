//===- Signals.cpp - Ending cleanly on a signal --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Signals.h"

#include "runtime/core/Error.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

namespace dtcc::rt {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void onInterrupt(int) { interrupted = 1; }

void onIllegalInstruction(int) {
  const char text[] = "error: this processor lacks an instruction that the program was compiled for: compile it again "
                      "on this machine, or with --mcpu of this machine\n";
  ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
  (void)ignored;
  _exit(static_cast<int>(Status::Device));
}

void install(int signal, void (*handler)(int)) {
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = handler;
  // The default action is restored on entry: the second signal kills.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

} // namespace

void installSignalHandlers() {
  interrupted = 0;
  install(SIGINT, onInterrupt);
  install(SIGTERM, onInterrupt);
  install(SIGILL, onIllegalInstruction);
}

bool interruptRequested() { return interrupted != 0; }

} // namespace dtcc::rt
