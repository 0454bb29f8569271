//===- WeightFiles.h - The files that --weights names
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds out what a path given as --weights is: one safetensors file, or a folder as Hugging Face
// writes it, with `model.safetensors` or with shards and their index. What users give by mistake
// (a pickle of PyTorch's, the index itself) is named as such. Used by the compiler, which reads
// the headers, and by programs, which read the data.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_WEIGHTFILES_H
#define DTCC_RUNTIME_ABI_WEIGHTFILES_H

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace dtcc {

struct WeightFiles {
  /// Reason why `path` cannot be weights, and what to do; empty if it can. With a reason no other field is set.
  std::string problem;
  /// The one file, or the index, of which the shards lie beside it.
  std::string file, index;
};

namespace detail {

inline bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Returns a message that says what the file is, if its name and first bytes show that it is no safetensors file; else
/// an empty string.
inline std::string mistakenWeights(const std::string &path) {
  if (endsWith(path, ".index.json"))
    return path + " is the index of a folder of shards: give the folder, --weights=" +
           (std::filesystem::path(path).has_parent_path() ? std::filesystem::path(path).parent_path().string() : ".");
  // The first bytes of a pipe cannot be looked at: reading them would wait for a writer and take them.
  std::error_code error;
  std::ifstream stream;
  if (std::filesystem::is_regular_file(path, error))
    stream.open(path, std::ios::binary);
  char start[4] = {};
  stream.read(start, sizeof start);
  std::string bytes(start, static_cast<size_t>(stream.gcount()));
  bool zip = bytes.substr(0, 2) == "PK", pickle = bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] < 6;
  if ((zip || pickle) && !endsWith(path, ".safetensors") && !endsWith(path, ".npz"))
    return path + " is a pickle of PyTorch's, which is not read: save the module with save_pretrained(), or its "
                  "state_dict() with safetensors.torch.save_model()";
  if (bytes == "GGUF")
    return path + " is a GGUF file, which is not read: give the safetensors files that it was made from";
  if (endsWith(path, ".json") || endsWith(path, ".npz") || endsWith(path, ".onnx"))
    return path + " is no safetensors file: give a file that ends with .safetensors, or the folder of a model";
  return "";
}

} // namespace detail

inline WeightFiles findWeightFiles(const std::string &path) {
  namespace fs = std::filesystem;
  auto problem = [](const std::string &text) { return WeightFiles{text, "", ""}; };
  std::error_code error;
  if (!fs::exists(path, error))
    return problem("cannot read the weights " + path + ": no such file or folder");
  if (!fs::is_directory(path, error)) {
    std::string mistake = detail::mistakenWeights(path);
    return mistake.empty() ? WeightFiles{"", path, ""} : problem(mistake);
  }
  std::vector<std::string> files, indices, pickles;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (detail::endsWith(name, ".safetensors.index.json"))
      indices.push_back(name);
    else if (detail::endsWith(name, ".safetensors"))
      files.push_back(name);
    else if (detail::endsWith(name, ".bin") || detail::endsWith(name, ".pt") || detail::endsWith(name, ".pth"))
      pickles.push_back(name);
  }
  if (error)
    return problem("cannot read the folder " + path + ": " + error.message());
  std::string folder = (fs::path(path) / "").string();
  auto has = [](const std::vector<std::string> &names, const char *name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has(indices, "model.safetensors.index.json"))
    return {"", "", folder + "model.safetensors.index.json"};
  if (has(files, "model.safetensors"))
    return {"", folder + "model.safetensors", ""};
  if (indices.size() == 1)
    return {"", "", folder + indices[0]};
  if (files.size() == 1 && indices.empty())
    return {"", folder + files[0], ""};
  std::error_code missing;
  if (fs::exists(folder + "manifest.json", missing) || fs::exists(folder + "latest", missing))
    return problem("the folder " + path + " holds checkpoints: --checkpoint reads them, and --save writes weights");
  if (!files.empty())
    return problem("the folder " + path + " holds " + std::to_string(files.size()) +
                   " .safetensors files and no model.safetensors.index.json that says which are the model: name one "
                   "file");
  if (!pickles.empty())
    return problem("the folder " + path + " holds pickles of PyTorch's (" + pickles[0] +
                   "), which are not read: load the model and save it with save_pretrained(), which writes "
                   "safetensors");
  return problem("the folder " + path + " holds no .safetensors file");
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_WEIGHTFILES_H
