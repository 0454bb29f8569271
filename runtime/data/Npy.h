//===- Npy.h - NumPy's .npy files ----------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `.npy` file is a magic, a version, the length of a Python dictionary literal, the
// dictionary ('descr', 'fortran_order', 'shape') and the elements. Format:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. Only C
// order and little-endian plain types are read.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_NPY_H
#define DTCC_RUNTIME_DATA_NPY_H

#include "runtime/core/Elements.h"
#include "runtime/core/MappedFile.h"

#include <vector>

namespace dtcc::rt {

class NpyFile {
public:
  /// Throws Error that names the file and what is wrong with it.
  explicit NpyFile(const std::string &path);

  const std::string &path() const { return file.path(); }
  std::span<const std::byte> bytes() const { return file.bytes(); }
  const MappedFile &mapped() const { return file; }
  FileType type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return sizes; }
  int64_t elements() const;
  /// The first element; not necessarily aligned.
  const std::byte *data() const { return start; }

private:
  MappedFile file;
  FileType elementType = FileType::F32;
  std::vector<int64_t> sizes;
  const std::byte *start = nullptr;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_NPY_H
