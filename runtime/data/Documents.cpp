//===- Documents.cpp - Where documents begin and end ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Documents.h"

namespace dtcc::rt {
namespace {

class DocumentNumbers final : public SampleSource {
public:
  DocumentNumbers(std::unique_ptr<SampleSource> tokens, std::optional<DocumentMark> mark, DocumentNumber number)
      : tokens(std::move(tokens)), mark(mark), number(number) {}

  int64_t samples() const override { return tokens->samples(); }
  std::vector<SourcePart> parts() const override { return tokens->parts(); }
  const std::string &path() const override { return tokens->path(); }
  const std::string &pathOf(int64_t sample) const override { return tokens->pathOf(sample); }
  const MappedFile *fileOf(int64_t sample) const override { return tokens->fileOf(sample); }
  std::vector<File> files() const override { return tokens->files(); }
  std::vector<FileType> types() const override { return {FileType::I64}; }
  std::string placeOf(int64_t sample, int64_t offset) const override { return tokens->placeOf(sample, offset); }

  StoredCells at(int64_t sample, int64_t offset, int64_t count, CellRoom &room) const override {
    // A shard of the window needs to know which documents ended before it.
    CellRoom ids;
    StoredCells stored = tokens->at(sample, 0, offset + count, ids);
    std::vector<int64_t> values(static_cast<size_t>(offset + count));
    convertElements(stored.type, stored.data, DTCC_I64, values.data(), offset + count, /*rounding=*/false);
    room.clear();
    int64_t document = 0, begin = 0;
    for (int64_t i = 0; i < offset + count; ++i) {
      bool begins = i > 0 && mark && values[static_cast<size_t>(mark->begins ? i : i - 1)] == mark->id;
      if (begins) {
        ++document;
        begin = i;
      }
      if (i >= offset)
        room.push_back(number == DocumentNumber::Document ? document : i - begin);
    }
    return {FileType::I64, reinterpret_cast<const std::byte *>(room.data())};
  }

private:
  std::unique_ptr<SampleSource> tokens;
  std::optional<DocumentMark> mark;
  DocumentNumber number;
};

} // namespace

std::unique_ptr<SampleSource> openDocumentNumbers(std::unique_ptr<SampleSource> tokens,
                                                  std::optional<DocumentMark> mark, DocumentNumber number) {
  return std::make_unique<DocumentNumbers>(std::move(tokens), mark, number);
}

} // namespace dtcc::rt
