//===- SamplerTest.cpp - Tokens are drawn as softmax says
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/generate/Sampler.h"
#include "runtime/core/Error.h"
#include "runtime/generate/PromptWindow.h"
#include "tests/unit/runtime/DataProgram.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace dtcc::rt;

namespace {

const std::vector<float> kLogits{0.5f, 2.0f, -1.0f, 1.5f, 2.0f};

std::vector<double> sharesOf(const GenerateOptions &options, int draws) {
  std::vector<double> shares(kLogits.size());
  for (int i = 0; i < draws; ++i)
    shares[static_cast<size_t>(pickToken(kLogits, options, 3, static_cast<uint64_t>(i)))] += 1.0 / draws;
  return shares;
}

TEST(SamplerTest, TakesTheFirstOfTheLargestLogits) {
  GenerateOptions greedy;
  EXPECT_EQ(pickToken(kLogits, greedy, 3, 0), 1);
}

TEST(SamplerTest, DrawsAsSoftmaxAtTheTemperatureSays) {
  for (double temperature : {0.5, 1.0, 2.0}) {
    GenerateOptions options;
    options.temperature = temperature;
    double sum = 0;
    for (float logit : kLogits)
      sum += std::exp(static_cast<double>(logit) / temperature);
    std::vector<double> shares = sharesOf(options, 40000);
    // Six standard deviations of the share of a token.
    for (size_t i = 0; i < kLogits.size(); ++i) {
      double share = std::exp(static_cast<double>(kLogits[i]) / temperature) / sum;
      EXPECT_NEAR(shares[i], share, 6 * std::sqrt(share * (1 - share) / 40000));
    }
  }
}

TEST(SamplerTest, DrawsAmongTheLikeliestAlone) {
  GenerateOptions options;
  options.temperature = 4;
  options.topK = 3;
  std::vector<double> shares = sharesOf(options, 2000);
  EXPECT_EQ(shares[0] + shares[2], 0);
  EXPECT_GT(shares[1], 0.2);
  EXPECT_GT(shares[3], 0.2);
  EXPECT_GT(shares[4], 0.2);
}

TEST(SamplerTest, RefusesLogitsThatAreNoNumbers) {
  std::vector<float> logits = kLogits;
  logits[2] = std::nanf("");
  EXPECT_THROW(pickToken(logits, GenerateOptions(), 3, 0), Error);
  logits[2] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(pickToken(logits, GenerateOptions(), 3, 0), Error);
  logits.assign(logits.size(), -std::numeric_limits<float>::infinity());
  EXPECT_THROW(pickToken(logits, GenerateOptions(), 3, 0), Error);
}

TEST(SamplerTest, NeverDrawsAMaskedToken) {
  std::vector<float> logits = kLogits;
  logits[1] = -std::numeric_limits<float>::infinity();
  GenerateOptions options;
  options.temperature = 1;
  for (uint64_t number = 0; number < 200; ++number)
    EXPECT_NE(pickToken(logits, options, 3, number), 1);
}

TEST(PromptWindowTest, TakesLabelsAtMostAPositionBehindTheirTokens) {
  for (int64_t shift : {0, 1, 2, 1 << 20}) {
    test::TokenModel model;
    model.b.header.training.label_shift = shift;
    const Image &image = model.image();
    EXPECT_EQ(test::failure([&] {
                PromptWindow window(image);
                const int64_t known[] = {3};
                window.show(known, 0);
              }),
              shift < 2 ? ""
                        : message("generation needs a model whose labels lie at most 1 position behind their tokens, "
                                  "got: ",
                                  shift));
  }
}

} // namespace
