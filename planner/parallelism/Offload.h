//===- Offload.h - The offloaded parts of a step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices with separate host memory may offload optimizer state (ZeRO-Offload, Ren 2021; with NVMe
// for the rest, ZeRO-Infinity, Rajbhandari 2021), and saved activations until the backward pass.
// Searches plan both, and programs for GPUs support both: updates read and write the state in
// locked host memory, and copies move activations there and back (dialects/exec/Rationale.md).
// Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_OFFLOAD_H
#define DTCC_PLANNER_PARALLELISM_OFFLOAD_H

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace dtcc::plan {

struct Offload {
  bool optimizer = false, activations = false;
  bool any() const { return optimizer || activations; }
  /// "none", "optimizer", "activations" or "all".
  std::string str() const;
  auto operator<=>(const Offload &) const = default;
};
/// Reads the text of Offload::str(). Returns nothing for other words.
std::optional<Offload> parseOffload(std::string_view text);

/// Note on heterogeneous devices: the device kinds of the stages of the first plan ("h100-sxm, a100-80").
std::string noteOfMixedDevices(const std::string &stages);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PARALLELISM_OFFLOAD_H
