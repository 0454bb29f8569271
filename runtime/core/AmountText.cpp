//===- AmountText.cpp - Numbers as people read them ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/AmountText.h"

namespace dtcc::rt {

std::string bytesText(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  return formatText(unit == 0 ? "%.0f %s" : "%.2f %s", bytes, units[unit]);
}

std::string secondsText(double seconds) {
  if (seconds >= 1)
    return formatText("%.2f s", seconds);
  return seconds >= 1e-3 ? formatText("%.2f ms", seconds * 1e3) : formatText("%.2f us", seconds * 1e6);
}

} // namespace dtcc::rt
