//===- MeshSizes.h - The sizes of mesh axes, as a user gives them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of --mesh, "dp=2x4,tp=2", and the first part of a Parallelism's text. This type is apart from Parallelism
// because a user may leave axes out, and a search then decides them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_MESHSIZES_H
#define DTCC_PLANNER_PARALLELISM_MESHSIZES_H

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtcc::plan {

struct MeshSizes {
  /// Numbers of ranks, at least 1; absent: searched. Here the ranks of ep are beside those of dp, so that the sizes
  /// multiply to the ranks of the mesh; folded experts are no axis.
  std::optional<int64_t> dp, tp, cp, ep, pp;
  /// Number of groups of data-parallel ranks that share state, a divisor of dp: dp=2x4 is two groups of four.
  int64_t groups = 1;
  /// Whether `ep` was written folded-ep: experts are spread over the ranks of dp, cp and tp.
  bool foldsExperts = false;

  /// The size of the axis of this name, "dp" or "folded-ep"; null for other names.
  std::optional<int64_t> *find(std::string_view name);
  /// Ranks that are named.
  int64_t product() const;
  /// Whether dp and tp are given. All other axes that are not named then have one rank.
  bool isWhole() const { return dp && tp; }
  /// "dp=2x4,tp=2": the text that parseMeshSizes reads.
  std::string str() const;
  auto operator<=>(const MeshSizes &) const = default;
};

/// An axis of a mesh: its name in --mesh and in plans, and its size.
struct MeshSizeRow {
  std::string_view name;
  std::optional<int64_t> MeshSizes::*size;
};
inline constexpr MeshSizeRow kMeshSizes[] = {{"dp", &MeshSizes::dp},
                                             {"tp", &MeshSizes::tp},
                                             {"cp", &MeshSizes::cp},
                                             {"ep", &MeshSizes::ep},
                                             {"pp", &MeshSizes::pp}};
/// Their names: "dp, tp, cp, ep, pp".
std::string meshAxisNames();
/// Whether searches know the axis `name` of a plan: one of kMeshSizes, or of the two of groups, dp.0 and dp.1.
bool isSearchedAxis(std::string_view name);

/// Reads axes that are separated by commas or spaces. Sizes and groups are at most `most`. Nothing, and `error` says
/// why, for other text.
std::optional<MeshSizes> parseMeshSizes(std::string_view text, std::string &error, int64_t most = int64_t(1) << 20);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PARALLELISM_MESHSIZES_H
