//===- Safetensors.cpp - The safetensors format --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"

#include "runtime/checkpoint/ParseJson.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

/// Names of element types in files, by dtcc_dtype; unsigned ones after them.
struct TypeName {
  const char *name;
  FileType type;
};
const TypeName typeNames[] = {
    {"F32", FileType::F32},   {"F64", FileType::F64}, {"BF16", FileType::BF16}, {"F16", FileType::F16},
    {"I64", FileType::I64},   {"I32", FileType::I32}, {"I16", FileType::I16},   {"I8", FileType::I8},
    {"BOOL", FileType::Bool}, {"U8", FileType::U8},   {"U16", FileType::U16},   {"U32", FileType::U32},
};

/// Bytes of an element of any type of the format, or 0.
uint64_t elementBytes(const std::string &dtype) {
  if (std::optional<FileType> type = fileTypeNamed(dtype))
    return static_cast<uint64_t>(fileTypeSize(*type));
  if (dtype == "U64")
    return 8;
  return dtype.rfind("F8_", 0) == 0 ? 1 : 0;
}

constexpr uint64_t largestHeader = 100'000'000;
constexpr uint64_t mostTensorElements = uint64_t(1) << 60;

} // namespace

int64_t SafetensorsEntry::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

const char *safetensorsName(FileType type) {
  for (const TypeName &row : typeNames)
    if (row.type == type)
      return row.name;
  return "";
}

std::optional<FileType> fileTypeNamed(const std::string &name) {
  for (const TypeName &row : typeNames)
    if (name == row.name)
      return row.type;
  return std::nullopt;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

SafetensorsFile::SafetensorsFile(MappedFile whole, uint64_t first, uint64_t last) : file(std::move(whole)) {
  part = file.bytes().first(std::min<uint64_t>(last, file.bytes().size())).subspan(first);
  auto bytes = part;
  auto bad = [&](const auto &...parts) { fail(path(), " is not a valid safetensors file: ", parts...); };
  uint64_t length = 0;
  if (bytes.size() < 8)
    bad("it has ", bytes.size(), " bytes, needs at least 8");
  std::memcpy(&length, bytes.data(), 8);
  if (length > largestHeader || length > bytes.size() - 8)
    bad("its header of ", length, " bytes does not fit the file of ", bytes.size());
  headerLength = 8 + length;
  const char *text = reinterpret_cast<const char *>(bytes.data()) + 8;
  if (isNestedTooDeep({text, length}))
    bad("values of its header must lie at most 64 deep");
  auto header = parseJson<nlohmann::json>({text, length});
  if (!header.is_object())
    bad("its header is not a JSON object");
  uint64_t dataBytes = bytes.size() - 8 - length;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto &[name, value] : header.items()) {
    if (!value.is_object())
      bad("the entry '", name, "' is not an object");
    if (name == "__metadata__") {
      for (const auto &[key, string] : value.items())
        if (string.is_string())
          strings[key] = string.get<std::string>();
      continue;
    }
    auto dtype = value.find("dtype"), shape = value.find("shape"), offsets = value.find("data_offsets");
    if (dtype == value.end() || !dtype->is_string() || shape == value.end() || !shape->is_array() ||
        offsets == value.end() || !offsets->is_array() || offsets->size() != 2)
      bad("tensor '", name, "' lacks a dtype, a shape or two data_offsets");
    SafetensorsEntry entry{dtype->get<std::string>(), {}, 0, 0};
    uint64_t elements = 1, width = elementBytes(entry.dtype);
    if (width == 0)
      bad("tensor '", name, "' has the unknown dtype '", entry.dtype, "'");
    for (const auto &size : *shape) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > mostTensorElements ||
          (size.get<uint64_t>() != 0 && elements > mostTensorElements / size.get<uint64_t>()))
        bad("tensor '", name, "' has an impossible shape ", shortText(*shape));
      elements *= size.get<uint64_t>();
      entry.shape.push_back(static_cast<int64_t>(size.get<uint64_t>()));
    }
    for (const auto &offset : *offsets)
      if (!offset.is_number_unsigned())
        bad("tensor '", name, "' has data_offsets that are not numbers");
    uint64_t begin = (*offsets)[0].get<uint64_t>(), end = (*offsets)[1].get<uint64_t>();
    if (begin > end || end > dataBytes)
      bad("tensor '", name, "' lies at bytes ", begin, " to ", end, " of ", dataBytes, " (a truncated file?)");
    if (end - begin != elements * width)
      bad("tensor '", name, "' of ", elements, " elements of ", entry.dtype, " needs ", elements * width,
          " bytes, got: ", end - begin);
    entry.offset = first + 8 + length + begin;
    entry.bytes = end - begin;
    if (end > begin)
      ranges.emplace_back(begin, end);
    table.emplace(name, std::move(entry));
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      bad("two tensors overlap at byte ", ranges[i].first);
}

const SafetensorsEntry *SafetensorsFile::find(const std::string &name) const {
  auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

FileType SafetensorsFile::type(const std::string &name, const SafetensorsEntry &entry) const {
  if (std::optional<FileType> type = fileTypeNamed(entry.dtype))
    return *type;
  fail(path(), ": tensor '", name, "' has the dtype ", entry.dtype, ", which is not read");
}

size_t SafetensorsLayout::add(const std::string &name, uint32_t dtype, std::vector<int64_t> shape) {
  uint64_t bytes = static_cast<uint64_t>(dtcc_dtype_size(dtype));
  for (int64_t size : shape)
    bytes *= static_cast<uint64_t>(size);
  return add(name, safetensorsName(fileTypeOf(dtype)), std::move(shape), bytes);
}

size_t SafetensorsLayout::add(const std::string &name, const std::string &dtype, std::vector<int64_t> shape,
                              uint64_t bytes) {
  rows.push_back({name, dtype, std::move(shape), total, total + bytes});
  total += bytes;
  return rows.size() - 1;
}

void SafetensorsLayout::finish() {
  nlohmann::ordered_json json;
  if (!strings.empty())
    json["__metadata__"] = strings;
  for (const Row &row : rows)
    json[row.name] = {{"dtype", row.dtype}, {"shape", row.shape}, {"data_offsets", {row.begin, row.end}}};
  if (json.is_null())
    json = nlohmann::ordered_json::object();
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  header.assign(reinterpret_cast<const char *>(&length), 8);
  header += text;
}

} // namespace dtcc::rt
