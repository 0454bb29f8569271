//===- DeepStack.h - Room for the calls that a long graph takes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some passes follow a value to the ops that make it, one call an op. A graph of 100,000 ops in a row then takes more
// than the 8 MB of stack that a program starts with. The compiler's tools do their work here, on a thread with
// kStackBytes; the system gives it memory only as deep as calls go. Values in text and in files are another matter:
// their readers limit how deep these nest.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_MODEL_DEEPSTACK_H
#define DTCC_TOOLS_MODEL_DEEPSTACK_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtcc {

/// Enough for a million ops in a row: the deepest such function takes 400 bytes a call.
inline constexpr unsigned kStackBytes = 1u << 30;

/// Returns what `work` returns, once it is done. Where the system limits a process's memory, `work` runs on the stack
/// of the caller.
int onDeepStack(llvm::function_ref<int()> work);

} // namespace dtcc

#endif // DTCC_TOOLS_MODEL_DEEPSTACK_H
