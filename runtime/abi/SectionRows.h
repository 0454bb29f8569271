//===- SectionRows.h - Where the tables of an image lie ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The check that comes before any table of an image is read, for programs at start and for tools that show them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_SECTIONROWS_H
#define DTCC_RUNTIME_ABI_SECTIONROWS_H

#include "runtime/abi/dtcc_rt.h"

#include <optional>

namespace dtcc {

/// A table of an image: its name, its place and the bytes of a row.
struct SectionRow {
  const char *name;
  dtcc_section where;
  uint64_t width;
};

/// The first table that is not aligned to 8 bytes or does not lie inside `header.image_bytes`, if one is so.
inline std::optional<SectionRow> misplacedSection(const dtcc_image_header &header) {
  const SectionRow rows[] = {
#define DTCC_SECTION(name, type) {#name, header.name, sizeof(type)},
#include "runtime/abi/Sections.def"
  };
  for (const SectionRow &row : rows)
    if (row.where.offset % 8 != 0 || row.where.offset > header.image_bytes ||
        row.where.count > (header.image_bytes - row.where.offset) / row.width)
      return row;
  return std::nullopt;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_SECTIONROWS_H
