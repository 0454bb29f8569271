//===- MeasureRank.cpp - What a rank of this machine does in a second
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler links no runtime, and a kernel alone is not what trains: so a small model is
// compiled, trained for some steps, and its profile read.
//
//===----------------------------------------------------------------------===//

#include "compiler/console/OutputFiles.h"
#include "dialects/interfaces/ParseJson.h"
#include "planner/validation/Fit.h"
#include "tools/dtcc-plan/measured/Calibrate.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace dtcc;
using llvm::StringRef;

static constexpr int64_t kLayers = 3, kClasses = 16, kSteps = 5;

/// Layers of N x N with a loss, on `batch` samples.
static std::string makeModel(int64_t batch, int64_t size) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto state = [&](const llvm::Twine &name, int64_t columns) {
    out << "graph.state @" << name << " : tensor<" << size << "x" << columns
        << "xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = \"" << name
        << "\", saved_shape = array<i64: " << size << ", " << columns << ">, init = #graph.init<normal, 0.0, 0.02>}\n";
  };
  for (int64_t i = 0; i < kLayers; ++i)
    state("w" + llvm::Twine(i), size);
  state("head", kClasses);
  std::string rows = ("tensor<" + llvm::Twine(batch) + "x" + llvm::Twine(size) + "xf32>").str();
  std::string labels = ("tensor<" + llvm::Twine(batch) + "xi64>").str(),
              vector = "tensor<" + std::to_string(batch) + "xf32>";
  out << "func.func @loss(%a0: " << rows << " {graph.name = \"x\", graph.role = \"data\"}, %labels: " << labels
      << " {graph.name = \"labels\", graph.role = \"labels\"}) -> (tensor<f32>, tensor<f32>) {\n";
  auto product = [&](const llvm::Twine &result, const llvm::Twine &name, int64_t from, int64_t columns) {
    std::string matrix = ("tensor<" + llvm::Twine(size) + "x" + llvm::Twine(columns) + "xf32>").str();
    out << "  %r" << from << " = graph.read @" << name << " : " << matrix << "\n  %" << result
        << " = graph.contract \"bk,kn->bn\" %a" << from << ", %r" << from << " : (" << rows << ", " << matrix
        << ") -> tensor<" << batch << "x" << columns << "xf32>\n";
  };
  for (int64_t i = 0; i < kLayers; ++i) {
    product("c" + llvm::Twine(i), "w" + llvm::Twine(i), i, size);
    out << "  %a" << i + 1 << " = graph.relu %c" << i << " : " << rows << '\n';
  }
  product("logits", "head", kLayers, kClasses);
  out << "  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<" << batch
      << "x" << kClasses << "xf32>, " << labels << ") -> (tensor<f32>, tensor<f32>, " << vector
      << ")\n  return %sum, %count : tensor<f32>, tensor<f32>\n}\n";
  return text;
}

/// A NumPy file of `count` equal values, given by their bytes.
static std::string makeArray(StringRef type, StringRef shape, StringRef value, int64_t count) {
  std::string header = ("{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }").str();
  header.append((64 - (header.size() + 11) % 64) % 64, ' ');
  header += '\n';
  std::string text = "\x93NUMPY\x01";
  text.push_back(0);
  text.push_back(char(header.size() & 255));
  text.push_back(char(header.size() >> 8));
  text += header;
  for (int64_t i = 0; i < count; ++i)
    text += value;
  return text;
}

static llvm::Error write(const llvm::Twine &path, StringRef text) {
  std::error_code code;
  llvm::raw_fd_ostream out(path.str(), code);
  if (!code)
    out << text;
  return code ? llvm::createStringError(code, path + ": cannot write: " + code.message()) : llvm::Error::success();
}

static llvm::Error run(llvm::ArrayRef<StringRef> command, StringRef folder) {
  std::string log = (folder + "/log").str();
  if (runProgram(command, log, folder) == 0)
    return llvm::Error::success();
  auto text = llvm::MemoryBuffer::getFile(log);
  StringRef first = text ? (*text)->getBuffer().trim().split('\n').first : StringRef("cannot be run");
  return llvm::createStringError("cannot measure: " + llvm::sys::path::filename(command[0]) + ": " + first);
}

namespace {
/// Commands of the profile by name, the largest of them, over all ranks and steps.
struct Event {
  double bytes = 0, flops = 0, seconds = 0;
  int64_t command = 0, step = 0;
};
using Events = std::map<std::string, std::vector<Event>>;
} // namespace

