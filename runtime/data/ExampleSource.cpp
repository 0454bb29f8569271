//===- ExampleSource.cpp - Where the examples of one input come from -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ExampleSource.h"

#include "runtime/core/ContentHash.h"
#include "runtime/core/Error.h"
#include "runtime/data/Npy.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

namespace dtcc::rt {
namespace {

std::string sizesText(const std::vector<int64_t> &sizes) {
  std::string text = "[examples";
  for (int64_t size : sizes)
    text += ", " + std::to_string(size);
  return text + "]";
}

class NpySource final : public ExampleSource {
public:
  NpySource(const std::string &path, const std::string &input, const std::vector<int64_t> &shape) : array(path) {
    std::vector<int64_t> rest;
    if (!array.shape().empty())
      rest.assign(array.shape().begin() + 1, array.shape().end());
    // A model may have factored a dimension: what counts is the example's size; but
    // an array of the same rank must agree in every dimension.
    int64_t need = 1, have = array.shape().empty() ? -1 : 1;
    for (int64_t size : shape)
      need *= size;
    for (int64_t size : rest)
      have *= size;
    if (have != need || (rest.size() == shape.size() && rest != shape))
      fail(path, ": the input '", input, "' must have the shape ", sizesText(shape),
           ", got: ", array.shape().empty() ? std::string("a scalar") : sizesText(rest));
    elements = need;
  }
  int64_t examples() const override { return array.shape()[0]; }
  const std::string &path() const override { return array.path(); }
  FileType type() const override { return array.type(); }
  std::span<const std::byte> file() const override { return array.bytes(); }
  const std::byte *at(int64_t example, int64_t offset) const override {
    return array.data() + (example * elements + offset) * fileTypeSize(array.type());
  }

private:
  NpyFile array;
  int64_t elements = 1;
};

} // namespace

std::unique_ptr<ExampleSource> openNpySource(const std::string &path, const std::string &input,
                                             const std::vector<int64_t> &shape) {
  return std::make_unique<NpySource>(path, input, shape);
}

std::string DataIdentity::text() const { return message(name, " of ", bytes, " bytes (hash ", hash, ")"); }

DataIdentity identityOf(const std::string &input, const ExampleSource &source) {
  constexpr size_t most = 1 << 20;
  std::span<const std::byte> bytes = source.file();
  size_t length = std::min(bytes.size(), most);
  uint64_t parts[] = {contentHash(bytes.first(length)), contentHash(bytes.last(length))};
  return {input, std::filesystem::path(source.path()).filename().string(), bytes.size(),
          hashText(contentHash(std::as_bytes(std::span(parts))))};
}

struct TokenStream::Contents {
  std::optional<NpyFile> npy;
  std::optional<MappedFile> raw;
  std::string path;
  FileType type = FileType::U16;
  const std::byte *data = nullptr;
  int64_t count = 0;
};

namespace {

class TokenRows final : public ExampleSource {
public:
  TokenRows(std::shared_ptr<const void> keep, std::span<const std::byte> all, const std::string &path, FileType type,
            const std::byte *data, int64_t rows, int64_t length)
      : keep(std::move(keep)), all(all), name(path), element(type), data(data), rows(rows), length(length) {}
  std::span<const std::byte> file() const override { return all; }
  int64_t examples() const override { return rows; }
  const std::string &path() const override { return name; }
  FileType type() const override { return element; }
  const std::byte *at(int64_t example, int64_t offset) const override {
    return data + (example * length + offset) * fileTypeSize(element);
  }

private:
  std::shared_ptr<const void> keep; /* the mapping */
  std::span<const std::byte> all;
  std::string name;
  FileType element;
  const std::byte *data;
  int64_t rows, length;
};

/// llm.c's header: 256 int32, of which magic, version and the number of tokens.
struct LlmcFormat {
  int32_t magic, version;
  FileType type;
};
const LlmcFormat llmcFormats[] = {{20240520, 1, FileType::U16}, {20240801, 7, FileType::U32}};
constexpr size_t llmcHeaderBytes = 1024;

} // namespace

TokenStream::TokenStream(const std::string &spec) : contents(std::make_shared<Contents>()) {
  Contents &c = *contents;
  c.path = spec;
  std::string suffix = spec.size() > 4 ? spec.substr(spec.size() - 4) : "";
  if (suffix == ":u16" || suffix == ":u32") {
    c.path.resize(spec.size() - 4);
    c.type = suffix == ":u16" ? FileType::U16 : FileType::U32;
    c.raw.emplace(c.path);
    auto width = static_cast<size_t>(fileTypeSize(c.type));
    if (c.raw->bytes().size() % width != 0)
      fail(c.path, ": the size must be a multiple of ", width, " bytes, got: ", c.raw->bytes().size());
    c.data = c.raw->bytes().data();
    c.count = static_cast<int64_t>(c.raw->bytes().size() / width);
  } else if (suffix == ".npy") {
    c.npy.emplace(c.path);
    if (c.npy->shape().size() != 1)
      fail(c.path, ": a stream of tokens must have one dimension, got: ", c.npy->shape().size());
    if (c.npy->type() == FileType::F32 || c.npy->type() == FileType::F64 || c.npy->type() == FileType::F16)
      fail(c.path, ": tokens must be integers, got: ", fileTypeName(c.npy->type()));
    c.type = c.npy->type();
    c.data = c.npy->data();
    c.count = c.npy->elements();
  } else {
    c.raw.emplace(c.path);
    auto bytes = c.raw->bytes();
    int32_t header[3] = {0, 0, 0};
    if (bytes.size() >= llmcHeaderBytes)
      std::memcpy(header, bytes.data(), sizeof(header));
    const LlmcFormat *found = nullptr;
    for (const LlmcFormat &format : llmcFormats)
      if (header[0] == format.magic && header[1] == format.version)
        found = &format;
    if (!found)
      fail(c.path, ": not a token file of a known format (.npy, or llm.c's .bin); for raw ids append :u16 or :u32");
    c.type = found->type;
    c.count = header[2];
    auto needed =
        llmcHeaderBytes + static_cast<size_t>(std::max(header[2], 0)) * static_cast<size_t>(fileTypeSize(c.type));
    if (header[2] < 0 || bytes.size() != needed)
      fail(c.path, ": its header counts ", header[2], " tokens, for which the file must have ", needed,
           " bytes, got: ", bytes.size());
    c.data = bytes.data() + llmcHeaderBytes;
  }
}

TokenStream::~TokenStream() = default;

std::unique_ptr<ExampleSource> TokenStream::rows(int64_t length, int64_t shift, int64_t largestShift) const {
  const Contents &c = *contents;
  int64_t rows = length > 0 ? std::max<int64_t>(0, c.count - largestShift) / length : 0;
  // Without rows there may be no bytes to count from.
  const std::byte *first = rows > 0 ? c.data + shift * fileTypeSize(c.type) : nullptr;
  return std::make_unique<TokenRows>(contents, c.npy ? c.npy->bytes() : c.raw->bytes(), c.path, c.type, first, rows,
                                     length);
}

} // namespace dtcc::rt
