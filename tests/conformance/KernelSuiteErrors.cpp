//===- KernelSuiteErrors.cpp - Wrong library commands -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "tests/conformance/KernelSuite.h"

#include <gtest/gtest.h>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

/// The message with which binding or running fails.
std::string messageOf(OneCommand &c) {
  try {
    c.run();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(KernelSuiteErrors, EveryOpRefusesACommandWithoutOperands) {
  for (int op = 0; op < DTCC_LIB_COUNT; ++op) {
    OneCommand c(static_cast<dtcc_library_op>(op));
    std::string message = messageOf(c);
    EXPECT_NE(message.find("command 'the command' ("), std::string::npos) << op << ": " << message;
    if (op == DTCC_LIB_MATMUL_EPILOGUE)
      EXPECT_NE(message.find("is an op of GPUs"), std::string::npos) << message;
    else
      EXPECT_NE(message.find("operands and a workspace, got: 0"), std::string::npos) << op << ": " << message;
  }
}

TEST(KernelSuiteErrors, OperandsMustFitEachOther) {
  OneCommand c(DTCC_LIB_MATMUL);
  c.output({1, 2, 3});
  c.output({1, 4, 2});
  c.output({1, 2, 2});
  c.attribute(int64_t{0});
  c.attribute(int64_t{0});
  EXPECT_EQ(messageOf(c), "command 'the command' (matmul): size 1 of rhs must be 3, got: 4");
}

TEST(KernelSuiteErrors, ElementTypesAreChecked) {
  OneCommand c(DTCC_LIB_EMBEDDING);
  c.output({2, 2});
  c.output({4});
  c.output({4, 2});
  c.attribute(int64_t{-1});
  EXPECT_EQ(messageOf(c), "command 'the command' (embedding): ids must be i64 or i32, got element type: 0");
}

/// Processors take no convolutions whose channels are last, and no device takes other orders.
TEST(KernelSuiteErrors, ConvolutionsAreDense) {
  OneCommand c(DTCC_LIB_CONVOLUTION);
  const size_t image = c.output({2, 1, 3, 1, 4, 4});
  c.output({1, 2, 3, 1, 1, 1});
  c.output({2, 1, 2, 1, 4, 4});
  for (int64_t value : {1, 1, 1, 1, 1, 1, 0, 0, 0})
    c.attribute(value);
  auto stride = [&](std::initializer_list<int64_t> strides) {
    std::copy(strides.begin(), strides.end(), c.view(image).strides);
  };
  stride({48, 48, 1, 48, 12, 3});
  EXPECT_EQ(messageOf(c), "command 'the command' (convolution): processors take no operands whose channels are last");
  stride({48, 48, 16, 16, 1, 4});
  EXPECT_EQ(messageOf(c),
            "command 'the command' (convolution): image must be dense, with channels behind groups or last");
}

TEST(KernelSuiteErrors, CommunicatorsMustExist) {
  OneCommand c(DTCC_LIB_EMBEDDING);
  c.output({2, 2});
  c.longs({4}, {0, 0, 0, 0});
  c.output({4, 2});
  c.attribute(int64_t{1});
  EXPECT_EQ(messageOf(c), "command 'the command' (embedding): coordinate must be a communicator or -1, got: 1");
}

TEST(KernelSuiteErrors, SegmentsMustNotOverlap) {
  OneCommand c(DTCC_LIB_SGD);
  c.output({4});
  c.output({});
  c.output({});
  c.longs({}, {1});
  c.output({4});
  c.bucket(4);
  c.segment(0, 0, 3, 0, 1);
  c.segment(0, 2, 2, 0, 1);
  c.attribute(int64_t{0});
  c.attribute(int64_t{-1});
  c.attribute(0.0);
  c.attribute(0.0);
  c.attribute(int64_t{0});
  c.attribute(int64_t{0});
  EXPECT_EQ(messageOf(c), "command 'the command' (sgd): segments of bucket 0 overlap at element 2");
}

TEST(KernelSuiteErrors, UnknownOpsAreNamed) {
  OneCommand c(DTCC_LIB_COUNT);
  EXPECT_NE(messageOf(c).find("library op must be known"), std::string::npos);
}

} // namespace
