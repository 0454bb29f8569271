//===- InputSources.cpp - Where the samples of each input come from -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/InputSources.h"

#include "runtime/abi/TokenInputs.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

/// Elements of one sample.
int64_t sampleElements(const dtcc_input &input) {
  int64_t count = 1;
  for (uint32_t d = 1; d < input.rank; ++d)
    count *= input.dims[d].size;
  return count;
}

/// The names of the model's inputs, each once: several stages of a pipeline may read one.
std::vector<std::string> inputNames(const Image &image) {
  std::vector<std::string> names;
  for (const dtcc_input &input : image.inputs())
    if (std::string name(image.string(input.name)); std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  return names;
}

std::string listOf(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Whether `path` may be the data of an input: a .npy file, or a folder of such files.
bool holdsArrays(const fs::path &path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return path.extension() == ".npy";
  fs::directory_iterator entries(path, error);
  return std::any_of(begin(entries), end(entries),
                     [](const fs::directory_entry &entry) { return entry.path().extension() == ".npy"; });
}

/// What the folders of --data hold besides the inputs, one line for each folder that holds such: somebody may believe
/// that a mask there is used.
std::vector<std::string> unusedArrays(const Image &image, const DataOptions &options) {
  constexpr size_t most = 4;
  std::vector<std::string> lines, inputs = inputNames(image);
  for (const std::string &folder : options.data) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
      continue;
    std::vector<std::string> others;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
      if (std::find(inputs.begin(), inputs.end(), entry.path().stem().string()) == inputs.end() &&
          holdsArrays(entry.path()))
        others.push_back(entry.path().filename().string());
    std::sort(others.begin(), others.end());
    const size_t more = others.size() > most ? others.size() - most : 0;
    others.resize(others.size() - more);
    if (!others.empty())
      lines.push_back(message(options.option("data"), "=", folder, " also holds ", listOf(others),
                              more > 0 ? message(" and ", more, " more") : "",
                              ": not read, because the inputs of the model are ", listOf(inputs)));
  }
  return lines;
}

/// The file, or folder of shards, of each input that --data names: by NAME=FILE, else DIR/NAME.npy or DIR/NAME.
std::map<std::string, std::string> findFiles(const Image &image, const DataOptions &options) {
  std::map<std::string, std::string> files;
  std::vector<std::string> directories;
  for (const std::string &option : options.data) {
    std::error_code error;
    size_t equals = option.find('=');
    if (fs::is_directory(option, error)) {
      directories.push_back(option);
    } else if (equals == std::string::npos) {
      fail(options.option("data"), "=", option, ": no such folder (a single file is given as NAME=FILE)");
    } else {
      std::string name = option.substr(0, equals), file = option.substr(equals + 1);
      std::vector<std::string> names = inputNames(image);
      if (std::find(names.begin(), names.end(), name) == names.end())
        fail(options.option("data"), "=", option, ": the model has no input '", name, "' (it has: ", listOf(names),
             ")");
      for (const std::string &other : names)
        if (size_t comma = file.find("," + other + "="); comma != std::string::npos && !fs::exists(file, error))
          fail(options.option("data"), "=", option, ": give the option once for each input: ", options.option("data"),
               "=", name, "=", file.substr(0, comma), " ", options.option("data"), "=", file.substr(comma + 1));
      if (!files.emplace(name, file).second)
        fail(options.option("data"), "=", option, ": the input '", name, "' has the file ", files[name],
             " already: give one of them");
    }
  }
  for (const std::string &name : inputNames(image)) {
    if (files.count(name))
      continue;
    for (const std::string &directory : directories) {
      std::error_code error;
      fs::path shards = fs::path(directory) / name, path = shards.string() + ".npy";
      for (const fs::path &found : {path, shards})
        if ((found == path ? fs::exists(found, error) : fs::is_directory(found, error)) &&
            !files.emplace(name, found.string()).second)
          fail("the input '", name, "' has two files, ", files[name], " and ", found.string(), ": say which by ",
               options.option("data"), "=", name, "=FILE");
    }
  }
  return files;
}

} // namespace

InputSources::InputSources(const Image &image, const DataOptions &options)
    : image(image), options(options), files(findFiles(image, options)), mark(options.documents.mark()) {
  if (!options.tokens.empty())
    corpus.emplace(options.option("tokens"), options.tokens);
  if (options.documents.start && !corpus)
    failWith(Status::Usage, "--documents=start cuts windows of --tokens: give ", options.option("tokens"), "=FILE");
  if (mark)
    checkMark();
}

const dtcc_input *InputSources::findTokens() const {
  const std::vector<const dtcc_input *> all = tokenInputs(image.inputs());
  if (all.size() < 2 || (!corpus && !mark))
    return all.empty() ? nullptr : all[0];
  std::vector<const dtcc_input *> open;
  std::copy_if(all.begin(), all.end(), std::back_inserter(open),
               [&](const dtcc_input *each) { return !files.count(nameOf(*each)); });
  if (corpus && open.size() < 2)
    return open.empty() ? all[0] : open[0];
  std::vector<std::string> names;
  for (const dtcc_input *each : all)
    names.push_back(nameOf(*each));
  fail(corpus ? options.option("tokens") + " fills" : message("--", mark->option(), " separates documents of"),
       " one input of token ids, and the model reads several, ", listOf(names), ": give those that are no tokens by ",
       options.option("data"), "=NAME=FILE.npy, and the tokens by ", options.option("tokens"), "=FILE");
}