static llvm::Expected<Events> readProfile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), path + ": cannot read: " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> value = dtcc::parseJson((*buffer)->getBuffer());
  if (!value)
    return value.takeError();
  Events events;
  const llvm::json::Array *rows = value->getAsArray();
  for (size_t i = 0; rows && i < rows->size(); ++i) {
    const llvm::json::Object *row = (*rows)[i].getAsObject();
    const llvm::json::Object *fields = row ? row->getObject("args") : nullptr;
    std::optional<double> duration = row ? row->getNumber("dur") : std::nullopt;
    if (!fields || !duration || *duration <= 0)
      continue;
    Event event{fields->getNumber("bytes").value_or(0), fields->getNumber("flops").value_or(0), *duration * 1e-6,
                fields->getInteger("command").value_or(0), fields->getInteger("step").value_or(0)};
    // The first step touches memory for the first time.
    if (event.step > 1)
      events[fields->getString("name").value_or("").str()].push_back(event);
  }
  return events;
}

/// The median of `amount` a second over the events that have most of it.
static double medianRate(const std::vector<Event> &events, double Event::*amount) {
  double most = 0;
  for (const Event &event : events)
    most = std::max(most, event.*amount);
  std::vector<double> rates;
  for (const Event &event : events)
    if (event.*amount >= 0.9 * most)
      rates.push_back(event.*amount / event.seconds);
  return cost::quantile(rates, 0.5);
}

/// Seconds of a collective of at least `least` and at most `most` bytes: ranks that come early wait,
/// so that of the last counts; the median over the steps. And its bytes.
static std::pair<double, double> collective(const std::vector<Event> &events, double least, double most) {
  std::map<std::pair<int64_t, int64_t>, Event> last;
  for (const Event &event : events)
    if (event.bytes >= least && event.bytes <= most) {
      Event &known = last.try_emplace({event.command, event.step}, event).first->second;
      if (event.seconds < known.seconds)
        known = event;
    }
  std::vector<double> seconds, bytes;
  for (const auto &[key, event] : last) {
    seconds.push_back(event.seconds);
    bytes.push_back(event.bytes);
  }
  return {cost::quantile(seconds, 0.5), cost::quantile(bytes, 0.5)};
}

llvm::Expected<MeasuredRank> dtcc::measureRank(int64_t ranks, int64_t size, StringRef folder) {
  int64_t batch = ranks * std::max<int64_t>(size / 4, 16);
  std::string model = (folder + "/model.mlir").str(), program = (folder + "/program").str();
  std::string half = std::string("\0\0\0\x3f", 4), zero(8, '\0');
  std::string columns = std::to_string(batch) + ", " + std::to_string(size), rows = std::to_string(batch) + ",";
  for (auto [path, text] : {std::pair{model, makeModel(batch, size)},
                            {(folder + "/x.npy").str(), makeArray("<f4", columns, half, batch * size)},
                            {(folder + "/labels.npy").str(), makeArray("<i8", rows, zero, batch)}})
    if (llvm::Error error = write(path, text))
      return error;
  static int anchor;
  llvm::SmallString<128> compiler(llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(nullptr, &anchor)));
  llvm::sys::path::append(compiler, "dtcc");
  std::string cluster = "--cluster=cpu:" + std::to_string(ranks), mesh = "--mesh=dp=" + std::to_string(ranks);
  if (llvm::Error error = run({compiler, model, cluster, mesh, "--zero=0", "-o", program}, folder))
    return error;
  std::string profile = (folder + "/profile.json").str(), data = ("--data=" + folder).str();
  std::string steps = "--steps=" + std::to_string(kSteps), profileOption = "--profile=" + profile;
  if (llvm::Error error = run({program, data, steps, profileOption}, folder))
    return error;
  llvm::Expected<Events> events = readProfile(profile);
  if (!events)
    return events.takeError();
  MeasuredRank rank;
  rank.flopsPerSecond = medianRate((*events)["contract"], &Event::flops);
  // The profile counts what AdamW holds, 16 bytes a parameter; it reads these and writes 12.
  rank.memoryBytesPerSecond = medianRate((*events)["update_bucket"], &Event::bytes) * 28 / 16;
  auto [large, bytes] = collective((*events)["all_reduce"], double(size * size), 1e18);
  auto [small, few] = collective((*events)["all_reduce"], 0, 64);
  rank.linkBytesPerSecond = large > 0 ? 2 * double(ranks - 1) / double(ranks) * bytes / large : 0;
  rank.latencySeconds = small;
  if (!(rank.flopsPerSecond > 0 && rank.memoryBytesPerSecond > 0 && rank.linkBytesPerSecond > 0))
    return llvm::createStringError("cannot measure: the profile of the program holds no products, updates or sums");
  return rank;
}
