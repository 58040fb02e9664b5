#include "headscope/results.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/fields.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

bool same_labels(const Dimension& a, const Dimension& b) {
  return a.text == b.text && a.values == b.values;
}

void check_whole(const std::string& what, const Array& values) {
  for (const double value : values.values) {
    if (value == std::round(value) && std::abs(value) <= 0x1p53) continue;
    throw ShapeError(what + ": expected whole numbers, got " + std::to_string(value));
  }
}

void check_flags(const std::string& what, Variable& variable) {
  check_whole(what, variable.values);
  const auto n_meaning = static_cast<double>(variable.flag_meanings.size());
  for (const double value : variable.values.values) {
    if (value >= 0 && value < std::min(n_meaning, 256.0)) continue;
    throw ShapeError(what + ": expected flags below " +
                     std::to_string(variable.flag_meanings.size()) + ", got " +
                     std::to_string(static_cast<long long>(value)));
  }
  for (std::string& meaning : variable.flag_meanings) {
    std::ranges::replace(meaning, ' ', '_');
  }
}

// The datasets that hold a variable.
std::vector<std::string> dataset_names(const Variable& variable) {
  std::vector<std::string> names{variable.name};
  if (!variable.interval) return names;
  for (const char* const bound :
       {layout::low, layout::high, layout::resamples, layout::influences}) {
    names.push_back(layout::bound_name(variable.name, bound));
  }
  return names;
}

/// Replicate x estimate, NaN where an estimate has fewer; empty if there are none, or more than
/// n_kept of an estimate.
Array kept_replicates(const std::vector<Estimate>& estimates, const Shape& shape,
                      std::size_t n_kept, std::vector<float> Estimate::*replicates) {
  std::size_t most = 0;
  for (const Estimate& estimate : estimates) most = std::max(most, (estimate.*replicates).size());
  if (most == 0 || most > n_kept) return {};
  Shape kept_shape{n_kept};
  kept_shape.insert(kept_shape.end(), shape.begin(), shape.end());
  Array kept(kept_shape, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const std::vector<float>& of_estimate = estimates[i].*replicates;
    for (std::size_t r = 0; r < of_estimate.size(); ++r) {
      kept.values[r * estimates.size() + i] = of_estimate[r];
    }
  }
  return kept;
}

/// Empty if there are none, or not as many of every estimate that has some.
Array kept_resamples(const std::vector<Estimate>& estimates, const Shape& shape) {
  std::size_t n_kept = 0;
  for (const Estimate& estimate : estimates) n_kept = std::max(n_kept, estimate.resamples.size());
  const bool are_equally_many = std::ranges::all_of(estimates, [&](const Estimate& estimate) {
    return estimate.resamples.empty() || estimate.resamples.size() == n_kept;
  });
  if (!are_equally_many) return {};
  return kept_replicates(estimates, shape, n_kept, &Estimate::resamples);
}

/// What an array of replicates has of value `i`.
std::vector<float> replicates_of(const Array& kept, std::size_t i, std::size_t n_value) {
  std::vector<float> replicates;
  for (std::size_t at = i; at < kept.size(); at += n_value) {
    replicates.push_back(static_cast<float>(kept.values[at]));
  }
  return replicates;
}

void check_new_names(const std::string& what, const ResultsGroup& group, const Variable& variable) {
  std::vector<std::string> taken;
  for (const auto& [name, dimension] : group.dimensions) taken.push_back(name);
  for (const Variable& member : group.variables) {
    for (std::string& name : dataset_names(member)) taken.push_back(std::move(name));
  }
  for (const std::string& name : dataset_names(variable)) {
    if (std::ranges::find(taken, name) == taken.end()) continue;
    throw ShapeError(what + ": expected a new name, got one that is taken");
  }
}

Shape extents(const ResultsGroup& group, const std::vector<std::string>& dimensions,
              const std::string& what) {
  Shape shape;
  for (const std::string& name : dimensions) {
    const auto found = group.dimensions.find(name);
    if (found == group.dimensions.end()) {
      throw ShapeError(what + ": expected a known dimension, got " + name);
    }
    shape.push_back(found->second.size());
  }
  return shape;
}

void check_described(const std::string& what, const Variable& variable) {
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string&>("long_name", variable.long_name),
        {"units", variable.units},
        {"references", variable.references}}) {
    if (text.empty()) throw ShapeError(what + ": expected " + name + ", got none");
  }
}

}  // namespace

Estimate Variable::estimate(std::size_t i) const {
  if (!interval) return {.value = values.values[i]};
  return {values.values[i], interval->low.values[i], interval->high.values[i]};
}

