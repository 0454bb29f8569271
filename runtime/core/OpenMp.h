//===- OpenMp.h - libgomp, opened at start -------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pool of threads is libgomp's, because oneDNN uses it: a second pool would fight
// it for the cores. libgomp reads how long its threads may spin from the environment
// when it is loaded, and its default (some 10 ms) starves the other ranks and
// processes of a busy machine, so the runtime opens it itself, after setting that.
// Programs must therefore not be linked with libgomp.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_OPENMP_H
#define DTCC_RUNTIME_CORE_OPENMP_H

namespace dtcc::rt {

/// libgomp's entry points, as compilers emit calls to them.
struct OpenMp {
  void (*parallel)(void (*function)(void *), void *data, unsigned threads, unsigned flags); /* GOMP_parallel */
  int (*threadNumber)();                                                                    /* omp_get_thread_num */
  int (*teamThreads)();                                                                     /* omp_get_num_threads */
  int (*threadLimit)();                                                                     /* omp_get_thread_limit */
  void (*setThreads)(int count);   /* omp_set_num_threads, of the calling thread */
  void (*setDynamic)(int dynamic); /* omp_set_dynamic, of the calling thread */
};

/// Opens libgomp on the first call; null if it is not installed. Waiting threads
/// spin briefly, or not at all if the first call says `oversubscribed`. Values of
/// OMP_WAIT_POLICY and GOMP_SPINCOUNT that the user gave stand.
const OpenMp *openMp(bool oversubscribed = false);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_OPENMP_H
