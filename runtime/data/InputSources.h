//===- InputSources.h - Where the samples of each input come from - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sources of a program's inputs, which --data, --tokens and the options of documents name together. Each input has
// one source: an array of its own, windows of the token files, or numbers that are computed from the tokens.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_INPUTSOURCES_H
#define DTCC_RUNTIME_DATA_INPUTSOURCES_H

#include "runtime/data/Documents.h"
#include "runtime/data/TokenCorpus.h"
#include "runtime/image/Image.h"

#include <map>

namespace dtcc::rt {

struct DataOptions {
  std::vector<std::string> data; /* DIR or NAME=FILE, as given */
  std::string tokens;            /* as TokenPaths.h says */
  std::optional<uint64_t> shuffle;
  double heldOut = 0;             /* --eval-fraction: the last samples of each part that are for evaluation */
  bool isHeldOut = false;         /* those samples are what is read, else the others */
  std::string prefix = {};        /* of the options, for messages: "--eval-" for "--tokens" is "--eval-tokens" */
  DocumentOptions documents = {}; /* the same in training and evaluation */

  std::string option(const char *name) const { return (prefix.empty() ? "--" : prefix) + name; }
  bool areGiven() const { return !data.empty() || !tokens.empty(); }
};

class InputSources {
public:
  /// Finds the files that `options` names. Throws Error.
  InputSources(const Image &image, const DataOptions &options);

  /// Opens the source of an input. Throws Error; a missing option is Status::Usage.
  std::unique_ptr<SampleSource> open(const dtcc_input &input);
  /// Throws Error for options that no opened input needed. Returns lines for people about what was found.
  std::vector<std::string> finish() const;

private:
  std::unique_ptr<SampleSource> openFile(const dtcc_input &input, const std::string &path) const;
  std::unique_ptr<SampleSource> openTokens(const dtcc_input &input);
  std::unique_ptr<SampleSource> openNumbers(const dtcc_input &input);
  /// The ids that fill windows of documents behind the end of a document.
  int64_t paddingOf(const dtcc_input &input) const;
  void checkMark() const;
  /// The input of tokens: of several the one that --data does not give.
  const dtcc_input *findTokens() const;
  std::string nameOf(const dtcc_input &input) const { return std::string(image.string(input.name)); }

  const Image &image;
  const DataOptions &options;
  std::map<std::string, std::string> files; /* of --data, by input */
  std::optional<TokenCorpus> corpus;
  std::optional<DocumentMark> mark;
  bool corpusIsUsed = false, markIsUsed = false;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_INPUTSOURCES_H
