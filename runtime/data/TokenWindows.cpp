//===- TokenWindows.cpp - Samples cut of files of tokens --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenWindows.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace dtcc::rt {
namespace {

/// Samples of a corpus; derived classes say where each begins.
class TokenSource : public SampleSource {
public:
  explicit TokenSource(std::shared_ptr<const TokenShards> shards) : shards(std::move(shards)) {}

  int64_t samples() const override { return begins.back(); }
  std::vector<SourcePart> parts() const override { return sourceParts; }
  const std::string &path() const override {
    return shards->files.size() == 1 ? shards->files[0].path() : shards->spec;
  }
  const std::string &pathOf(int64_t sample) const override { return shards->files[startOf(sample).file].path(); }
  const MappedFile *fileOf(int64_t sample) const override { return &shards->files[startOf(sample).file].mapped(); }
  std::vector<File> files() const override {
    std::vector<File> all;
    for (const TokenFile &shard : shards->files)
      all.push_back({shard.path(), shard.bytes(), shard.givenType()});
    return all;
  }
  std::vector<FileType> types() const override {
    std::vector<FileType> all;
    for (const TokenFile &shard : shards->files)
      if (std::find(all.begin(), all.end(), shard.type()) == all.end())
        all.push_back(shard.type());
    return all;
  }
  std::string placeOf(int64_t sample, int64_t offset) const override {
    return "token " + std::to_string(startOf(sample).token + offset);
  }

protected:
  struct Place {
    size_t file;
    int64_t token;
  };
  virtual Place startOf(int64_t sample) const = 0;

  /// The group of samples in `begins` that holds the sample.
  size_t groupOf(int64_t sample) const {
    return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), sample) - begins.begin()) - 1;
  }
  /// Sets the parts of the source; `endOf` says how many samples there are in front of a file.
  template <typename EndOf> void setParts(const EndOf &endOf) {
    size_t file = 0;
    int64_t before = 0;
    for (const TokenShards::Part &part : shards->parts) {
      const int64_t end = endOf(file += part.files);
      sourceParts.push_back({end - before, part.weight});
      before = end;
    }
  }
  StoredCells cellsAt(const Place &place) const {
    const TokenFile &file = shards->files[place.file];
    return {file.type(), file.data() + place.token * fileTypeSize(file.type())};
  }

  std::shared_ptr<const TokenShards> shards;
  std::vector<int64_t> begins{0}; /* the first sample of each group, and the number of all */

private:
  std::vector<SourcePart> sourceParts;
};

class Windows final : public TokenSource {
public:
  Windows(std::shared_ptr<const TokenShards> all, int64_t length, int64_t shift, int64_t largestShift)
      : TokenSource(std::move(all)), length(length), shift(shift) {
    for (const TokenFile &file : shards->files)
      begins.push_back(begins.back() + (length > 0 ? std::max<int64_t>(0, file.count() - largestShift) / length : 0));
    setParts([&](size_t file) { return begins[file]; });
  }

  StoredCells at(int64_t sample, int64_t offset, int64_t /*count*/, CellRoom & /*room*/) const override {
    Place place = startOf(sample);
    place.token += offset;
    return cellsAt(place);
  }

private:
  Place startOf(int64_t sample) const override {
    size_t file = groupOf(sample);
    return {file, (sample - begins[file]) * length + shift};
  }

  int64_t length, shift;
};

class DocumentWindows final : public TokenSource {
public:
  DocumentWindows(std::shared_ptr<const TokenShards> all, std::shared_ptr<const std::vector<DocumentExtent>> extents,
                  int64_t length, int64_t shift, int64_t padding)
      : TokenSource(std::move(all)), documents(std::move(extents)), length(length), shift(shift), padding(padding) {
    for (const DocumentExtent &document : *documents)
      begins.push_back(begins.back() + document.windows(length));
    setParts([&](size_t file) {
      auto end = std::partition_point(documents->begin(), documents->end(),
                                      [&](const DocumentExtent &document) { return document.file < file; });
      return begins[static_cast<size_t>(end - documents->begin())];
    });
  }

  std::vector<FileType> types() const override {
    std::vector<FileType> all = TokenSource::types();
    all.push_back(FileType::I64); /* windows that are filled up */
    return all;
  }
  StoredCells at(int64_t sample, int64_t offset, int64_t count, CellRoom &room) const override {
    Place place = startOf(sample);
    place.token += offset;
    const int64_t left = std::max<int64_t>(0, (*documents)[groupOf(sample)].end - place.token);
    if (count <= left)
      return cellsAt(place);
    room.assign(static_cast<size_t>(count), padding);
    if (left > 0) {
      StoredCells cells = cellsAt(place);
      convertElements(cells.type, cells.data, DTCC_I64, room.data(), left, /*rounding=*/false);
    }
    return {FileType::I64, reinterpret_cast<const std::byte *>(room.data())};
  }

private:
  Place startOf(int64_t sample) const override {
    size_t group = groupOf(sample);
    const DocumentExtent &document = (*documents)[group];
    return {document.file, document.begin + (sample - begins[group]) * length + shift};
  }

  std::shared_ptr<const std::vector<DocumentExtent>> documents;
  int64_t length, shift, padding;
};

template <typename Id> void findIds(const TokenFile &file, int64_t wanted, std::vector<int64_t> &found) {
  if (wanted < 0 || static_cast<uint64_t>(wanted) > static_cast<uint64_t>(std::numeric_limits<Id>::max()))
    return;
  for (int64_t i = 0; i < file.count(); ++i) {
    Id id;
    std::memcpy(&id, file.data() + i * static_cast<int64_t>(sizeof(Id)), sizeof(Id));
    if (id == static_cast<Id>(wanted))
      found.push_back(i);
  }
}

/// The places of an id in a file. Ids are not negative, so signed and unsigned types of one size are one.
std::vector<int64_t> placesOf(const TokenFile &file, int64_t id) {
  std::vector<int64_t> found;
  const int64_t width = fileTypeSize(file.type());
  if (width == 1)
    findIds<uint8_t>(file, id, found);
  else if (width == 2)
    findIds<uint16_t>(file, id, found);
  else if (width == 4)
    findIds<uint32_t>(file, id, found);
  else
    findIds<int64_t>(file, id, found);
  return found;
}

} // namespace

std::vector<DocumentExtent> findDocuments(const TokenShards &shards, DocumentMark mark) {
  std::vector<DocumentExtent> documents;
  bool none = true;
  for (size_t i = 0; i < shards.files.size(); ++i) {
    const TokenFile &file = shards.files[i];
    int64_t begin = 0;
    for (int64_t place : placesOf(file, mark.id)) {
      none = false;
      if (place > 0 || !mark.begins)
        documents.push_back({i, begin, place + 1});
      begin = mark.begins ? place : place + 1;
    }
    documents.push_back({i, begin, file.count()});
  }
  if (none)
    fail("--", mark.option(), "=", mark.id, ": no token of ", shards.option, "=", shards.spec, " is ", mark.id);
  return documents;
}

std::unique_ptr<SampleSource> cutWindows(std::shared_ptr<const TokenShards> shards, int64_t length, int64_t shift,
                                         int64_t largestShift) {
  return std::make_unique<Windows>(std::move(shards), length, shift, largestShift);
}

std::unique_ptr<SampleSource> cutDocuments(std::shared_ptr<const TokenShards> shards,
                                           std::shared_ptr<const std::vector<DocumentExtent>> documents, int64_t length,
                                           int64_t shift, int64_t padding) {
  return std::make_unique<DocumentWindows>(std::move(shards), std::move(documents), length, shift, padding);
}

} // namespace dtcc::rt
