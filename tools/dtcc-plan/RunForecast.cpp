//===- RunForecast.cpp - What a whole run takes and costs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/RunForecast.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::formatv;

llvm::Error RunForecast::readRun(const Arguments &arguments, double missing) {
  llvm::Expected<double> given = arguments.amount("tokens", 0), dollars = arguments.number("price", missing);
  if (!given || !dollars)
    return llvm::joinErrors(given.takeError(), dollars.takeError());
  run = *given;
  price = *dollars;
  return llvm::Error::success();
}

void RunForecast::readStep(const plan::SearchReport &report) {
  software = report.software;
  parameters = report.parameters;
  ranks = report.devices;
  step = report.plans.front().parts;
  itemsPerStep = double(report.batch) * std::max(report.sequence, 1.0);
  items = report.sequence > 0 ? "tokens" : "samples";
}

/// Three digits behind the point of seconds; small steps, and parts that would be 0, in their own unit.
static std::string secondsOf(double seconds, double total) {
  return total < 0.1 || seconds < 0.0005 ? formatSeconds(seconds) : formatv("{0:f3} s", seconds).str();
}

std::string dtcc::durationOf(double seconds) {
  if (seconds >= 86400)
    return formatv("{0:f1} days", seconds / 86400).str();
  return seconds >= 3600 ? formatv("{0:f1} hours", seconds / 3600).str() : formatSeconds(seconds);
}

void dtcc::printRun(const RunForecast &forecast, llvm::raw_ostream &stream) {
  if (forecast.run <= 0)
    return;
  stream << formatv("  {0} {1}: {2}, {3} device-hours", formatLarge(forecast.run), forecast.items,
                    durationOf(forecast.seconds()), formatAmount(forecast.deviceHours()));
  if (forecast.price > 0)
    stream << formatv(", ${0} at ${1:f2} an hour", formatAmount(forecast.deviceHours() * forecast.price),
                      forecast.price);
  else
    stream << "; --price=X gives dollars";
  stream << '\n';
}

void dtcc::writeRun(const RunForecast &forecast, llvm::json::OStream &out) {
  if (forecast.run <= 0)
    return;
  out.attribute("days", forecast.seconds() / 86400);
  out.attribute("device_hours", forecast.deviceHours());
  if (forecast.price > 0)
    out.attribute("dollars", forecast.deviceHours() * forecast.price);
}

/// "an h100-sxm", "a rank of this machine".
static std::string withArticle(llvm::StringRef noun) {
  bool isVowel = noun.size() > 1 && (llvm::StringRef("aeiou").contains(noun[0]) ||
                                     (llvm::StringRef("hlmrs").contains(noun[0]) && llvm::isDigit(noun[1])));
  return ((isVowel ? "an " : "a ") + noun).str();
}

void dtcc::printForecast(const RunForecast &forecast, llvm::raw_ostream &stream) {
  double total = forecast.step.total();
  printHeading(stream, forecast.heading);
  if (!forecast.measured)
    printSoftware(forecast.software, stream);
  stream << formatv("  {0,-38} {1,12}   {2}\n", "a step", secondsOf(total, total), forecast.note);
  for (const StepPart &part : stepParts())
    if (double seconds = forecast.step.*part.seconds; seconds > 1e-6 * total && !forecast.measured)
      stream << formatv("    {0,-40} {1,8} {2,4:f0} %\n", part.name, secondsOf(seconds, total), 100 * seconds / total);
  stream << formatv("  {0,-38} {1,10}", forecast.items + " a second", formatCount(uint64_t(forecast.itemsPerSecond())));
  if (forecast.utilisation)
    stream << formatv("     {0:f1} % of the peak by the definition of the model (MFU)", 100 * *forecast.utilisation);
  stream << formatv("\n  {0,-38} {1,10}", "memory of a device", formatBytes(forecast.memoryBytes));
  if (forecast.capacity > 0)
    stream << formatv("     {0} {1} of {2}", forecast.fits ? "fits in the" : "does not fit in the",
                      formatBytes(forecast.capacity), withArticle(forecast.device));
  stream << '\n';
  if (forecast.hostBytes > 0)
    stream << formatv("  {0,-38} {1,10}\n", "with its host", formatBytes(forecast.hostBytes));
  printRun(forecast, stream);
}

void dtcc::printForecastJson(const RunForecast &forecast, llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("software", forecast.software);
    out.attribute("parameters", forecast.parameters);
    out.attribute("devices", forecast.ranks);
    out.attribute("microbatches", forecast.microbatches);
    out.attributeObject("step_seconds", [&] {
      out.attribute("total", forecast.step.total());
      if (forecast.measured)
        return;
      for (const StepPart &part : stepParts())
        out.attribute(part.key, forecast.step.*part.seconds);
      out.attribute("recompute", forecast.step.recompute);
    });
    out.attribute(forecast.items == "tokens" ? "tokens_per_second" : "examples_per_second", forecast.itemsPerSecond());
    if (forecast.utilisation)
      out.attribute("utilisation", *forecast.utilisation);
    out.attribute("memory_bytes", forecast.memoryBytes);
    if (forecast.hostBytes > 0)
      out.attribute("host_bytes", forecast.hostBytes);
    if (forecast.capacity > 0)
      out.attribute("fits", forecast.fits);
    writeRun(forecast, out);
  });
  stream << '\n';
}
