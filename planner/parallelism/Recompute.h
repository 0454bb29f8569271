//===- Recompute.h - Modes of recomputation
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_RECOMPUTE_H
#define DTCC_PLANNER_PARALLELISM_RECOMPUTE_H

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace dtcc::plan {

/// The activations that the backward pass recomputes (passes/graph/Recompute.h). Partial recomputes some 0.4 of a
/// forward pass, as JAX's policies do; only measured runs of such software have it.
enum class Recompute { None, Selective, Full, Partial };

/// The modes that a plan can have, in the order of the enumeration.
inline constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};

/// The name of a mode that a plan can have.
inline constexpr std::string_view toString(Recompute recompute) { return kRecomputeNames[size_t(recompute)]; }

/// Nothing for other words.
inline constexpr std::optional<Recompute> parseRecompute(std::string_view text) {
  for (size_t i = 0; i < kRecomputeNames.size(); ++i)
    if (text == kRecomputeNames[i])
      return Recompute(i);
  return std::nullopt;
}

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PARALLELISM_RECOMPUTE_H
