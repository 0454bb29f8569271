//===- TokenCorpus.cpp - All tokens of a run --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenCorpus.h"

#include "runtime/core/Error.h"
#include "runtime/data/TokenFile.h"
#include "runtime/data/TokenPaths.h"

#include <algorithm>

namespace dtcc::rt {

struct TokenCorpus::Contents {
  struct Part {
    size_t files;
    double weight;
  };
  std::string option, spec;
  std::vector<TokenFile> files;
  std::vector<Part> parts; /* their files follow each other */
};

namespace {

class Windows final : public ExampleSource {
public:
  Windows(std::shared_ptr<const void> keep, const std::string &spec, const std::vector<TokenFile> &files,
          int64_t length, int64_t shift, int64_t largestShift)
      : keep(std::move(keep)), spec(spec), shards(files), length(length), shift(shift) {
    begins.push_back(0);
    for (const TokenFile &file : files)
      begins.push_back(begins.back() + (length > 0 ? std::max<int64_t>(0, file.count() - largestShift) / length : 0));
  }

  /// Appends a part that ends before file `end`.
  void addPart(size_t end, double weight) {
    int64_t before = 0;
    for (const SourcePart &part : sourceParts)
      before += part.samples;
    sourceParts.push_back({begins[end] - before, weight});
  }

  int64_t examples() const override { return begins.back(); }
  std::vector<SourcePart> parts() const override { return sourceParts; }
  const std::string &path() const override { return shards.size() == 1 ? shards[0].path() : spec; }
  std::vector<File> files() const override {
    std::vector<File> all;
    for (const TokenFile &shard : shards)
      all.push_back({shard.path(), shard.bytes()});
    return all;
  }
  std::vector<FileType> types() const override {
    std::vector<FileType> all;
    for (const TokenFile &shard : shards)
      if (std::find(all.begin(), all.end(), shard.type()) == all.end())
        all.push_back(shard.type());
    return all;
  }
  StoredCells at(int64_t example, int64_t offset) const override {
    size_t shard = shardOf(example);
    FileType type = shards[shard].type();
    return {type, shards[shard].data() + tokenOf(shard, example, offset) * fileTypeSize(type)};
  }
  const MappedFile *fileOf(int64_t example) const override { return &shards[shardOf(example)].mapped(); }
  const std::string &pathOf(int64_t example) const override { return shards[shardOf(example)].path(); }
  std::string placeOf(int64_t example, int64_t offset) const override {
    return "token " + std::to_string(tokenOf(shardOf(example), example, offset));
  }

private:
  size_t shardOf(int64_t example) const {
    return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), example) - begins.begin()) - 1;
  }
  int64_t tokenOf(size_t shard, int64_t example, int64_t offset) const {
    return (example - begins[shard]) * length + shift + offset;
  }

  std::shared_ptr<const void> keep; /* the mappings */
  const std::string &spec;
  const std::vector<TokenFile> &shards;
  int64_t length, shift;
  std::vector<int64_t> begins; /* the first window of each shard, and the number of all */
  std::vector<SourcePart> sourceParts;
};

} // namespace

TokenCorpus::TokenCorpus(const std::string &option, const std::string &spec) : contents(std::make_shared<Contents>()) {
  contents->option = option;
  contents->spec = spec;
  for (const TokenPart &part : findTokens(option, spec)) {
    contents->parts.push_back({part.files.size(), part.weight});
    for (const TokenPath &file : part.files)
      contents->files.emplace_back(file.path, file.type);
  }
  // Raw ids among files with headers are damaged or of another kind; read as ids, any bytes would be tokens.
  const std::vector<TokenFile> &files = contents->files;
  auto isBin = [](const TokenFile &file) { return file.path().ends_with(".bin"); };
  auto raw = std::find_if(files.begin(), files.end(), [&](const TokenFile &file) { return file.isAssumed(); });
  auto headed = std::find_if(files.begin(), files.end(), [&](const TokenFile &file) {
    return isBin(file) && !file.isAssumed() && file.bytes().data() != file.data();
  });
  if (raw != files.end() && headed != files.end())
    fail(raw->path(), ": the file has no header of llm.c, and ", headed->path(),
         " has one: for raw ids append :u8, :u16 or :u32");
}

TokenCorpus::~TokenCorpus() = default;

std::unique_ptr<ExampleSource> TokenCorpus::windows(int64_t length, int64_t shift, int64_t largestShift) const {
  auto result = std::make_unique<Windows>(contents, contents->spec, contents->files, length, shift, largestShift);
  size_t end = 0;
  for (const Contents::Part &part : contents->parts)
    result->addPart(end += part.files, part.weight);
  return result;
}

std::vector<std::string> TokenCorpus::notes() const {
  std::vector<std::string> lines;
  const std::vector<TokenFile> &files = contents->files;
  for (const TokenFile &file : files)
    if (file.isAssumed() && lines.empty())
      lines.push_back(message(file.path(), " has no header, and is read as raw 16-bit ids, as nanoGPT writes them; "
                                           ":u8, :u16 or :u32 behind the name says which it has"));
  if (files.size() > 1) {
    int64_t tokens = 0;
    for (const TokenFile &file : files)
      tokens += file.count();
    lines.push_back(message(contents->option, ": ", tokens, " tokens in ", files.size(), " files"));
  }
  return lines;
}

} // namespace dtcc::rt
