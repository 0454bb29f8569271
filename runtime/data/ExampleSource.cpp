//===- ExampleSource.cpp - Source of the samples of an input ----- -*- C++ -*-===//
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
#include <bit>
#include <filesystem>

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
  const MappedFile *fileOf(int64_t) const override { return &array.mapped(); }
  const std::string &pathOf(int64_t) const override { return array.path(); }
  std::vector<FileType> types() const override { return {array.type()}; }
  std::vector<File> files() const override { return {{array.path(), array.bytes()}}; }
  StoredCells at(int64_t example, int64_t offset) const override {
    return {array.type(), array.data() + (example * elements + offset) * fileTypeSize(array.type())};
  }
  std::string placeOf(int64_t example, int64_t offset) const override {
    return message("example ", example, ", element ", offset);
  }

private:
  NpyFile array;
  int64_t elements = 1;
};

/// Names without their folder: "corpus.bin", or "a.bin .. c.bin (3 files)".
std::string nameOf(const std::vector<ExampleSource::File> &files) {
  auto name = [](const ExampleSource::File &file) { return std::filesystem::path(file.path).filename().string(); };
  return files.size() == 1 ? name(files[0])
                           : message(name(files.front()), " .. ", name(files.back()), " (", files.size(), " files)");
}

} // namespace

std::unique_ptr<ExampleSource> openNpySource(const std::string &path, const std::string &input,
                                             const std::vector<int64_t> &shape) {
  return std::make_unique<NpySource>(path, input, shape);
}

std::string DataIdentity::text() const { return message(name, " of ", bytes, " bytes (hash ", hash, ")"); }

DataIdentity identityOf(const std::string &input, const ExampleSource &source) {
  std::vector<ExampleSource::File> files = source.files();
  // Of many files less is read of each, so that a start takes no minutes.
  constexpr size_t mostOfFile = 1 << 20, mostOfAll = 64 << 20, least = 1 << 12;
  const size_t most = std::clamp(mostOfAll / (2 * files.size()), least, mostOfFile);
  DataIdentity identity{input, nameOf(files), 0, {}};
  std::vector<uint64_t> hashes;
  for (const ExampleSource::File &file : files) {
    size_t length = std::min(file.bytes.size(), most);
    identity.bytes += file.bytes.size();
    hashes.push_back(contentHash(file.bytes.first(length)));
    hashes.push_back(contentHash(file.bytes.last(length)));
  }
  // Files are taken in their order, with their sizes, by their weights: other ones make another order of samples.
  if (files.size() > 1) {
    for (const ExampleSource::File &file : files)
      hashes.push_back(file.bytes.size());
    for (const SourcePart &part : source.parts()) {
      hashes.push_back(static_cast<uint64_t>(part.samples));
      hashes.push_back(std::bit_cast<uint64_t>(part.weight));
    }
  }
  identity.hash = hashText(contentHash(std::as_bytes(std::span(hashes))));
  return identity;
}

} // namespace dtcc::rt
