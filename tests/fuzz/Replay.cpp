//===- Replay.cpp - Gives a fuzz target the inputs of folders -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main of a target without libFuzzer: TARGET [-runs=N] [-seed=N] FOLDER|FILE.. runs it on each file once, in the
// order of their names, and then on N inputs made of these by the target's own mutator or by BlindMutator. A crash or
// an input that takes ten seconds names the file; an input that was made is written to ./found-SEED-RUN.
//
//===----------------------------------------------------------------------===//

#include "tests/fuzz/BlindMutator.h"
#include "tests/fuzz/Target.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace dtcc::fuzz;

static constexpr unsigned kMostSeconds = 10;
static constexpr rlim_t kMostBytes = rlim_t(2) << 30;
static constexpr size_t kMostInput = size_t(1) << 20;

/// The input that runs, for onCrash: the file that it came from, or the one to write it to.
static char running[4096];
static const std::string *made;

extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t size, const uint8_t *other,
                                                                  size_t otherSize, uint8_t *out, size_t most,
                                                                  unsigned seed);

/// Stands in for libFuzzer's mutator of plain bytes, which targets with a mutator of their own call.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) {
  static BlindMutator mutator(1);
  std::string_view text = textOf(data, size);
  std::string changed = mutator.mutate(text, text);
  size = std::min(changed.size(), most);
  std::memcpy(data, changed.data(), size);
  return size;
}

static void onCrash(int signal) {
  if (made) {
    int file = open(running, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || write(file, made->data(), made->size()) < 0 || close(file) != 0)
      std::signal(signal, SIG_DFL);
  }
  for (const char *text :
       {signal == SIGALRM ? "too long on " : "crashed on ", static_cast<const char *>(running), "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
      break;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

static void runOn(const std::string &bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
}

/// An input made of two others.
static std::string makeInput(const std::string &one, const std::string &other, std::mt19937 &random) {
  if (!LLVMFuzzerCustomMutator)
    return BlindMutator(static_cast<unsigned>(random())).mutate(one, other);
  static std::vector<uint8_t> buffer(kMostInput);
  auto bytes = [](const std::string &text) { return reinterpret_cast<const uint8_t *>(text.data()); };
  size_t size = 0;
  if (LLVMFuzzerCustomCrossOver && random() % 4 == 0)
    size = LLVMFuzzerCustomCrossOver(bytes(one), one.size(), bytes(other), other.size(), buffer.data(), buffer.size(),
                                     static_cast<unsigned>(random()));
  if (size == 0)
    std::memcpy(buffer.data(), one.data(), size = one.size());
  for (unsigned changes = 1 + random() % 3; changes-- > 0;)
    size = LLVMFuzzerCustomMutator(buffer.data(), size, buffer.size(), static_cast<unsigned>(random()));
  return {reinterpret_cast<const char *>(buffer.data()), size};
}

static void runMade(const std::vector<std::string> &inputs, long runs, unsigned seed) {
  rlimit memory{kMostBytes, kMostBytes};
  setrlimit(RLIMIT_AS, &memory);
  std::mt19937 random(seed);
  for (long run = 0; run < runs; ++run) {
    std::string input = makeInput(inputs[random() % inputs.size()], inputs[random() % inputs.size()], random);
    std::snprintf(running, sizeof running, "found-%u-%ld", seed, run);
    made = &input;
    alarm(kMostSeconds);
    runOn(input);
    alarm(0);
    made = nullptr;
  }
}

int main(int argc, char **argv) {
  long runs = 0;
  unsigned seed = 1;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::sscanf(argv[i], "-runs=%ld", &runs) == 1 || std::sscanf(argv[i], "-seed=%u", &seed) == 1)
      continue;
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
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGALRM})
    std::signal(signal, onCrash);
  std::vector<std::string> inputs;
  for (const fs::path &file : files) {
    std::snprintf(running, sizeof running, "%s", file.c_str());
    std::ifstream stream(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    runOn(inputs.back());
  }
  std::erase_if(inputs, [](const std::string &input) { return input.size() > kMostInput / 2; });
  if (runs > 0 && !inputs.empty())
    runMade(inputs, runs, seed);
  std::printf("%zu inputs, %ld made of them\n", files.size(), runs);
  return 0;
}
