//===- Signals.h - Ending cleanly on a signal ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SIGINT and SIGTERM set a flag that the ranks read after each step; a second one of
// them kills as usual. The flag is the runtime's only global: a handler can reach
// nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_SIGNALS_H
#define DTCC_RUNTIME_CORE_SIGNALS_H

namespace dtcc::rt {

/// Installs the handlers; also one that explains an illegal instruction.
void installSignalHandlers();

/// True after the first SIGINT or SIGTERM.
bool interruptRequested();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_SIGNALS_H
