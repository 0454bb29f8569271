//===- Offload.h - What of a step lies with the hosts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices whose hosts have memory of their own may give the optimizer's state to them
// (ZeRO-Offload, Ren 2021; NVMe takes what does not fit, ZeRO-Infinity, Rajbhandari 2021)
// and activations until the backward pass wants them. Searches plan both, programs for
// GPUs do both: their updates read and write that state where it lies, in locked memory of
// the host, and copies take values there and back (dialects/exec/Rationale.md). Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLAN_OFFLOAD_H
#define DTCC_PLANNER_PLAN_OFFLOAD_H

#include <optional>
#include <string>
#include <string_view>

namespace dtcc::plan {

struct Offload {
  bool optimizer = false, activations = false;
  bool any() const { return optimizer || activations; }
  /// "none", "optimizer", "activations" or "all".
  std::string str() const;
  bool operator==(const Offload &) const = default;
};
/// None for other words.
std::optional<Offload> parseOffload(std::string_view text);

/// Note on heterogeneous devices: the device kinds of the stages of the first plan ("h100-sxm, a100-80").
std::string noteOfMixedDevices(const std::string &stages);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PLAN_OFFLOAD_H
