//===- Signals.cpp - Ending cleanly on a signal --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Signals.h"

#include "runtime/core/Error.h"

#include <atomic>
#include <csignal>
#include <cstdint>
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

/// Mapped files. A checkpoint has one a rank; of more files than rows the message is the system's own.
constexpr size_t mostFiles = 1024;
std::atomic<const FileMemory::Row *> files[mostFiles];

void onBusError(int, siginfo_t *info, void *);

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

} // namespace

struct FileMemory::Row {
  uintptr_t begin, end;
  std::string text;
  Status status;
};

FileMemory::FileMemory(const void *start, size_t bytes, const std::string &path, bool written)
    : row(new Row{reinterpret_cast<uintptr_t>(start), reinterpret_cast<uintptr_t>(start) + bytes,
                  written
                      ? "error: cannot write " + path + ": its disk failed or is full\n"
                      : "error: cannot read " + path + ": it became shorter while it was read, or its disk failed\n",
                  written ? Status::Write : Status::BadInput}),
      place(0) {
  const Row *none = nullptr;
  while (place < mostFiles && !files[place].compare_exchange_strong(none, row.get())) {
    ++place;
    none = nullptr;
  }
}

FileMemory::~FileMemory() {
  if (place < mostFiles)
    files[place] = nullptr;
}

namespace {

void onBusError(int, siginfo_t *info, void *) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const auto &each : files)
    if (const FileMemory::Row *row = each; row && row->begin <= address && address < row->end) {
      ssize_t ignored = write(STDERR_FILENO, row->text.data(), row->text.size());
      (void)ignored;
      _exit(static_cast<int>(row->status));
    }
  // The access is not to a file of ours. It is tried again and then meets the default action.
  install(SIGBUS, SIG_DFL, 0);
}

} // namespace

void installSignalHandlers() {
  interrupted = 0;
  // The default action is restored on entry: the second signal kills.
  const int once = static_cast<int>(SA_RESETHAND);
  install(SIGINT, onInterrupt, once);
  install(SIGTERM, onInterrupt, once);
  install(SIGILL, onIllegalInstruction, once);
  // The handlers of these signals stay, because the signals may come again: SIGXCPU comes every second.
  for (int signal : {SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE})
    install(signal, onInterrupt, SA_RESTART);
  struct sigaction before;
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    install(SIGHUP, onInterrupt, SA_RESTART);
  install(SIGXFSZ, SIG_IGN, 0);
  struct sigaction bus;
  std::memset(&bus, 0, sizeof(bus));
  bus.sa_sigaction = onBusError;
  bus.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &bus, nullptr);
}

bool interruptRequested() { return interrupted != 0; }

} // namespace dtcc::rt