Estimate Variable::kept_estimate(std::size_t i) const {
  const auto is_missing = [](float replicate) { return std::isnan(replicate); };
  Estimate kept = estimate(i);
  if (!interval) return kept;
  // A value is NaN on some resamples, and has no influence of a part that does not exist.
  kept.resamples = replicates_of(interval->resamples, i, values.size());
  if (std::ranges::all_of(kept.resamples, is_missing)) kept.resamples.clear();
  kept.influences = replicates_of(interval->influences, i, values.size());
  std::erase_if(kept.influences, is_missing);
  return kept;
}

Dimension Dimension::count(std::string name, std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 0.0);
  return numbers(std::move(name), std::move(values));
}

Dimension Dimension::labels(std::string name, std::vector<std::string> labels) {
  return {std::move(name), std::move(labels), {}};
}

Dimension Dimension::numbers(std::string name, std::vector<double> numbers) {
  return {std::move(name), {}, std::move(numbers)};
}

std::string Dimension::label(std::size_t i, int digits) const {
  return text.empty() ? number_text(values[i], digits) : text[i];
}

std::optional<std::size_t> Dimension::place_of(const std::string& label) const {
  const auto found = std::ranges::find(text, label);
  if (found == text.end()) return std::nullopt;
  return static_cast<std::size_t>(found - text.begin());
}

std::size_t Dimension::index_of(const std::string& label) const {
  const std::optional<std::size_t> place = place_of(label);
  if (!place) throw Error("dimension " + name + ": no label \"" + label + "\"");
  return *place;
}

DimensionNames::DimensionNames(const char* words) : vector(fields::split_words(words)) {}

Declaration Declaration::count(std::string name, DimensionNames dimensions, std::string long_name,
                               std::string references) {
  return {std::move(name),      std::move(dimensions), "count",
          std::move(long_name), std::move(references), "",
          Type::integer};
}

Declaration Declaration::integer(std::string name, DimensionNames dimensions,
                                 std::string long_name) {
  Declaration declared = count(std::move(name), std::move(dimensions), std::move(long_name));
  declared.units = "1";
  return declared;
}

Declaration Declaration::flag(std::string name, DimensionNames dimensions,
                              std::vector<std::string> meanings, std::string long_name) {
  return {std::move(name),      std::move(dimensions), "1",
          std::move(long_name), headscope_definition,  "",
          Type::flag,           std::move(meanings)};
}

Declaration Declaration::with(const std::string& word, const std::string& given) const {
  Declaration filled = *this;
  const std::string place = "{" + word + "}";
  bool is_found = false;
  for (std::string* const text :
       {&filled.name, &filled.long_name, &filled.references, &filled.resampling}) {
    is_found |= replace_all(*text, place, given);
  }
  if (!is_found) throw Error("variable " + name + ": expected " + place + ", got none");
  return filled;
}

Variable Declaration::of(Array values) const {
  Variable variable{*this};
  variable.values = std::move(values);
  return variable;
}

Variable Declaration::of(const Shape& shape, const std::vector<Estimate>& estimates) const {
  check_count("estimates of " + name, element_count(shape), estimates.size());
  Array values(shape), low(shape), high(shape);
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    values.values[i] = estimates[i].value;
    low.values[i] = estimates[i].low;
    high.values[i] = estimates[i].high;
  }
  Variable variable = of(std::move(values));
  variable.interval = {std::move(low), std::move(high), kept_resamples(estimates, shape),
                       kept_replicates(estimates, shape, n_document_block, &Estimate::influences)};
  return variable;
}

Variable Declaration::of(std::vector<std::string> text) const {
  Variable variable = of(Array());
  variable.type = Type::text;
  variable.text = std::move(text);
  return variable;
}

const Declaration* VariableTable::find(const std::string& name) const {
  const auto found = std::ranges::find(declarations_, name, &Declaration::name);
  return found == declarations_.end() ? nullptr : &*found;
}

const Declaration& VariableTable::operator[](const std::string& name) const {
  if (const Declaration* const found = find(name)) return *found;
  throw Error("variable " + name + " is not declared");
}

void ResultsGroup::add_dimension(Dimension dimension) {
  const auto found = dimensions.find(dimension.name);
  if (found == dimensions.end()) {
    const std::string key = dimension.name;
    dimensions.emplace(key, std::move(dimension));
    return;
  }
  const std::string what = "results " + name + " dimension " + dimension.name;
  check_count(what, found->second.size(), dimension.size());
  if (!same_labels(found->second, dimension)) {
    throw ShapeError(what + ": expected the labels it has, got others");
  }
}

