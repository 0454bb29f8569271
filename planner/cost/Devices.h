//===- Devices.h - Kinds of devices and what joins them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The presets of Devices.def and Links.def as values, in plain units: FLOP and bytes a
// second, bytes, seconds. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_DEVICES_H
#define DTCC_PLANNER_COST_DEVICES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc::cost {

/// Generation of a device. The share of the peak that its products reach is a constant per generation (Constants.def).
enum class Architecture { Volta, Ampere, Hopper, Blackwell, GraceBlackwell, BlackwellUltra, Ada, CDNA, Cpu };

/// The width of the operands of products.
enum class Width { F32, B16, F8, F4 };
constexpr int kWidths = 4;

struct Link {
  std::string name;
  /// A direction, of one device or one port.
  double bytesPerSecond = 0;
  double latencySeconds = 0;
  /// Devices of a node to which a device has wires of its own; 0: a switch joins all.
  int peers = 0;
  bool operator==(const Link &) const = default;
};

struct Device {
  std::string name;
  Architecture architecture = Architecture::Cpu;
  /// Dense peaks by Width; multiply-adds count as two.
  double flopsPerSecond[kWidths] = {};
  double memoryBytes = 0;
  double memoryBytesPerSecond = 0;
  /// Multiprocessors, or cores.
  int64_t units = 1;
  /// Joins the `domain` devices of a node or rack.
  Link link;
  int64_t domain = 1;
  /// Link to host memory.
  Link hostLink;
  /// One port a device.
  Link network;
  /// Dollars; 0: not known.
  double pricePerHour = 0;
  /// Memory that plans leave free, for fragmentation and other processes (--headroom).
  double headroomBytes = 0;

  double peak(Width width) const { return flopsPerSecond[static_cast<int>(width)]; }
};

/// A device's share of the host of its node. All devices of a node have equal shares.
struct HostSide {
  /// 0: not known, nothing is moved there.
  double memoryBytes = 0, nvmeBytes = 0, nvmeBytesPerSecond = 0;
};

/// The preset of that name or other name, in any case; null if there is none.
const Device *findDevice(std::string_view name);
const Link *findLink(std::string_view name);

/// Names of the presets in the order of the table, with or without their other names.
std::vector<std::string> deviceNames(bool others = false);
std::vector<std::string> linkNames();

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_DEVICES_H
