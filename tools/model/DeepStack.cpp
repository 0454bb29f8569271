//===- DeepStack.cpp - Room for the calls that a long graph takes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/model/DeepStack.h"
#include "llvm/Support/thread.h"
#include <optional>
#include <sys/resource.h>

namespace dtcc {

int onDeepStack(llvm::function_ref<int()> work) {
  rlimit memory{};
  if (getrlimit(RLIMIT_AS, &memory) != 0 || memory.rlim_cur != RLIM_INFINITY)
    return work();
  int status = 0;
  llvm::thread thread(std::optional<unsigned>(kStackBytes), [&] { status = work(); });
  thread.join();
  return status;
}

} // namespace dtcc