void ResultsGroup::add(Variable variable) {
  const std::string what = "results " + name + " variable " + variable.name;
  check_new_names(what, *this, variable);
  check_described(what, variable);
  Shape expected = extents(*this, variable.dimensions, what);
  const auto check_shape = [&](const Array& values) {
    if (values.shape == expected) return;
    throw ShapeError(what + ": expected shape " + shape_text(expected) + ", got " +
                     shape_text(values.shape));
  };
  if (variable.type == Variable::Type::text) {
    check_count(what, element_count(expected), variable.text.size());
  } else {
    check_shape(variable.values);
  }
  if (variable.interval) {
    if (variable.type != Variable::Type::real || variable.resampling.empty()) {
      throw ShapeError(what +
                       ": expected an interval of reals that says what was resampled, got another");
    }
    check_shape(variable.interval->low);
    check_shape(variable.interval->high);
    expected.insert(expected.begin(), 0);
    const auto add_replicates = [&](const char* dimension, Array& replicates) {
      if (replicates.size() == 0) return;
      if (replicates.shape.size() != expected.size()) check_shape(replicates);
      expected.front() = replicates.shape.front();
      const auto found = dimensions.find(dimension);
      if (found != dimensions.end() && found->second.size() != expected.front()) {
        replicates = {};
        return;
      }
      check_shape(replicates);
      add_dimension(Dimension::count(dimension, expected.front()));
    };
    add_replicates("resample", variable.interval->resamples);
    add_replicates("part", variable.interval->influences);
  }
  if (variable.type == Variable::Type::flag) check_flags(what, variable);
  if (variable.type == Variable::Type::integer) check_whole(what, variable.values);
  variables.push_back(std::move(variable));
}

Shape ResultsGroup::shape_of(const std::vector<std::string>& dimension_names) const {
  return extents(*this, dimension_names, "results " + name);
}

void ResultsGroup::add(const Declaration& declared, Array values) {
  add(declared.of(std::move(values)));
}

void ResultsGroup::add(const Declaration& declared, std::vector<double> values) {
  add(declared, Array(shape_of(declared.dimensions), std::move(values)));
}

void ResultsGroup::add(const Declaration& declared, double value) {
  add(declared, Array(Shape{}, value));
}

void ResultsGroup::add(const Declaration& declared, const std::vector<Estimate>& estimates) {
  add(declared.of(shape_of(declared.dimensions), estimates));
}

void ResultsGroup::add(const Declaration& declared, std::vector<std::string> text) {
  add(declared.of(std::move(text)));
}

const Variable* ResultsGroup::find(const std::string& variable) const {
  const auto found = std::ranges::find(variables, variable, &Variable::name);
  return found == variables.end() ? nullptr : &*found;
}

const Variable& ResultsGroup::variable(const std::string& variable) const {
  if (const Variable* const found = find(variable)) return *found;
  throw Error("results " + name + ": expected a variable " + variable + ", found none");
}

const Array& ResultsGroup::values(const std::string& variable) const {
  const Variable& found = this->variable(variable);
  if (found.type != Variable::Type::text) return found.values;
  throw Error("results " + name + ": expected numbers in " + variable + ", got text");
}

const std::vector<std::string>& ResultsGroup::texts(const std::string& variable) const {
  const Variable& found = this->variable(variable);
  if (found.type == Variable::Type::text) return found.text;
  throw Error("results " + name + ": expected text in " + variable + ", got numbers");
}

double ResultsGroup::scalar(const std::string& variable) const {
  const Array& found = values(variable);
  if (found.size() > 0) return found.values[0];
  throw Error("results " + name + ": expected a number in " + variable + ", got none");
}

const std::vector<std::string>& ResultsGroup::labels(const std::string& dimension) const {
  const Dimension& found = this->dimension(dimension);
  if (found.values.empty()) return found.text;
  throw Error("results " + name + ": expected words along " + dimension + ", got numbers");
}

const Dimension& ResultsGroup::dimension(const std::string& dimension) const {
  const auto found = dimensions.find(dimension);
  if (found != dimensions.end()) return found->second;
  throw Error("results " + name + ": expected a dimension " + dimension + ", found none");
}

std::string Results::text(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return "";
  if (const auto* const text = std::get_if<std::string>(&found->second)) return *text;
  if (const auto count = integer(attribute)) return std::to_string(*count);
  return number_text(std::get<double>(found->second), 0);
}

std::optional<std::int64_t> Results::integer(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return std::nullopt;
  const auto* const count = std::get_if<std::int64_t>(&found->second);
  return count == nullptr ? std::nullopt : std::optional(*count);
}

bool Results::has(const std::string& group) const {
  return std::ranges::count(groups, group, &ResultsGroup::name) > 0;
}

const ResultsGroup& Results::group(const std::string& name) const {
  for (const ResultsGroup& member : groups) {
    if (member.name == name) return member;
  }
  throw Error("results: expected a group " + name + ", found none");
}

ResultsGroup& Results::group(const std::string& name) {
  return const_cast<ResultsGroup&>(std::as_const(*this).group(name));
}

}  // namespace headscope
