//===- TokenFile.cpp - A file of token ids ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenFile.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

/// llm.c's header: 256 int32, of which magic, version and the number of tokens.
struct LlmcFormat {
  int32_t magic, version;
  FileType type;
};
const LlmcFormat llmcFormats[] = {{20240520, 1, FileType::U16}, {20240801, 7, FileType::U32}};
constexpr size_t llmcHeaderBytes = 1024;

/// The type of raw ids of which the user does not say it: nanoGPT's.
constexpr FileType assumedType = FileType::U16;

/// What turns a file of a known ending into one of tokens; empty for other endings.
std::string conversionOf(const std::string &path) {
  for (const char *ending : {".txt", ".md", ".json", ".jsonl", ".parquet", ".arrow", ".feather"})
    if (path.ends_with(ending))
      return "; tools/corpus makes one of text, JSON lines and tables: tools/corpus " + path + " -o corpus.npy";
  return path.ends_with(".npz") ? "; save one array with numpy.save" : "";
}

} // namespace

TokenFile::TokenFile(const std::string &path, std::optional<FileType> type) : name(path) {
  if (type) {
    raw.emplace(path);
    readRaw(*type);
    if (*type != assumedType)
      given = type;
  } else if (path.ends_with(".npy")) {
    npy.emplace(path);
    readNpy();
  } else {
    raw.emplace(path);
    if (readLlmc())
      return;
    if (!path.ends_with(".bin"))
      fail(path,
           ": not a token file of a known format (.npy, or llm.c's or nanoGPT's .bin); for raw ids append :u8, "
           ":u16 or :u32",
           conversionOf(path));
    assumed = true;
    readRaw(assumedType);
  }
}

void TokenFile::readNpy() {
  if (npy->shape().size() != 1)
    fail(name, ": a stream of tokens must have one dimension, got: ", npy->shape().size());
  if (npy->type() == FileType::F32 || npy->type() == FileType::F64 || npy->type() == FileType::F16 ||
      npy->type() == FileType::Bool)
    fail(name, ": tokens must be integers, got: ", fileTypeName(npy->type()));
  element = npy->type();
  first = npy->data();
  tokens = npy->elements();
}

void TokenFile::readRaw(FileType type) {
  element = type;
  auto width = static_cast<size_t>(fileTypeSize(type));
  if (raw->bytes().size() % width != 0)
    fail(name, ": the size must be a multiple of ", width, " bytes, got: ", raw->bytes().size());
  first = raw->bytes().data();
  tokens = static_cast<int64_t>(raw->bytes().size() / width);
}

bool TokenFile::readLlmc() {
  auto bytes = raw->bytes();
  int32_t header[3] = {0, 0, 0};
  if (bytes.size() >= llmcHeaderBytes)
    std::memcpy(header, bytes.data(), sizeof(header));
  const auto *format = std::find_if(std::begin(llmcFormats), std::end(llmcFormats),
                                    [&](const LlmcFormat &row) { return row.magic == header[0]; });
  if (format == std::end(llmcFormats))
    return false;
  if (format->version != header[1])
    fail(name, ": the version of its header must be ", format->version, ", got: ", header[1]);
  element = format->type;
  tokens = header[2];
  auto needed =
      llmcHeaderBytes + static_cast<size_t>(std::max<int64_t>(tokens, 0)) * static_cast<size_t>(fileTypeSize(element));
  if (tokens < 0 || bytes.size() != needed)
    fail(name, ": its header counts ", tokens, " tokens, for which the file must have ", needed,
         " bytes, got: ", bytes.size());
  first = bytes.data() + llmcHeaderBytes;
  return true;
}

} // namespace dtcc::rt
