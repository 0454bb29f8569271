//===- ModelKernelsTest.cpp - The kernels of whole models on an emulated GPU
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel that a model's training step needs, by dtcc itself: what its PTX makes of
// random operands is what the processor makes of them.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "tests/unit/codegen/CompiledKernel.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace dtcc;
using test::CompiledKernel;
using test::Run;

namespace {

struct Model {
  const char *name, *bind;
  std::vector<const char *> precisions = {"f32", "bf16"};
};
void PrintTo(const Model &model, std::ostream *stream) { *stream << model.name; }

/// The operand of a kernel, on a boundary that a GPU's vectors may count on.
class Operand {
public:
  Operand(MemRefType type, std::mt19937 &random) : type(type), bytes(exec::getSpan(type) + 64) {
    std::uniform_real_distribution<float> real(-2, 2);
    for (int64_t i = 0, e = exec::getSpan(type) / width(); i < e; ++i)
      if (Type element = type.getElementType(); element.isInteger(1))
        data()[i] = char(random() % 2);
      else if (element.isInteger())
        *reinterpret_cast<int32_t *>(data() + i * width()) = int32_t(random() % 8);
      else
        setCell(i, real(random));
  }

  char *data() {
    return reinterpret_cast<char *>(llvm::alignTo(reinterpret_cast<uintptr_t>(bytes.data()), llvm::Align(32)));
  }
  double cell(int64_t i) {
    const void *at = data() + i * width();
    Type element = type.getElementType();
    if (element.isF32())
      return *static_cast<const float *>(at);
    if (isa<FloatType>(element)) {
      llvm::APInt bits(16, *static_cast<const uint16_t *>(at));
      return llvm::APFloat(cast<FloatType>(element).getFloatSemantics(), bits).convertToDouble();
    }
    return element.isInteger(64)   ? double(*static_cast<const int64_t *>(at))
           : element.isInteger(32) ? double(*static_cast<const int32_t *>(at))
                                   : double(*static_cast<const char *>(at));
  }
  /// Largest relative change by one rounding of a cell.
  double rounding() const {
    Type element = type.getElementType();
    return element.isBF16() ? 8e-3 : element.isF16() ? 1e-3 : element.isF32() ? 1e-5 : 0;
  }

  MemRefType type;

private:
  int64_t width() const { return getElementBytes(type.getElementType()); }
  void setCell(int64_t i, float value) {
    char *at = data() + i * width();
    if (type.getElementType().isF32()) {
      *reinterpret_cast<float *>(at) = value;
      return;
    }
    llvm::APFloat number(value);
    bool inexact;
    number.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &inexact);
    *reinterpret_cast<uint16_t *>(at) = uint16_t(number.bitcastToAPInt().getZExtValue());
  }
  std::vector<char> bytes;
};

/// The module of exec level that dtcc makes of a model for four ranks, or null.
OwningOpRef<ModuleOp> compile(MLIRContext &context, StringRef path, StringRef bind, StringRef precision) {
  llvm::SmallString<128> text;
  if (llvm::sys::fs::createTemporaryFile("kernels", "mlir", text))
    return nullptr;
  std::string bindText = ("--bind=" + bind).str(), precisionText = ("--precision=" + precision).str();
  std::optional<StringRef> redirects[] = {std::nullopt, std::nullopt, StringRef("/dev/null")};
  int status = llvm::sys::ExecuteAndWait(
      DTCC_COMPILER,
      {DTCC_COMPILER, path, bindText, precisionText, "--mesh=dp=2,tp=2", "--zero=0", "--emit=exec", "-o", text},
      std::nullopt, redirects);
  OwningOpRef<ModuleOp> module = status ? nullptr : parseSourceFile<ModuleOp>(text, &context);
  llvm::sys::fs::remove(text);
  return module;
}

