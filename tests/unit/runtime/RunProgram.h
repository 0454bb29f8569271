//===- RunProgram.h - Starts a program and reads what it says - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of whole programs start them as users do.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_RUNTIME_RUNPROGRAM_H
#define DTCC_TESTS_UNIT_RUNTIME_RUNPROGRAM_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtcc::rt::test {

struct Outcome {
  int status = -1;    /* exit status, or 128 + the signal */
  std::string output; /* stdout and stderr */
};

/// Runs a shell command under a time limit of 60 s.
Outcome shell(const std::string &command);

/// A new empty folder that is removed with the object.
class Folder {
public:
  Folder();
  ~Folder();
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

/// Writes a `.npy` file of format version 1. `descr` as "<f4"; `data` are the bytes.
void writeNpy(const std::string &path, const std::string &descr, const std::string &shape, const void *data,
              size_t bytes);
void writeFile(const std::string &path, const std::string &bytes);
std::string readFile(const std::string &path);

/// x [samples, 5] and y [samples] of a known linear function, in `folder`.
void writeRegressionData(const Folder &folder, int64_t samples);

/// The numbers after `"key":` of every line of a metrics file.
std::vector<double> metric(const std::string &path, const std::string &key);

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_UNIT_RUNTIME_RUNPROGRAM_H
