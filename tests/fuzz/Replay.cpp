//===- Replay.cpp - Gives a fuzz target the inputs of folders -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main of a target without libFuzzer: TARGET FOLDER|FILE.. runs it on each file once, in the order of their names.
// A crash names the file.
//
//===----------------------------------------------------------------------===//

#include "tests/fuzz/Target.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace fs = std::filesystem;

static char running[4096];

static void onCrash(int signal) {
  ssize_t ignored = write(STDERR_FILENO, running, std::strlen(running));
  (void)ignored;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int main(int argc, char **argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i]))
      files.emplace_back(argv[i]);
    else
      for (const auto &entry : fs::directory_iterator(argv[i]))
        files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "no inputs: give folders or files\n");
    return 2;
  }
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS})
    std::signal(signal, onCrash);
  for (const fs::path &file : files) {
    std::snprintf(running, sizeof running, "crashed on %s\n", file.c_str());
    std::ifstream stream(file, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}
