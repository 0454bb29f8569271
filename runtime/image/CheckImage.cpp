//===- CheckImage.cpp - The checks of an image when it is opened -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Image's constructor. It stands apart from Image.cpp because the checks read an image
// through its own functions.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/image/ImageChecker.h"

#include <set>

namespace dtcc::rt {

Image::Image(const void *bytes, uint64_t kernelCount)
    : base(static_cast<const std::byte *>(bytes)), head(static_cast<const dtcc_image_header *>(bytes)) {
  checkHeader(*head);
  int64_t cells = 1;
  for (const dtcc_axis &axis : axes()) {
    if (axis.size < 1 || cells > (int64_t(1) << 31) / axis.size)
      fail("damaged program: mesh axis size must be at least 1 and the product below 2^31, got: ", axis.size);
    cells *= axis.size;
    grid.axes.push_back({axis.size, axis.kind == DTCC_AXIS_TIME});
  }
  checkTables(*this, kernelCount);
  std::set<std::string_view> names;
  for (const dtcc_state &state : states())
    copies.push_back(!names.insert(string(state.name)).second);
}

} // namespace dtcc::rt
