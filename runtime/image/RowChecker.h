//===- RowChecker.h - Checks of one row of a table of an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The message of a check, and the rules about indices, axes and sizes that the checks of all tables share.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_ROWCHECKER_H
#define DTCC_RUNTIME_IMAGE_ROWCHECKER_H

#include "runtime/core/Error.h"
#include "runtime/image/Image.h"

namespace dtcc::rt {

/// Integers of sums that 64 bits may not hold.
using Wide = __int128;

/// The largest size, stride and product of sizes that an image may have: 64 bits hold it times any element's width, and
/// Wide holds sums of products of two.
inline constexpr int64_t mostElements = int64_t(1) << 56;

/// Checks one row of one table; `where()` names it in messages.
class RowChecker {
public:
  RowChecker(const Image &image, const char *table, size_t row) : image(image), table(table), row(row) {}

  template <typename Value> void require(bool holds, const char *what, const Value &got) const {
    if (!holds)
      fail("damaged program: ", table, " ", row, ": ", what, ", got: ", got);
  }
  void string(uint32_t offset, const char *what) const {
    if (offset != DTCC_NONE)
      require(offset < image.header().strings.count, what, offset);
  }
  void index(uint64_t value, uint64_t count, const char *what, bool optional = false) const {
    if (!optional || value != DTCC_NONE)
      require(value < count, what, value);
  }
  void range(uint64_t first, uint64_t length, uint64_t count, const char *what) const {
    require(length <= count && first <= count - length, what, first);
  }
  void axes(const dtcc_axes &set, bool timeAllowed) const {
    require(set.count <= DTCC_MAX_AXES, "number of axes of a set must be at most 7", int(set.count));
    for (int i = 0; i < set.count; ++i) {
      index(set.ids[i], image.axes().size(), "an axis must be one of the mesh");
      require(timeAllowed || image.axes()[set.ids[i]].kind == DTCC_AXIS_RANK, "a group may have rank axes only",
              int(set.ids[i]));
      for (int j = 0; j < i; ++j)
        require(set.ids[j] != set.ids[i], "an axis must stand once in a set", int(set.ids[i]));
    }
  }
  /// The product of `size` and the product of the sizes before it, which must be at most mostElements. So must `size`
  /// beside a size of 0.
  int64_t product(int64_t before, int64_t size, const char *what) const {
    require(size >= 0 && size <= mostElements && (size == 0 || before <= mostElements / size), what, size);
    return before * size;
  }
  /// Checks the whole and the padded sizes of a state or an input.
  void dims(const dtcc_dim *dims, uint32_t rank, bool timeAllowed) const {
    require(rank <= DTCC_MAX_RANK, "rank must be at most 16", rank);
    int64_t elements = 1;
    for (uint32_t i = 0; i < rank; ++i) {
      axes(dims[i].axes, timeAllowed);
      elements = product(elements, dims[i].padded, "padded sizes must multiply to at most 2^56");
      require(dims[i].size >= 0 && dims[i].padded >= dims[i].size, "padded size must be at least the size",
              dims[i].padded);
      require(dims[i].padded % image.mesh().extent(dims[i].axes) == 0, "padded size must be a multiple of its shards",
              dims[i].padded);
    }
  }
  /// Checks that the view of a state or an input has the sizes of a rank's shard. `dims` have been checked.
  void localSizes(const dtcc_dim *dims, uint32_t rank, uint32_t view) const {
    const dtcc_view &v = image.views()[view];
    require(v.rank == rank, "the view must have the rank of the whole", int(v.rank));
    for (uint32_t i = 0; i < rank; ++i)
      require(v.sizes[i] == dims[i].padded / image.mesh().extent(dims[i].axes),
              "the view must have the size of the block", v.sizes[i]);
  }

private:
  const Image &image;
  const char *table;
  size_t row;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_ROWCHECKER_H
