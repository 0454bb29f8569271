//===- InParallel.h - Calls a function for many indices on all cores
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches price thousands of shapes that have nothing to do with each other. Each call
// leaves its result in a place of its own, so that what is found does not depend on the
// number of threads, nor on which of them was faster.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_INPARALLEL_H
#define DTCC_PLANNER_PROBLEM_INPARALLEL_H

#include <cstddef>
#include <functional>

namespace dtcc::plan {

/// Threads that run at once: the cores that this process may use, at most 16; the memory of a search grows with them.
size_t threads();

/// Sets the number of threads for the rest of the process; 0 stands for the number of cores.
void useThreads(size_t count);

/// Calls `each` with 0 .. count-1, in any order and on all cores at once, the calling thread among them.
void inParallel(size_t count, const std::function<void(size_t)> &each);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_INPARALLEL_H
