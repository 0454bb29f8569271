//===- Host.cpp - Whether two processes stand on one host ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/Host.h"

#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace dtcc::rt {

HostName HostName::ofThis() {
  HostName mine{};
  gethostname(mine.name, sizeof(mine.name) - 1);
  std::ifstream("/proc/sys/kernel/random/boot_id").read(mine.boot, sizeof(mine.boot) - 1);
  struct stat status{};
  if (stat("/proc/self/ns/net", &status) == 0)
    mine.network = status.st_ino;
  mine.user = geteuid();
  return mine;
}

bool HostName::operator==(const HostName &other) const {
  return std::memcmp(boot, other.boot, sizeof(boot)) == 0 && network == other.network && user == other.user;
}

} // namespace dtcc::rt
