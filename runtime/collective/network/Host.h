//===- Host.h - Whether two processes stand on one host ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processes share memory if they see one kernel and one network namespace, in which they find
// each other, and belong to one user. Containers on one machine are hosts of their own.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_HOST_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_HOST_H

#include <cstdint>

namespace dtcc::rt {

struct HostName {
  char name[64];    /* for people */
  char boot[40];    /* of the running kernel */
  uint64_t network; /* its namespace */
  uint64_t user;

  static HostName ofThis();
  bool operator==(const HostName &other) const;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_HOST_H
