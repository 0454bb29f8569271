//===- Trace.cpp - A forecast step for Perfetto
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/pages/Trace.h"
#include "llvm/Support/JSON.h"
#include <set>

using namespace dtcc;

static void nameTrack(llvm::json::OStream &out, llvm::StringRef what, int64_t rank, int64_t thread,
                      const std::string &name) {
  out.object([&] {
    out.attribute("ph", "M");
    out.attribute("name", what);
    out.attribute("pid", rank);
    out.attribute("tid", thread);
    out.attributeObject("args", [&] { out.attribute("name", name); });
  });
}

/// Messages to the next rank and to the one before are under way at the same time: a track for each.
static int64_t trackOf(const cost::TimelineEvent &event) {
  return 2 * int64_t(event.stream) + (event.work == cost::TimelineWork::SendBackward);
}

void dtcc::writeTrace(const cost::StepTimeline &timeline, llvm::StringRef name, llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream);
  out.object([&] {
    out.attribute("displayTimeUnit", "ms");
    out.attributeObject("otherData", [&] { out.attribute("forecast of", name); });
    out.attributeArray("traceEvents", [&] {
      std::set<std::pair<int64_t, int64_t>> tracks;
      for (const cost::TimelineEvent &event : timeline.events)
        tracks.insert({event.rank, trackOf(event)});
      int64_t last = -1;
      for (auto [rank, track] : tracks) {
        if (rank != last)
          nameTrack(out, "process_name", rank, 0, "rank " + std::to_string(rank) + " of the pipeline");
        last = rank;
        std::string name(toString(cost::TimelineStream(track / 2)));
        nameTrack(out, "thread_name", rank, track, track % 2 ? name + " backward" : name);
      }
      for (const cost::TimelineEvent &event : timeline.events)
        out.object([&] {
          out.attribute("ph", "X");
          out.attribute("name", event.name());
          out.attribute("pid", event.rank);
          out.attribute("tid", trackOf(event));
          out.attribute("ts", event.start * 1e6);
          out.attribute("dur", (event.end - event.start) * 1e6);
          out.attributeObject("args", [&] {
            if (event.stage >= 0)
              out.attribute("stage", event.stage);
            if (event.microbatch >= 0)
              out.attribute("micro-batch", event.microbatch);
            if (event.unit >= 0)
              out.attribute("unit", event.unit);
          });
        });
    });
  });
  stream << '\n';
}