/// Runs one exec.func of a module in both ways and compares. Counts cells that are numbers.
void compare(ModuleOp whole, exec::FuncOp func, int64_t &cells, int64_t &numbers) {
  SmallVector<MemRefType> types;
  unsigned inputs = func.getBody().front().getNumArguments(), outputs = func.getYield()->getNumOperands();
  for (unsigned i = 0; i < inputs + outputs; ++i)
    types.push_back(func.getInputBuffer(i));
  std::vector<std::vector<Operand>> operands;
  for (Run run : {Run::Whole, Run::Gpu}) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(whole.getLoc());
    for (Operation &op : *whole.getBody())
      if (isa<spmd::MeshOp>(op) || &op == func.getOperation())
        module->push_back(op.clone());
    std::mt19937 random(11);
    std::vector<Operand> &mine = operands.emplace_back();
    std::vector<test::Buffer> buffers;
    for (MemRefType type : types)
      mine.emplace_back(type, random);
    for (unsigned i = 0; i < inputs + outputs; ++i) {
      int64_t over = i < inputs ? -1 : func.getInPlace()[i - inputs];
      buffers.push_back({mine[over >= 0 ? over : i].data(), exec::getSpan(types[i])});
    }
    // Not the first part of anything.
    int64_t coordinates[] = {0, 1, 1};
    dtcc_rank rank{3, 4, 1, 5, 1, coordinates};
    ASSERT_EQ(CompiledKernel(*module, func.getSymName(), run).call(rank, buffers), "");
  }
  for (unsigned output = 0; output < outputs; ++output) {
    int64_t over = func.getInPlace()[output];
    Operand &cpu = operands[0][over >= 0 ? over : inputs + output],
            &gpu = operands[1][over >= 0 ? over : inputs + output];
    forEachIndex(cpu.type.getShape(), [&](ArrayRef<int64_t> index, int64_t) {
      int64_t at = positionOf(index, exec::getStrides(cpu.type));
      double want = cpu.cell(at), got = gpu.cell(at);
      ++cells;
      numbers += std::isfinite(want);
      bool same = got == want || (std::isnan(got) && std::isnan(want));
      EXPECT_TRUE(same || std::abs(got - want) <= cpu.rounding() * (1 + std::abs(want)))
          << "output " << output << " cell " << at << ": " << got << ", on a processor " << want;
    });
  }
}

class ModelKernels : public testing::TestWithParam<Model> {
protected:
  static void SetUpTestSuite() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  }
};

TEST_P(ModelKernels, AreOnAGpuWhatTheyAreOnAProcessor) {
  const Model &model = GetParam();
  std::string path = std::string(DTCC_FIXTURES) + "/" + model.name + "/loss.onnx";
  if (!llvm::sys::fs::exists(path))
    path = std::string(DTCC_SHARED_MODELS) + "/" + model.name + "/loss.onnx";
  if (!llvm::sys::fs::exists(path))
    GTEST_SKIP() << "the shared models are not there";
  for (const char *precision : model.precisions) {
    MLIRContext context(test::kernelDialects());
    context.loadAllAvailableDialects();
    OwningOpRef<ModuleOp> module = compile(context, path, model.bind, precision);
    ASSERT_TRUE(module) << precision;
    int64_t cells = 0, numbers = 0, kernels = 0;
    for (auto func : module->getOps<exec::FuncOp>()) {
      SCOPED_TRACE(std::string(precision) + " @" + func.getSymName().str());
      compare(*module, func, cells, numbers);
      ++kernels;
      if (HasFailure())
        return;
    }
    EXPECT_GT(kernels, 0);
    EXPECT_GT(double(numbers), 0.9 * double(cells)) << "random operands say little";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ModelKernels,
                         testing::Values(Model{"mlp", "batch=8"},
                                         Model{"gpt2", "batch=4,seq=16", {"f32", "bf16", "fp16"}},
                                         Model{"llama", "batch=4,seq=16"}, Model{"bert", "batch=4,seq=16"},
                                         Model{"vit", "batch=4"}, Model{"resnet", "batch=4", {"bf16"}},
                                         Model{"mixtral", "batch=4,seq=16"}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
