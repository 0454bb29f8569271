//===- RunProgram.cpp - Starts a program and reads what it says -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/RunProgram.h"

#include "runtime/core/Philox.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

namespace dtcc::rt::test {

Outcome shell(const std::string &command) {
  Outcome outcome;
  FILE *pipe = popen(("exec 2>&1; timeout 60 " + command).c_str(), "r");
  if (!pipe)
    return outcome;
  char buffer[4096];
  for (size_t read; (read = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    outcome.output.append(buffer, read);
  int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "dtcc-test-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void writeFile(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string readFile(const std::string &path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void writeNpy(const std::string &path, const std::string &descr, const std::string &shape, const void *data,
              size_t bytes) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  auto length = static_cast<uint16_t>(header.size());
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file.append(reinterpret_cast<const char *>(&length), 2);
  file += header;
  file.append(static_cast<const char *>(data), bytes);
  writeFile(path, file);
}

void writeRegressionData(const Folder &folder, int64_t samples) {
  const float w[] = {1, -2, 3, 0.5f, 0};
  std::vector<float> x, y;
  for (int64_t i = 0; i < samples; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < 5; ++j) {
      x.push_back(static_cast<float>(2 * uniformElement(3, 0, static_cast<uint64_t>(i * 5 + j)) - 1));
      sum += x.back() * w[j];
    }
    y.push_back(sum);
  }
  std::string count = std::to_string(samples);
  writeNpy(folder / "x.npy", "<f4", "(" + count + ", 5)", x.data(), x.size() * 4);
  writeNpy(folder / "y.npy", "<f4", "(" + count + ",)", y.data(), y.size() * 4);
}

std::vector<double> metric(const std::string &path, const std::string &key) {
  std::vector<double> values;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    size_t at = line.find("\"" + key + "\":");
    if (at != std::string::npos && line.find("\"event\"") == std::string::npos)
      values.push_back(std::strtod(line.c_str() + at + key.size() + 3, nullptr));
  }
  return values;
}

} // namespace dtcc::rt::test
