//===- SampleSource.cpp - Source of the samples of an input ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/SampleSource.h"

#include "runtime/core/ContentHash.h"
#include "runtime/core/Error.h"
#include "runtime/data/Npy.h"
#include "runtime/data/TokenPaths.h"

#include <algorithm>
#include <bit>
#include <filesystem>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

std::string sizesText(const std::vector<int64_t> &sizes) {
  std::string text = "[samples";
  for (int64_t size : sizes)
    text += ", " + std::to_string(size);
  return text + "]";
}

/// Whether a sample of one shape is one of the other, in which dimensions are joined, or of size 1 are left out: a
/// model may have factored a dimension of what its user wrote. Shapes of the same rank must be equal, because [32, 32,
/// 3] is another order of cells than [3, 32, 32].
bool isSameSample(std::vector<int64_t> one, std::vector<int64_t> other) {
  if (one.size() == other.size())
    return one == other;
  std::erase(one, 1);
  std::erase(other, 1);
  size_t i = 0, j = 0;
  while (i < one.size() && j < other.size()) {
    // One dimension is the product of some of the other shape.
    int64_t left = one[i++], right = other[j++];
    if (const int64_t whole = std::max(left, right); left == whole)
      while (right < whole && j < other.size())
        right *= other[j++];
    else
      while (left < whole && i < one.size())
        left *= one[i++];
    if (left != right)
      return false;
  }
  return i == one.size() && j == other.size();
}

class NpySource final : public SampleSource {
public:
  NpySource(const std::vector<std::string> &paths, const std::string &input, const std::vector<int64_t> &shape) {
    for (int64_t size : shape)
      elements *= size;
    for (const std::string &path : paths) {
      arrays.emplace_back(path);
      check(arrays.back(), input, shape);
      begins.push_back(begins.back() + arrays.back().shape()[0]);
    }
    all = paths.size() == 1 ? paths[0] : message(paths.front(), " .. ", paths.back());
  }
  int64_t samples() const override { return begins.back(); }
  const std::string &path() const override { return all; }
  const std::string &pathOf(int64_t sample) const override { return arrays[arrayOf(sample)].path(); }
  const MappedFile *fileOf(int64_t sample) const override { return &arrays[arrayOf(sample)].mapped(); }
  std::vector<FileType> types() const override {
    std::vector<FileType> found;
    for (const NpyFile &array : arrays)
      if (std::find(found.begin(), found.end(), array.type()) == found.end())
        found.push_back(array.type());
    return found;
  }
  std::vector<File> files() const override {
    std::vector<File> found;
    for (const NpyFile &array : arrays)
      found.push_back({array.path(), array.bytes()});
    return found;
  }
  StoredCells at(int64_t sample, int64_t offset, int64_t /*count*/, CellRoom & /*room*/) const override {
    const NpyFile &array = arrays[arrayOf(sample)];
    const int64_t row = sample - begins[arrayOf(sample)];
    return {array.type(), array.data() + (row * elements + offset) * fileTypeSize(array.type())};
  }
  std::string placeOf(int64_t sample, int64_t offset) const override {
    return message("sample ", sample - begins[arrayOf(sample)], ", element ", offset);
  }

private:
  static void check(const NpyFile &array, const std::string &input, const std::vector<int64_t> &shape) {
    std::vector<int64_t> rest;
    if (!array.shape().empty())
      rest.assign(array.shape().begin() + 1, array.shape().end());
    if (array.shape().empty() || !isSameSample(rest, shape))
      fail(array.path(), ": the input '", input, "' must have the shape ", sizesText(shape),
           ", got: ", array.shape().empty() ? std::string("a scalar") : sizesText(rest));
  }
  size_t arrayOf(int64_t sample) const {
    return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), sample) - begins.begin()) - 1;
  }

  std::vector<NpyFile> arrays;
  std::vector<int64_t> begins{0}; /* the first row of each array, and the number of all */
  std::string all;
  int64_t elements = 1; /* of a row */
};

/// Names without their folder: "corpus.bin", or "a.bin .. c.bin (3 files)".
std::string nameOf(const std::vector<SampleSource::File> &files) {
  auto name = [](const SampleSource::File &file) { return fs::path(file.path).filename().string(); };
  return files.size() == 1 ? name(files[0])
                           : message(name(files.front()), " .. ", name(files.back()), " (", files.size(), " files)");
}

} // namespace

std::vector<std::string> findArrays(const std::string &option, const std::string &path) {
  std::error_code error;
  std::vector<std::string> found{path};
  if (fs::is_directory(path, error)) {
    found.clear();
    for (const fs::directory_entry &entry : fs::directory_iterator(path))
      if (std::string name = entry.path().filename().string(); name.ends_with(".npy") && !name.starts_with("."))
        found.push_back(entry.path().string());
    if (found.empty())
      fail(option, "=", path, ": the folder holds no .npy file");
  } else if (!fs::exists(path, error) && path.find_first_of("*?[") != std::string::npos) {
    found = filesOfGlob(path);
    if (found.empty())
      fail(option, "=", path, ": no file has such a name");
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::unique_ptr<SampleSource> openNpySource(const std::vector<std::string> &paths, const std::string &input,
                                            const std::vector<int64_t> &shape) {
  return std::make_unique<NpySource>(paths, input, shape);
}

std::string DataIdentity::text() const { return message(name, " of ", bytes, " bytes (hash ", hash, ")"); }

DataIdentity identityOf(const std::string &input, const SampleSource &source) {
  std::vector<SampleSource::File> files = source.files();
  // The more files there are, the less is read of each, so that a start takes no minutes.
  constexpr size_t mostOfFile = 1 << 20, mostOfAll = 64 << 20, least = 1 << 12;
  const size_t most = std::clamp(mostOfAll / (2 * files.size()), least, mostOfFile);
  DataIdentity identity{input, nameOf(files), 0, {}};
  std::vector<uint64_t> hashes;
  for (const SampleSource::File &file : files) {
    size_t length = std::min(file.bytes.size(), most);
    identity.bytes += file.bytes.size();
    hashes.push_back(contentHash(file.bytes.first(length)));
    hashes.push_back(contentHash(file.bytes.last(length)));
  }
  // Bytes that are read as another type give other ids.
  for (const SampleSource::File &file : files)
    if (file.givenType)
      hashes.push_back(static_cast<uint64_t>(*file.givenType));
  // Files are taken in their order, with their sizes, by their weights: other ones make another order of samples.
  if (files.size() > 1) {
    for (const SampleSource::File &file : files)
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
