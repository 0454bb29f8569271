//===- Npy.cpp - NumPy's .npy files --------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Npy.h"

#include "runtime/core/Error.h"

#include <cstring>
#include <string_view>

namespace dtcc::rt {
namespace {

struct TypeCode {
  std::string_view code;
  FileType type;
};
const TypeCode typeCodes[] = {
    {"<f4", FileType::F32}, {"<f8", FileType::F64}, {"<f2", FileType::F16}, {"<i8", FileType::I64},
    {"<i4", FileType::I32}, {"<i2", FileType::I16}, {"|i1", FileType::I8},  {"|b1", FileType::Bool},
    {"|u1", FileType::U8},  {"<u2", FileType::U16}, {"<u4", FileType::U32},
};

/// The text after `'key':` in the header's dictionary, spaces skipped; empty if
/// the key is missing.
std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find(key);
  if (at == std::string_view::npos)
    return {};
  at = header.find_first_not_of(" \t", at + key.size());
  return at == std::string_view::npos ? std::string_view() : header.substr(at);
}

} // namespace

NpyFile::NpyFile(const std::string &path) : file(path) {
  auto bytes = file.bytes();
  auto bad = [&](const auto &...parts) { fail(path, " is not a valid .npy file: ", parts...); };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    bad("it does not begin with NumPy's magic");
  int version = static_cast<int>(bytes[6]);
  if (version < 1 || version > 3)
    bad("format version must be 1, 2 or 3, got: ", version);
  size_t begin = version == 1 ? 10 : 12, length = 0;
  std::memcpy(&length, bytes.data() + 8, version == 1 ? 2 : 4);
  if (length > bytes.size() - begin)
    bad("its header of ", length, " bytes does not fit the file of ", bytes.size());
  std::string_view header(reinterpret_cast<const char *>(bytes.data()) + begin, length);

  std::string_view descr = valueOf(header, "'descr':"), order = valueOf(header, "'fortran_order':"),
                   shape = valueOf(header, "'shape':");
  if (descr.empty() || order.empty() || shape.empty() || shape[0] != '(')
    bad("its header lacks 'descr', 'fortran_order' or 'shape'");
  if (order.rfind("False", 0) != 0)
    bad("the array is in Fortran order; save numpy.ascontiguousarray(array)");
  std::string_view code = descr.size() > 2 ? descr.substr(1, descr.find(descr[0], 1) - 1) : descr;
  const TypeCode *found = nullptr;
  for (const TypeCode &row : typeCodes)
    if (code == row.code)
      found = &row;
  if (!found)
    bad("the element type '", code.substr(0, 20),
        "' is not read (little-endian f2, f4, f8, i1 to i8, u1 to u4, b1 are)");
  elementType = found->type;

  constexpr int64_t most = int64_t(1) << 50; // elements
  int64_t count = 1;
  size_t at = 1;
  for (;;) {
    at = shape.find_first_not_of(" ,L", at);
    if (at == std::string_view::npos)
      bad("its shape does not end");
    if (shape[at] == ')')
      break;
    int64_t size = 0;
    size_t digits = at;
    while (at < shape.size() && shape[at] >= '0' && shape[at] <= '9' && size < most)
      size = size * 10 + (shape[at++] - '0');
    bool ends = at < shape.size() && (shape[at] < '0' || shape[at] > '9');
    if (at == digits || !ends || sizes.size() >= 32 || size > most || (size != 0 && count > most / size))
      bad("its shape is impossible: ", shape.substr(0, 60));
    sizes.push_back(size);
    count *= size;
  }
  start = bytes.data() + begin + length;
  size_t available = bytes.size() - begin - length, needed = static_cast<size_t>(count * fileTypeSize(elementType));
  if (available < needed)
    bad("it holds ", available, " bytes of data, and its shape needs ", needed, " (a truncated file?)");
}

int64_t NpyFile::elements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

} // namespace dtcc::rt
