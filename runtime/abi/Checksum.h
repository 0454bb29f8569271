//===- Checksum.h - Whether an image is as it was written ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program runs what its tables say: how often a kernel loops and what its commands read are known to the compiler
// alone. So a flipped bit is found before the tables are read. FNV-1a maps files that differ in one byte to different
// sums; it is no protection against people. The header has its own sum, since the length of the rest is in it.
// Costs a nanosecond a byte, once a start.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CHECKSUM_H
#define DTCC_RUNTIME_ABI_CHECKSUM_H

#include "runtime/abi/dtcc_rt.h"

static inline uint64_t dtcc_checksum(const void *bytes, uint64_t count) {
  const unsigned char *byte = (const unsigned char *)bytes;
  uint64_t sum = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < count; ++i)
    sum = (sum ^ byte[i]) * 0x100000001b3u;
  return sum;
}

/// The sum of a header, whose last field that is.
static inline uint64_t dtcc_header_checksum(const dtcc_image_header *header) {
  return dtcc_checksum(header, sizeof(*header) - sizeof(header->header_checksum));
}

/// The sum of what follows the header, of `image_bytes` in all.
static inline uint64_t dtcc_tables_checksum(const dtcc_image_header *header) {
  return dtcc_checksum(header + 1, header->image_bytes - sizeof(*header));
}

/// Makes the sums right: the last step of writing an image. `image_bytes` is at least the header's size.
static inline void dtcc_seal(dtcc_image_header *header) {
  header->tables_checksum = dtcc_tables_checksum(header);
  header->header_checksum = dtcc_header_checksum(header);
}

#endif // DTCC_RUNTIME_ABI_CHECKSUM_H
