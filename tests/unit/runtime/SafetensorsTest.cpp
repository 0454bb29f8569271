//===- SafetensorsTest.cpp - Safetensors, good and bad -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/WholeFile.h"
#include "runtime/core/Error.h"
#include "tests/unit/runtime/LinearRegression.h"
#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace dtcc::rt::test {
namespace {

std::string fileOf(const std::string &header, size_t dataBytes) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + std::string(dataBytes, 'd');
}

std::string refusal(const Folder &folder, const std::string &bytes) {
  writeFile(folder / "a.safetensors", bytes);
  try {
    SafetensorsFile file(folder / "a.safetensors");
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST(Safetensors, RoundTrip) {
  Folder folder;
  SafetensorsLayout layout;
  layout.add("a", DTCC_F32, {2, 3});
  layout.add("b.\"quoted\" \xc3\xa4", DTCC_BF16, {3});
  layout.add("scalar", DTCC_I64, {});
  layout.add("empty", DTCC_F64, {0, 5});
  layout.setMetadata("who", "test");
  layout.finish();
  std::string bytes = layout.headerBytes() + std::string(layout.fileBytes() - layout.headerBytes().size(), '\0');
  bytes[layout.offset(2)] = 42;
  writeFile(folder / "f", bytes);
  SafetensorsFile file(folder / "f");
  EXPECT_EQ(file.entries().size(), 4u);
  EXPECT_EQ(file.find("a")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.find("b.\"quoted\" \xc3\xa4")->dtype, "BF16");
  EXPECT_EQ(file.find("scalar")->elements(), 1);
  EXPECT_EQ(static_cast<int>(*file.data(*file.find("scalar"))), 42);
  EXPECT_EQ(file.metadata().at("who"), "test");
  EXPECT_EQ(file.find("none"), nullptr);
  EXPECT_EQ(layout.headerBytes().size() % 8, 0u);
}

TEST(Safetensors, RefusesWhatIsDamaged) {
  Folder folder;
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(refusal(folder, fileOf(good, 8)), "");
  struct Case {
    const char *expected;
    std::string bytes;
  };
  const Case cases[] = {
      {"needs at least 8", "abc"},
      {"does not fit the file", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}"},
      {"not a JSON object", fileOf("[1]", 0)},
      {"not a JSON object", fileOf("{\"a\":", 0)},
      {"truncated", fileOf(good, 7)},
      {"is not an object", fileOf(R"({"a":3})", 8)},
      {"must lie at most 64 deep", fileOf(std::string(100'000, '['), 0)},
      {"must lie at most 64 deep", fileOf("{\"a\":" + std::string(100'000, '['), 0)},
      {"impossible shape", fileOf(R"({"a":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0]}})", 0)},
      {"lacks a dtype", fileOf(R"({"a":{"dtype":"F32","shape":[2]}})", 8)},
      {"unknown dtype", fileOf(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8)},
      {"impossible shape", fileOf(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8)},
      {"impossible shape", fileOf(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8)},
      {"impossible shape",
       fileOf(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}})", 8)},
      {"needs 12 bytes", fileOf(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)},
      {"lies at bytes 8 to 0", fileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8)},
      {"not numbers", fileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":["0",8]}})", 8)},
      {"overlap", fileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                         12)},
  };
  for (const Case &c : cases) {
    std::string found = refusal(folder, c.bytes);
    EXPECT_NE(found.find(c.expected), std::string::npos) << c.expected << "\ngot: " << found;
  }
  std::string whole = fileOf(good, 8);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal(folder, whole.substr(0, length)), "") << length;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      refusal(folder, bad);
    }
}

TEST(WholeFile, FailsOnAFullDisk) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  try {
    WholeFile file("/dev/full", 4096, /*create=*/false);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, Status::Write);
  }
}

TEST(WholeFile, ReplacesOnlyWhenWhole) {
  Folder folder;
  writeFile(folder / "f", "old");
  {
    WholeFile file(folder / "f.tmp", 3, /*create=*/true);
    EXPECT_EQ(readFile(folder / "f"), "old");
  }
  writeWhole(folder / "f", "new contents");
  EXPECT_EQ(readFile(folder / "f"), "new contents");
  EXPECT_FALSE(std::filesystem::exists(folder / "f.tmp"));
}

TEST(Manifest, RefusesWhatIsDamaged) {
  Folder folder;
  LinearRegressionPlan plan;
  plan.ranks = 2;
  std::vector<uint64_t> bytes = linearRegressionImage(plan);
  Image image(bytes.data(), linearRegressionKernelCount);
  RunIdentity identity{"adamw(0.9)", {{"x", "x.npy", 100, "0123456789abcdef"}}, {}};
  FileSummary summary{10, 20};
  std::string good = manifestText(image, {3, 24, 7, {}}, identity, {{"a", summary}, {"b", summary}});
  auto refuse = [&](const std::string &text) -> std::string {
    writeFile(folder / "manifest.json", text);
    try {
      readManifest(folder / "manifest.json");
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  };
  auto with = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return refuse(sealManifest(text.replace(at, from.size(), to)));
  };
  EXPECT_EQ(refuse(good), "");
  Manifest manifest = readManifest(folder / "manifest.json");
  EXPECT_EQ(manifest.identity.optimizer, "adamw(0.9)");
  EXPECT_EQ(manifest.identity.data, identity.data);
  EXPECT_EQ(manifest.files[1].summary->headerHash, 20u);
  EXPECT_NE(refuse(std::string(good).replace(good.find("\"step\": 3"), 9, "\"step\": 4")).find("not as it was written"),
            std::string::npos);
  EXPECT_NE(refuse("nonsense").find("not the manifest"), std::string::npos);
  EXPECT_NE(with("\"step\": 3", "\"step\": -3").find("'step' must be"), std::string::npos);
  EXPECT_NE(with("\"version\": 2", "\"version\": 3").find("version must be 1 to 2, got: 3"), std::string::npos);
  EXPECT_NE(with("\"a\"", "\"../a\"").find("name in the checkpoint's folder"), std::string::npos);
  size_t second = good.find(",\n  {", good.find("\"a\"")), end = good.find('}', second) + 1;
  EXPECT_NE(with(good.substr(second, end - second), "").find("a file for each of 2 ranks"), std::string::npos);
  EXPECT_NE(with("\"f32\"", "\"f31\"").find("unknown element type"), std::string::npos);
  EXPECT_NE(with("\"padded\": 5", "\"padded\": 4").find("padded size"), std::string::npos);
  EXPECT_NE(with("\"length\": 6", "\"length\": 4").find("inside its bucket"), std::string::npos);
  EXPECT_NE(with("\"axes\": [", "\"axes\": [0, 0").find("must name an axis once"), std::string::npos);
  // A run that began there would read before its data.
  for (const char *samples : {"9223372036854775807", "72057594037927937", "18446744073709551615", "-1"})
    EXPECT_NE(with("\"examples\": 24", std::string("\"examples\": ") + samples).find("'examples' must be"),
              std::string::npos)
        << samples;
  EXPECT_NE(with("\"padded\": 5", "\"padded\": 72057594037927937").find("at most 72057594037927936"),
            std::string::npos);
  EXPECT_NE(refuse(std::string(100'000, '[')).find("at most 64 deep"), std::string::npos);
  EXPECT_NE(refuse("{\"step\": " + std::string(100'000, '[')).find("at most 64 deep"), std::string::npos);
  for (size_t length = 0; length + 1 < good.size(); length += 7)
    EXPECT_NE(refuse(good.substr(0, length)), "") << length;
}

} // namespace
} // namespace dtcc::rt::test
