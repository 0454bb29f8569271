//===- Quantity.cpp - Numbers with units
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cluster/ClusterFile.h"
#include "runtime/abi/console/AmountText.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace dtcc::cost {

namespace {
struct Unit {
  llvm::StringRef name, measures;
  double factor;
};
/// The one list of units. Bits are written as data sheets of networks do, Gb/s.
constexpr Unit kUnits[] = {
    {"B", "B", 1},
    {"kB", "B", 1e3},
    {"MB", "B", 1e6},
    {"GB", "B", 1e9},
    {"TB", "B", 1e12},
    {"PB", "B", 1e15},
    {"KiB", "B", 0x1p10},
    {"MiB", "B", 0x1p20},
    {"GiB", "B", 0x1p30},
    {"TiB", "B", 0x1p40},
    {"B/s", "B/s", 1},
    {"kB/s", "B/s", 1e3},
    {"MB/s", "B/s", 1e6},
    {"GB/s", "B/s", 1e9},
    {"TB/s", "B/s", 1e12},
    {"Mb/s", "B/s", 1e6 / 8},
    {"Gb/s", "B/s", 1e9 / 8},
    {"Tb/s", "B/s", 1e12 / 8},
    {"GFLOP/s", "FLOP/s", 1e9},
    {"TFLOP/s", "FLOP/s", 1e12},
    {"PFLOP/s", "FLOP/s", 1e15},
    {"s", "s", 1},
    {"ms", "s", 1e-3},
    {"us", "s", 1e-6},
    {"ns", "s", 1e-9},
    {"$/h", "$/h", 1},
};
} // namespace

llvm::Expected<double> parseQuantity(llvm::StringRef text, llvm::StringRef unit) {
  llvm::StringRef digits = text.take_while([](char c) { return llvm::isDigit(c) || c == '.' || c == 'e' || c == '+'; });
  llvm::StringRef name = text.drop_front(digits.size()).trim();
  double value = 0;
  bool isNumber = !digits.empty() && !digits.getAsDouble(value) && value >= 0 && std::isfinite(value);
  std::string names, example;
  for (const Unit &known : kUnits) {
    if (known.measures != unit)
      continue;
    names += (names.empty() ? "" : ", ") + known.name.str();
    if (isNumber && known.name == name)
      return value * known.factor;
  }
  return llvm::createStringError("a number with a unit of " + names + " must stand here, got: " +
                                 (text.empty() ? llvm::Twine("nothing") : llvm::Twine(text)));
}

llvm::Error leaveFree(llvm::StringRef headroom, Device &device) {
  if (headroom.empty())
    return llvm::Error::success();
  llvm::Expected<double> bytes = parseQuantity(headroom, "B");
  if (!bytes) {
    llvm::consumeError(bytes.takeError()); // the option is named instead of a place in a file
    return llvm::createStringError("--headroom must be memory with its unit, as 5GiB or 512MiB, got: " + headroom);
  }
  device.headroomBytes = *bytes;
  if (device.memoryBytes > 0 && *bytes >= device.memoryBytes)
    return llvm::createStringError("--headroom must be less than the " + formatBytes(device.memoryBytes) + " of a " +
                                   device.name + ", got: " + headroom);
  return llvm::Error::success();
}

llvm::Error leaveFree(llvm::StringRef headroom, Cluster &cluster) {
  for (NodeGroup &node : cluster.nodes)
    for (DeviceGroup &group : node.devices)
      if (llvm::Error error = leaveFree(headroom, group.device))
        return error;
  return llvm::Error::success();
}

} // namespace dtcc::cost
