//===- StridedCopy.h - Copies between strided views ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy is planned once in the bind phase: neighbouring dimensions are joined, the
// innermost dense run becomes a memcpy, the rest a loop that the team shares out. Where one
// dimension is dense in the source and another in the target, their cells are transposed in tiles.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_STRIDEDCOPY_H
#define DTCC_RUNTIME_IMAGE_STRIDEDCOPY_H

#include "runtime/core/ThreadTeam.h"
#include "runtime/image/Image.h"

namespace dtcc::rt {

class StridedCopy {
public:
  /// Two views of one shape and element type, any strides.
  StridedCopy(const dtcc_view &from, const dtcc_view &to);
  /// Copies all elements; the two may not overlap unless they are the same.
  void run(const void *from, void *to, ThreadTeam &team) const;

private:
  struct Dim {
    int64_t size, from, to; /* strides in bytes */
  };
  /// Moves by the places of the dimensions before the last `inner` ones to where row number `row` of them begins.
  void seek(int64_t row, size_t inner, const std::byte *&from, std::byte *&to) const;
  void runTiles(const std::byte *from, std::byte *to, ThreadTeam &team) const;

  std::vector<Dim> dims; /* outermost first, without the run; of a transposition last the dimension that is dense in the
                            source and the one that is dense in the target */
  bool transposes = false;
  int64_t runs = 1;
  int64_t runBytes;
};

/// Sets every element of a view to the low bytes of `bits`.
void fillView(const dtcc_view &view, void *address, int64_t bits, ThreadTeam &team);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_STRIDEDCOPY_H
