//===- PtxRun.cpp - Runs single instructions of PTX
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/emulator/PtxRun.h"

namespace dtcc::test {

static std::string entry(const std::string &declarations, const std::string &body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
         declarations + body + "\nret;\n}\n";
}

std::string kernelOf(const std::string &body) {
  return entry(".reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<20>;\n"
               "ld.param.b64 %d0, [in]; ld.param.b64 %d1, [out]; mov.u32 %r0, %tid.x;\n"
               "mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;\n",
               body);
}

void runKernel(const std::string &text, void *in, uint64_t inBytes, void *out, uint64_t outBytes, unsigned threads,
               uint64_t seed) {
  emulator::DeviceMemory memory;
  memory.add(in, inBytes);
  memory.add(out, outBytes);
  emulator::Machine machine(text, memory);
  const void *parameters[] = {&in, &out};
  emulator::Launch launch;
  launch.block[0] = threads;
  launch.seed = seed;
  launch.parameters = parameters;
  machine.launch("k", launch);
}

std::vector<uint64_t> runCases(const std::string &body, unsigned width, const std::vector<Sources> &cases) {
  std::string text = entry(
      ".reg .pred %p, %q; .reg .b16 %ha, %hb, %hc, %h; .reg .b32 %ra, %rb, %rc, %r; .reg .b64 %da, %db, %dc, %d;\n"
      ".reg .b32 %t<4>; .reg .b64 %a<8>;\n"
      "ld.param.b64 %a0, [in]; ld.param.b64 %a1, [out]; mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x;\n"
      "mad.lo.s32 %t0, %t1, 64, %t0; mul.wide.u32 %a2, %t0, 24; add.s64 %a3, %a0, %a2;\n"
      "ld.global.b64 %da, [%a3]; ld.global.b64 %db, [%a3+8]; ld.global.b64 %dc, [%a3+16];\n"
      "mul.wide.u32 %a4, %t0, 8; add.s64 %a5, %a1, %a4;\n"
      "cvt.u32.u64 %ra, %da; cvt.u32.u64 %rb, %db; cvt.u32.u64 %rc, %dc;\n"
      "cvt.u16.u64 %ha, %da; cvt.u16.u64 %hb, %db; cvt.u16.u64 %hc, %dc; mov.b64 %d, 0;\n",
      body +
          (width == 16   ? "\ncvt.u64.u16 %d, %h;"
           : width == 32 ? "\ncvt.u64.u32 %d, %r;"
                         : "") +
          "\nst.global.b64 [%a5], %d;");
  std::vector<Sources> padded = cases;
  padded.resize((cases.size() + 63) / 64 * 64);
  std::vector<uint64_t> results(padded.size());
  emulator::DeviceMemory memory;
  memory.add(padded.data(), padded.size() * sizeof(Sources));
  memory.add(results.data(), results.size() * 8);
  emulator::Machine machine(text, memory);
  void *in = padded.data(), *out = results.data();
  const void *parameters[] = {&in, &out};
  emulator::Launch launch;
  launch.grid[0] = uint32_t(padded.size() / 64);
  launch.block[0] = 64;
  launch.parameters = parameters;
  machine.launch("k", launch);
  results.resize(cases.size());
  return results;
}

} // namespace dtcc::test
