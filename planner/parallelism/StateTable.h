//===- StateTable.h - What of a state the ranks of a group share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ZeRO is a table on state, not a mechanism: each stage says which of the four things
// that training keeps of a parameter lie flat, as shares, over the axes of `spmd.flat`.
// The axes may be a part of those that split the batch (hybrid sharding): over the
// others the shares are replicated and their gradients summed. Programs, searches and
// the cost model all ask this table.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_STATETABLE_H
#define DTCC_PLANNER_PARALLELISM_STATETABLE_H

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dtcc::plan {

/// The type in which gradients are kept between micro-batches and reduced over ranks. It is a column of the table that
/// the user chooses, because bf16 halves both bytes and rounds. Norms and updates compute in f32 either way. (Megatron:
/// --grad-reduce-in-bf16, DeepSpeed: data_types.grad_accum_dtype, PyTorch's FSDP: MixedPrecisionPolicy.reduce_dtype.)
enum class GradientType { F32, BF16 };

/// The names of options and plans, in the order of the enumeration.
inline constexpr std::array<std::string_view, 2> kGradientTypeNames = {"f32", "bf16"};
inline constexpr std::string_view toString(GradientType type) { return kGradientTypeNames[size_t(type)]; }
/// Nothing for other words.
inline constexpr std::optional<GradientType> parseGradientType(std::string_view text) {
  for (size_t i = 0; i < kGradientTypeNames.size(); ++i)
    if (text == kGradientTypeNames[i])
      return GradientType(i);
  return std::nullopt;
}
inline constexpr double bytesOf(GradientType type) { return type == GradientType::BF16 ? 2 : 4; }

/// One stage. Where readers compute in the type of the master, compute copy and master are
/// one bucket: it lies flat if `compute` says so, and a rank updates its share of it if
/// `master` says so. Where they compute in a narrower type, the master lies flat if
/// `master` says so, and there is a compute copy beside it unless that would lie flat:
/// then what is gathered of the master is narrowed on its way. Masters that lie with the
/// host always have one, which lies flat if `compute` says so.
struct StateRow {
  int64_t stage;
  /// The name of this stage in PyTorch's FSDP, for messages.
  const char *name;
  bool compute, gradient, master, slots;
  /// Whether the bucket of the masters lies flat.
  bool sharesMasters(bool narrow) const { return narrow ? master : compute; }
  /// Whether a copy in the compute type is kept beside them.
  bool keepsCopy(bool narrow) const { return narrow && !compute; }
};

constexpr int64_t kLastStage = 3;

/// The row of a stage from 0 to kLastStage.
const StateRow &stateRow(int64_t stage);

/// Bytes that a rank stores for `bytes` of parameters whose optimizer keeps `slots` values
/// each, counted in that type, under a stage over `ranks` ranks; units in flight not counted.
/// `copy`: bytes of these parameters in a narrower compute type, 0 if they have none; it counts as
/// parameters. (ZeRO paper, section 3, with 4 + 4 + 4 * slots bytes in f32 and 2 of copies.) `gradients`: their type,
/// if `bytes` are of f32.
struct StateBytes {
  double parameters = 0, gradients = 0, slots = 0;
};
StateBytes stateBytes(int64_t stage, double bytes, double slots, int64_t ranks, double copy = 0,
                      GradientType gradients = GradientType::F32);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PARALLELISM_STATETABLE_H