/// An id outside the vocabulary would be found in no file, and all tokens would be one document.
void InputSources::checkMark() const {
  const dtcc_input *tokens = findTokens();
  if (!tokens)
    failWith(Status::Usage, "--", mark->option(), " separates documents of tokens, and this model reads no tokens");
  if (tokens->lower < tokens->upper && (mark->id < tokens->lower || mark->id >= tokens->upper))
    failWith(Status::Usage, "--", mark->option(), " must be from ", tokens->lower, " to ", tokens->upper - 1,
             ", got: ", mark->id);
}

std::unique_ptr<SampleSource> InputSources::openFile(const dtcc_input &input, const std::string &path) const {
  std::vector<int64_t> shape;
  for (uint32_t d = 1; d < input.rank; ++d)
    shape.push_back(input.dims[d].size);
  return openNpySource(findArrays(options.option("data") + "=" + nameOf(input), path), nameOf(input), shape);
}

int64_t InputSources::paddingOf(const dtcc_input &input) const {
  if (input.role != DTCC_INPUT_LABELS)
    return mark->id;
  if (input.upper <= input.lower || (input.ignore >= input.lower && input.ignore < input.upper))
    fail("--documents=start fills windows behind the end of a document with labels that do not count, and the loss of "
         "this model counts every label");
  return input.ignore;
}

std::unique_ptr<SampleSource> InputSources::openTokens(const dtcc_input &input) {
  corpusIsUsed = true;
  const int64_t labelShift = image.training().label_shift, shift = input.role == DTCC_INPUT_LABELS ? labelShift : 0;
  if (!options.documents.start)
    return corpus->windows(sampleElements(input), shift, labelShift);
  markIsUsed = true;
  return corpus->documentWindows(sampleElements(input), shift, *mark, paddingOf(input));
}

std::unique_ptr<SampleSource> InputSources::openNumbers(const dtcc_input &input) {
  const dtcc_input *tokens = findTokens();
  if (!tokens)
    fail("the input '", nameOf(input), "' is computed from tokens, and this program reads none");
  if (!mark && input.role == DTCC_INPUT_DOCUMENTS)
    failWith(Status::Usage, "this program keeps attention within documents: give --eos=ID, the token that ends a "
                            "document, or --bos=ID, the token that begins one");
  markIsUsed = mark.has_value();
  auto file = files.find(nameOf(*tokens));
  std::unique_ptr<SampleSource> source;
  if (file != files.end())
    source = openFile(*tokens, file->second);
  else if (corpus)
    source = openTokens(*tokens);
  else
    fail("the input '", nameOf(input), "' is computed from the tokens, for which there is no file");
  return openDocumentNumbers(std::move(source), mark,
                             input.role == DTCC_INPUT_DOCUMENTS ? DocumentNumber::Document : DocumentNumber::Position);
}

std::unique_ptr<SampleSource> InputSources::open(const dtcc_input &input) {
  const std::string name = nameOf(input);
  if (auto file = files.find(name); file != files.end())
    return openFile(input, file->second);
  if (input.role == DTCC_INPUT_DOCUMENTS && options.areGiven())
    return openNumbers(input);
  // Without --tokens and a mark, positions are data of the user's own.
  if (input.role == DTCC_INPUT_POSITIONS && (corpus || mark))
    return openNumbers(input);
  if (corpus && isFilledByTokens(input, findTokens()))
    return openTokens(input);
  if (corpus)
    fail(options.option("tokens"), " does not fill the input '", name, "': give it by ", options.option("data"), "=",
         name, "=FILE.npy");
  if (options.data.empty())
    failWith(Status::Usage, "the input '", name, "' needs data: give ", options.option("data"), "=DIR with ", name,
             ".npy, ", options.option("data"), "=", name, "=FILE.npy, or ", options.option("tokens"), "=FILE");
  fail("no file for the input '", name, "': ", name, ".npy is in none of the folders of ", options.option("data"));
}

std::vector<std::string> InputSources::finish() const {
  if (corpus && !corpusIsUsed)
    fail(options.option("tokens"), "=", options.tokens, ": the model has no token input, or ", options.option("data"),
         " gives them all");
  if (mark && !markIsUsed)
    failWith(Status::Usage, "--", mark->option(),
             " changes nothing in this program: give --documents=start for windows "
             "that start at documents, or compile with --mask-documents to keep attention within documents");
  std::vector<std::string> lines = corpus ? corpus->notes() : std::vector<std::string>();
  for (std::string &line : unusedArrays(image, options))
    lines.push_back(std::move(line));
  return lines;
}

} // namespace dtcc::rt
