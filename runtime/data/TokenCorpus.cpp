//===- TokenCorpus.cpp - All tokens of a run --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenCorpus.h"

#include "runtime/core/Error.h"
#include "runtime/data/TokenPaths.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {

TokenCorpus::TokenCorpus(const std::string &option, const std::string &spec)
    : contents(std::make_shared<TokenShards>()) {
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

std::unique_ptr<SampleSource> TokenCorpus::windows(int64_t length, int64_t shift, int64_t largestShift) {
  const std::vector<TokenFile> &files = contents->files;
  auto isShort = [&](const TokenFile &file) { return file.count() < length + largestShift; };
  // Files that are short documents are not trained on.
  if (auto first = std::find_if(files.begin(), files.end(), isShort); first != files.end() && files.size() > 1)
    shortNote = message(contents->option, ": ", std::count_if(first, files.end(), isShort), " of ", files.size(),
                        " files are shorter than a window of ", length, " tokens and are left out, as ", first->path());
  return cutWindows(contents, length, shift, largestShift);
}

std::unique_ptr<SampleSource> TokenCorpus::documentWindows(int64_t length, int64_t shift, DocumentMark mark,
                                                           int64_t padding) {
  if (!documents) {
    documents = std::make_shared<const std::vector<DocumentExtent>>(findDocuments(*contents, mark));
    int64_t used = 0, whole = 0, windows = 0;
    for (const DocumentExtent &document : *documents)
      if (int64_t count = document.windows(length)) {
        ++used;
        whole += document.end - document.begin;
        windows += count;
      }
    const double positions = std::max(1.0, static_cast<double>(windows * length));
    const double padded = std::max(0.0, 1 - static_cast<double>(whole) / positions);
    documentNote = message(contents->option, ": ", used, " documents in ", windows, " windows; ",
                           std::lround(1000 * padded) / 10.0, " % of the positions are padding");
  }
  return cutDocuments(contents, documents, length, shift, padding);
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
  if (!shortNote.empty())
    lines.push_back(shortNote);
  if (!documentNote.empty())
    lines.push_back(documentNote);
  return lines;
}

} // namespace dtcc::rt
