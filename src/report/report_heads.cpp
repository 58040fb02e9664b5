#include "report/report_heads.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.hpp"
#include "figures/figure_colours.hpp"
#include "headscope/literature.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"
#include "report/script_json.hpp"

namespace headscope {
namespace {

using nlohmann::json;

// Gathers every variable by head, and remembers where each is for the panel's sections.
class Scores {
 public:
  Scores(const Results& results, const std::vector<Presentation>& presentations,
         const HeadShape& shape)
      : presentations_(presentations), shape_(shape) {
    for (const Presentation& entry : presentations) {
      for (const std::string& name :
           {entry.reasons.score, entry.reasons.baseline, entry.reasons.threshold}) {
        reasons_.insert(entry.group + "/" + name);
      }
      for (const std::string& name : entry.auxiliary) auxiliary_.insert(entry.group + "/" + name);
    }
    for (const ResultsGroup& group : results.groups) {
      if (group.name.find('/') != std::string::npos) continue;
      for (const Variable& variable : group.variables) add(group, variable);
    }
  }

  json list() const { return list_; }
  /// Variables with too many values a head to be listed.
  json left_out() const { return left_out_; }

  json sections(const Results& results, const std::vector<Presentation>& presentations) const {
    json sections = json::array();
    for (const auto& [group, section] : items_of(results, presentations, &Presentation::scores)) {
      const std::string title = one_line(section->title);
      auto same = std::find_if(sections.begin(), sections.end(),
                               [&](const json& entry) { return entry["title"] == title; });
      if (same == sections.end()) {
        sections.push_back({{"title", title}, {"scores", json::array()}});
        same = sections.end() - 1;
      }
      for (const std::string& name : section->variables) {
        const auto found = places_.find(group->name + "/" + name);
        if (found == places_.end()) continue;
        for (const std::size_t index : found->second) (*same)["scores"].push_back(index);
      }
    }
    return sections;
  }

 private:
  void add(const ResultsGroup& group, const Variable& variable) {
    if (variable.type == Variable::Type::flag) return;
    const std::string path = group.name + "/" + variable.name;
    if (reasons_.contains(path)) return;
    const std::size_t n_slice = n_head_slice(group, variable, shape_);
    if (n_slice > most_head_slices) {
      left_out_.push_back({{"name", one_line(variable.name)},
                           {"anchor", variable_anchor(group.name, variable.name)},
                           {"values", n_slice}});
      return;
    }
    for (const HeadSlice& slice : head_slices(group, variable, shape_, most_head_slices)) {
      if (!has_number(slice.values)) continue;
      json score = {
          {"group", one_line(group.name)},
          {"name", one_line(variable.name)},
          {"label", one_line(shown_label(presentations_, group, slice.label))},
          {"about", one_line(variable.long_name)},
          {"units", one_line(variable.units)},
          {"anchor", variable_anchor(group.name, variable.name)},
          {"auxiliary", auxiliary_.contains(path) || variable.name.ends_with("_changed_q")},
          {"values", json_numbers(slice.values)}};
      if (variable.interval) {
        score["low"] = json_numbers(slice.low);
        score["high"] = json_numbers(slice.high);
      }
      places_[path].push_back(list_.size());
      list_.push_back(std::move(score));
    }
  }

  const std::vector<Presentation>& presentations_;
  HeadShape shape_;
  std::set<std::string> reasons_;  // the numbers behind types are shown as reasons
  std::set<std::string> auxiliary_;
  json list_ = json::array(), left_out_ = json::array();
  std::map<std::string, std::vector<std::size_t>> places_;
};

void add_summary(const ResultsGroup& group, const HeadSummary& summary, std::size_t n_head_total,
                 json& by_head) {
  const Variable* const text = group.find(summary.text);
  if (text == nullptr || text->text.size() != n_head_total) return;
  const Variable *const places = group.find(summary.places), *const marks =
                                                                 group.find(summary.marks);
  const bool has_places = places != nullptr && marks != nullptr &&
                          places->text.size() % n_head_total == 0 &&
                          marks->values.size() == 4 * places->text.size();
  const std::size_t n_place = has_places ? places->text.size() / n_head_total : 0;
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    if (text->text[head_index].empty()) continue;
    json shown = json::array();
    for (std::size_t i = head_index * n_place; i < (head_index + 1) * n_place; ++i) {
      if (places->text[i].empty()) continue;
      const auto mark = [&](std::size_t which) { return marks->values.values[4 * i + which]; };
      shown.push_back({{"text", one_line(places->text[i])},
                       {"query", {mark(0), mark(1)}},
                       {"target", {mark(2), mark(3)}},
                       {"found", true}});
    }
    by_head[head_index].push_back({{"text", one_line(text->text[head_index])},
                                   {"title", summary.places_title},
                                   {"places", std::move(shown)}});
  }
}

/// What papers say of the heads of a known model, beside what the run measures.
void add_published_roles(const Results& results, const HeadShape& shape, json& by_head) {
  const std::optional<Literature> literature = published_roles(results);
  if (!literature) return;
  for (const PublishedRole& role : literature->roles) {
    by_head[role.head.flat(shape.n_head)].push_back(
        {{"text", "Published role: " + role_text(role, literature->n_head_total) + "."},
         {"title", ""},
         {"places", json::array()}});
  }
}

}  // namespace

std::string head_data_json(const Results& results, const std::vector<Presentation>& presentations,
                           std::optional<HeadIndex> opened) {
  const std::optional<HeadShape> shape = head_shape(results);
  if (!shape) return "";
  const Scores scores(results, presentations, *shape);
  json summaries(shape->n_head_total(), json::array());
  for (const auto& [group, item] : items_of(results, presentations, &Presentation::summaries)) {
    add_summary(*group, *item, shape->n_head_total(), summaries);
  }
  add_published_roles(results, *shape, summaries);
  json data = {{"layers", shape->n_layer},
               {"heads", shape->n_head},
               {"removed", removed_heads(results, *shape)},
               {"sequential", continuous_colours(ColourScale::sequential)},
               {"diverging", continuous_colours(ColourScale::diverging)},
               {"types", head_types_json(results, presentations)},
               {"categories", head_categories_json(results, presentations, *shape)},
               {"reasons", head_reasons_json(results, presentations, *shape)},
               {"examples", head_examples_json(results, *shape)},
               {"summaries", summaries},
               {"scores", scores.list()},
               {"leftOut", scores.left_out()},
               {"sections", scores.sections(results, presentations)},
               {"documents", pattern_documents(results, *shape)},
               {"predictions", predictions(results, *shape)},
               {"neurons", neurons(results, *shape)},
               {"opened", opened ? json(opened->flat(shape->n_head)) : json(nullptr)}};
  add_head_lists(results, presentations, *shape, data);
  return script_json(data);
}

}  // namespace headscope
