//===- Fit.cpp - Constants from measured runs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/validation/Fit.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace dtcc::cost {

namespace {
/// The normal equations of a weighted least squares problem in few unknowns.
class NormalEquations {
public:
  explicit NormalEquations(size_t size) : size(size), matrix(size * size), right(size) {}
  /// sum of gradient[i] * x[i] should be `value`. Entries are (unknown, coefficient).
  void add(const std::vector<std::pair<size_t, double>> &gradient, double value, double weight) {
    for (auto [i, a] : gradient) {
      right[i] += weight * a * value;
      for (auto [j, b] : gradient)
        matrix[i * size + j] += weight * a * b;
    }
  }
  /// Solves by Cholesky's method. The pull towards the start values makes the matrix positive definite.
  std::vector<double> solve() {
    for (size_t j = 0; j < size; ++j) {
      for (size_t k = 0; k < j; ++k)
        for (size_t i = j; i < size; ++i)
          at(i, j) -= at(i, k) * at(j, k);
      double pivot = std::sqrt(std::max(at(j, j), 1e-12));
      for (size_t i = j; i < size; ++i)
        at(i, j) /= pivot;
    }
    std::vector<double> x = right;
    for (size_t i = 0; i < size; ++i) {
      for (size_t k = 0; k < i; ++k)
        x[i] -= at(i, k) * x[k];
      x[i] /= at(i, i);
    }
    for (size_t i = size; i-- > 0;) {
      for (size_t k = i + 1; k < size; ++k)
        x[i] -= at(k, i) * x[k];
      x[i] /= at(i, i);
    }
    return x;
  }

private:
  double &at(size_t i, size_t j) { return matrix[i * size + j]; }
  size_t size;
  std::vector<double> matrix, right;
};

double logError(const FitRow &row, const Constants &constants, const Calibration &calibration = {}) {
  return std::log(priceStep(row.problem, constants, calibration).total() / row.seconds);
}

/// Weight that turns squares into absolute values beyond `spread`.
double robust(double error, double spread) { return 1 / std::max(1.0, std::abs(error) / spread); }
constexpr double kStep = 0.02;
} // namespace

Constants fitConstants(const std::vector<FitRow> &rows, Constants constants, const FitOptions &options) {
  std::vector<ConstantRow> free;
  for (const ConstantRow &row : constantRows())
    if (row.spread > 0)
      free.push_back(row);
  std::map<std::string, std::pair<size_t, double>> sources; // unknown, rows
  for (const FitRow &row : rows)
    ++sources.try_emplace(row.source, free.size() + sources.size(), 0.0).first->second.second;
  std::vector<double> effects(sources.size());
  for (int round = 0; round < options.rounds; ++round) {
    NormalEquations equations(free.size() + sources.size());
    for (size_t i = 0; i < free.size(); ++i) {
      double off = std::log(free[i].start / constants.*free[i].member);
      equations.add({{i, 1.0}}, off, 1 / (free[i].spread * free[i].spread));
    }
    for (auto &[name, source] : sources)
      equations.add({{source.first, 1.0}}, -effects[source.first - free.size()],
                    1 / (options.sourceSpread * options.sourceSpread));
    for (const FitRow &row : rows) {
      auto [unknown, count] = sources.at(row.source);
      double base = logError(row, constants), error = base + effects[unknown - free.size()];
      std::vector<std::pair<size_t, double>> gradient = {{unknown, 1.0}};
      for (size_t i = 0; i < free.size(); ++i) {
        Constants moved = constants;
        moved.*free[i].member *= 1 + kStep;
        if (double slope = (logError(row, moved) - base) / std::log(1 + kStep); slope != 0)
          gradient.push_back({i, slope});
      }
      double weight = std::pow(count, options.sourceWeight - 1) * robust(error, options.rowSpread);
      equations.add(gradient, -error, weight / (options.rowSpread * options.rowSpread));
    }
    std::vector<double> move = equations.solve();
    for (size_t i = 0; i < free.size(); ++i)
      constants.*free[i].member *= std::exp(std::clamp(move[i], -0.3, 0.3));
    for (size_t i = 0; i < effects.size(); ++i)
      effects[i] += move[free.size() + i];
  }
  return constants;
}

Calibration fitCalibration(const std::vector<FitRow> &rows, const Constants &constants) {
  constexpr double kSpread[] = {0.08, 0.5}, kRow = 0.06, kModel = 0.06;
  constexpr double Calibration::*kScales[] = {&Calibration::device, &Calibration::host};
  Calibration calibration;
  // Rows of one model err alike: n of them weigh as much as their mean.
  std::map<std::string, double> models;
  for (const FitRow &row : rows)
    ++models[row.model];
  for (int round = 0; round < 12; ++round) {
    NormalEquations equations(2);
    for (size_t i = 0; i < 2; ++i)
      equations.add({{i, 1.0}}, -std::log(calibration.*kScales[i]), 1 / (kSpread[i] * kSpread[i]));
    for (const FitRow &row : rows) {
      double base = logError(row, constants, calibration);
      std::vector<std::pair<size_t, double>> gradient;
      for (size_t i = 0; i < 2; ++i) {
        Calibration moved = calibration;
        moved.*kScales[i] *= 1 + kStep;
        gradient.push_back({i, (logError(row, constants, moved) - base) / std::log(1 + kStep)});
      }
      double spread = kRow * kRow + models[row.model] * kModel * kModel;
      equations.add(gradient, -base, robust(base, std::sqrt(spread)) / spread);
    }
    std::vector<double> move = equations.solve();
    for (size_t i = 0; i < 2; ++i)
      calibration.*kScales[i] *= std::exp(std::clamp(move[i], -0.5, 0.5));
  }
  return calibration;
}

Calibration onOtherDevices(const Calibration &calibration) {
  constexpr double kShared = 0.3;
  return {std::pow(calibration.device, kShared), calibration.host};
}

double quantile(std::vector<double> values, double part) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  double place = part * double(values.size() - 1);
  size_t below = size_t(place);
  double above = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (place - double(below)) * (above - values[below]);
}

} // namespace dtcc::cost
