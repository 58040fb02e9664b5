#include <algorithm>
#include <array>
#include <optional>

#include "base/utf8.hpp"
#include "figures/figure_colours.hpp"
#include "report/head_variables.hpp"
#include "report/report_heads.hpp"
#include "report/script_json.hpp"
#include "results/long_table.hpp"

namespace headscope {

using nlohmann::json;

namespace {

// By head, the types whose label does not explain what the head does.
json unexplained_types(const Results& results, const std::vector<Presentation>& presentations,
                       const HeadTypes& types) {
  json by_head(types.has_type.size(), json::array());
  for (const Presentation& presentation : presentations) {
    if (!results.has(presentation.group)) continue;
    const Variable* const flag =
        results.group(presentation.group).find(presentation.reasons.unexplained);
    const std::size_t n_head_total = types.has_type.size();
    if (flag == nullptr || flag->values.size() != types.names.size() * n_head_total) continue;
    for (std::size_t i = 0; i < flag->values.size(); ++i) {
      if (flag->values.values[i] == 1) by_head[i % n_head_total].push_back(i / n_head_total);
    }
  }
  return by_head;
}

}  // namespace

json head_types_json(const Results& results, const std::vector<Presentation>& presentations) {
  const std::optional<HeadTypes> found = head_types(results);
  if (!found) return nullptr;
  const json flags = json_list(found->has_type, [](const std::vector<bool>& has_type) {
    json list = json::array();
    for (std::size_t type = 0; type < has_type.size(); ++type) {
      if (has_type[type]) list.push_back(type);
    }
    return list;
  });
  const json primary = json_list(found->primary, [](const std::optional<std::size_t>& type) {
    return type ? json(*type) : json(nullptr);
  });
  return {{"names", json_texts(found->names)},
          {"colours", category_colours(found->names)},
          {"flags", flags},
          {"unexplained", unexplained_types(results, presentations, *found)},
          {"primary", primary}};
}

json head_categories_json(const Results& results, const std::vector<Presentation>& presentations,
                          const HeadShape& shape) {
  json found = json::array();
  for (const ResultsGroup& group : results.groups) {
    if (group.name.find('/') != std::string::npos) continue;
    for (const Variable& variable : group.variables) {
      if (variable.type != Variable::Type::flag || variable.name == primary_type_variable ||
          variable.flag_meanings.size() < 3 || n_head_slice(group, variable, shape) != 1) {
        continue;
      }
      std::vector<std::string> names;
      for (const std::string& meaning : variable.flag_meanings) {
        names.push_back(shown_label(presentations, group, meaning));
      }
      found.push_back({{"name", one_line(variable.name)},
                       {"about", one_line(variable.long_name)},
                       {"names", json_texts(names)},
                       {"colours", category_colours(variable.flag_meanings)},
                       {"values", json_numbers(variable.values.values)}});
    }
  }
  return found;
}

json head_reasons_json(const Results& results, const std::vector<Presentation>& presentations,
                       const HeadShape& shape) {
  const std::optional<HeadTypes> types = head_types(results);
  const auto presented = std::ranges::find_if(presentations, [&](const Presentation& presentation) {
    return results.has(presentation.group) &&
           results.group(presentation.group).has(presentation.reasons.score);
  });
  if (!types || presented == presentations.end()) return nullptr;
  const ResultsGroup& group = results.group(presented->group);
  const TypeReasons& names = presented->reasons;
  const std::size_t n_head_total = shape.n_head_total(), n_type = types->names.size();
  const auto numbers_of = [&](const std::string& name, std::size_t place) -> json {
    const Variable* const variable = group.find(name);
    if (variable == nullptr || variable->values.size() != n_type * n_head_total) return nullptr;
    return json_number(variable->values.values[place]);
  };
  const auto text_of = [&](const std::string& name, std::size_t place, std::size_t count) {
    const Variable* const variable = group.find(name);
    if (variable == nullptr || variable->text.size() != count) return std::string();
    return one_line(variable->text[place]);
  };
  const auto notes_of = [&](std::size_t place) {
    json notes = json::array();
    for (const std::string& name : names.notes) {
      const std::string note = text_of(name, place, n_type * n_head_total);
      if (!note.empty()) notes.push_back(note);
    }
    return notes;
  };
  json rules = json::array(), sentences = json::array(), heads = json::array();
  for (std::size_t type = 0; type < n_type; ++type) {
    rules.push_back(text_of(names.rule, type, n_type));
    sentences.push_back(text_of(names.sentence, type, n_type));
  }
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    json held = json::object();
    for (std::size_t type = 0; type < n_type; ++type) {
      if (!types->has_type[head_index][type]) continue;
      const std::size_t place = type * n_head_total + head_index;
      held[one_line(types->names[type])] = {
          {"score", numbers_of(names.score, place)},
          {"baseline", numbers_of(names.baseline, place)},
          {"threshold", numbers_of(names.threshold, place)},
          {"about", text_of(names.about, place, n_type * n_head_total)},
          {"notes", notes_of(place)}};
    }
    heads.push_back(std::move(held));
  }
  return {{"rules", rules}, {"sentences", sentences}, {"heads", heads}};
}

json head_examples_json(const Results& results, const HeadShape& shape) {
  constexpr std::array columns{"layer",       "head",         "type",       "about",
                               "text",        "attended",     "found",      "query_start",
                               "query_end",   "target_start", "target_end", "attended_start",
                               "attended_end"};
  json by_head(shape.n_head_total(), json::array());
  for (const ResultsGroup& group : results.groups) {
    const auto has = [&](const char* column) { return group.has(column); };
    if (!is_one_table(group) || !std::ranges::all_of(columns, has)) continue;
    const Array& layer = group.values("layer");
    const Array& head = group.values("head");
    const auto places = [&](const std::string& what, std::size_t i) -> json {
      return {group.values(what + "_start").values.at(i), group.values(what + "_end").values.at(i)};
    };
    const auto text = [&](const char* name, std::size_t i) {
      return one_line(group.texts(name).at(i));
    };
    for (std::size_t i = 0; i < layer.size(); ++i) {
      const double head_index =
          layer.values[i] * static_cast<double>(shape.n_head) + head.values.at(i);
      if (!(head_index >= 0 && head_index < static_cast<double>(shape.n_head_total()))) continue;
      by_head[static_cast<std::size_t>(head_index)].push_back(
          {{"type", text("type", i)},
           {"about", text("about", i)},
           {"text", text("text", i)},
           {"query", places("query", i)},
           {"target", places("target", i)},
           {"attended", places("attended", i)},
           {"attendedText", text("attended", i)},
           {"found", group.values("found").values.at(i) == 1}});
    }
  }
  return by_head;
}

}  // namespace headscope
