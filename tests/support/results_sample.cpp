#include "support/results_sample.hpp"

#include <algorithm>
#include <cmath>

#include "headscope/random.hpp"

namespace headscope::test {
namespace {

Variable real(const std::string& name, const std::vector<std::string>& dimensions, Shape shape,
              std::uint64_t stream) {
  Variable variable;
  variable.name = name;
  variable.dimensions = dimensions;
  variable.values = Array(std::move(shape));
  for (std::size_t i = 0; i < variable.values.size(); ++i) {
    variable.values.values[i] = CounterRandom(6, stream).uniform(i) - 0.3;
  }
  variable.long_name = "Definition of " + name;
  variable.units = "nats";
  variable.references = "Michel et al. 2019";
  return variable;
}

ResultsGroup pruning() {
  ResultsGroup group;
  group.name = "pruning";
  group.title = "Pruning heads";
  group.summary = "Removing L1H2 costs most.\nSecond paragraph with " + hostile;
  group.add_dimension(Dimension::labels("ablation", {"zero", "mean"}));
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::count("head", 3));
  group.add_dimension(Dimension::labels("type", {"none", "positional", "größer"}));
  group.add_dimension(Dimension::numbers("fraction", {0, 0.1, 0.25, 1}));
  const std::vector<std::string> axes{"ablation", "layer", "head"};
  Variable increase = real("loss_increase", axes, {2, 2, 3}, 1);
  increase.values(0, 1, 2) = 2.5;
  increase.values(1, 0, 0) = NAN;
  increase.interval = {increase.values, increase.values};
  increase.resampling = "documents resampled, " + hostile;
  for (double& bound : increase.interval->low.values) bound -= 0.1;
  for (double& bound : increase.interval->high.values) bound += 0.1;
  group.add(increase);
  group.add(real("loss_baseline", {}, {}, 2));
  group.add(real("saving", {"fraction"}, {4}, 3));

  group.add_dimension(Dimension::labels("node", {"embed", "L0H1"}));
  group.add_dimension(Dimension::labels("port", {"L1H2.k", "logits"}));
  Variable edge = real("edge", {"ablation", "node", "port"}, {2, 2, 2}, 0), edge_q = edge,
           has_edges = real("has_edges", {"ablation"}, {2}, 0);
  edge.values.values = {0.1, 0.2, 0.3, 0.4, 0.5, -0.25, -0.75, 0.125};
  edge_q.name = "edge_q";
  edge_q.values.values = {0, 0, 0, 0, 0.01, 0, 0, 0.01};
  has_edges.values.values = {0, 1};
  group.add(edge);
  group.add(edge_q);
  group.add(has_edges);

  Variable count = real("documents", {"layer"}, {2}, 0);
  count.type = Variable::Type::integer;
  count.values.values = {9007199254740991.0, -3};
  count.units = "count";
  group.add(count);

  Variable primary = real("primary", {"layer", "head"}, {2, 3}, 0);
  primary.type = Variable::Type::flag;
  primary.values.values = {0, 1, 2, 2, 1, 0};
  primary.flag_meanings = {"none", "positional", "not_measured"};
  primary.units = "1";
  group.add(primary);

  Variable words = real("example", {"type"}, {3}, 0);
  words.type = Variable::Type::text;
  words.values = {};
  words.text = {"", "line one\nline two, \"quoted\"", hostile};
  words.units = "1";
  group.add(words);

  const auto add_claim = [&](int number, const std::string& statement, Verdict verdict,
                             const std::string& effect_name,
                             const std::string& evidence) -> Claim& {
    Claim& claim = group.claims.emplace_back();
    claim.number = number;
    claim.statement = statement;
    claim.verdict = verdict;
    claim.effect_name = effect_name;
    claim.evidence = evidence;
    return claim;
  };
  Claim& prunable =
      add_claim(9, "Many heads can be pruned", Verdict::holds, "share of heads", "Because.");
  prunable.effect.value = 0.4;
  prunable.effect.low = 0.3;
  prunable.effect.high = 0.5;
  prunable.source = "Michel et al. 2019";
  add_claim(9, hostile, Verdict::undecided, "", hostile);
  Claim& exact = add_claim(2, "Exact", Verdict::does_not_hold, "parameters", "4d² = 2,359,296.");
  exact.effect.value = 2359296;
  exact.exact = true;
  exact.arithmetic = true;
  add_claim(6, "Uncertain", Verdict::undecided, "cosine", "One document.").effect.value = 0.25;
  return group;
}

ResultsGroup nested() {
  ResultsGroup group;
  group.name = "control/pruning";
  group.title = "Pruning an untrained model";
  group.add_dimension(Dimension::count("unit_i", 30));
  group.add_dimension(Dimension::count("unit_j", 30));
  group.add(real("cosine_all", {"unit_i", "unit_j"}, {30, 30}, 8));
  return group;
}

// Of six heads, L0H1 has one type and L1H2 two.
ResultsGroup classification() {
  ResultsGroup group;
  group.name = "classification";
  group.title = "Which head does what";
  group.add_dimension(Dimension::labels("head_type", {"positional", "induction"}));
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::count("head", 3));
  group.add(real("sink", {"layer", "head"}, {2, 3}, 9));
  Variable type = real("type", {"head_type", "layer", "head"}, {2, 2, 3}, 0);
  type.type = Variable::Type::flag;
  type.values.values = {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  type.flag_meanings = {"no", "yes"};
  group.add(type);
  Variable primary = real("primary", {"layer", "head"}, {2, 3}, 0);
  primary.type = Variable::Type::flag;
  primary.values.values = {0, 1, 0, 0, 0, 2};
  primary.flag_meanings = {"none", "positional", "induction"};
  group.add(primary);
  // Every head finds 75 % of the arcs of each relation. det is not tested; on obj, a fixed offset
  // does as well.
  group.add_dimension(Dimension::labels("relation", {"det", "nsubj", "obj"}));
  group.add_dimension(Dimension::labels("direction", {"dependent_to_head"}));
  const auto add = [&](const char* name, const std::vector<std::string>& axes, Array values) {
    Variable variable = real(name, axes, values.shape, 0);
    variable.values = std::move(values);
    group.add(variable);
  };
  const std::vector<std::string> axes{"relation", "direction"};
  add("accuracy", {"relation", "direction", "layer", "head"}, Array({3, 1, 2, 3}, 0.75));
  add("baseline", axes, Array({3, 1}, {0.5, 0.5, 0.75}));
  add("arcs", axes, Array({3, 1}, 29));
  add("tested", axes, Array({3, 1}, {0, 1, 1}));
  const std::vector<std::string> by_type{"head_type", "layer", "head"};
  add("type_score", by_type, Array({2, 2, 3}, 0.75));
  add("type_baseline", by_type, Array({2, 2, 3}, 0.25));
  add("type_threshold", by_type, Array({2, 2, 3}, 0.5));
  std::vector<std::string> about(12);
  std::fill_n(about.begin(), 6, "offset 1");
  group.add({"type_about", by_type, "1", "What it is about"}, about);
  group.add({"type_rule", "head_type", "1", "The rule"}, {"rule of positional", hostile});
  group.add(
      {"type_sentence", "head_type", "1", "What it does"},
      std::vector<std::string>{"It attends to the token before.",
                               "On repeated text it attends to what followed the last time."});
  Array unexplained({2, 2, 3});
  unexplained(1, 1, 2) = 1;  // induction, L1H2
  group.add(Declaration::flag("attends_by", "layer head", {"none", "position", "word_class"},
                              "The family with the largest gain"),
            std::vector<double>{0, 1, 1, 2, 0, 1});
  group.add(Declaration::flag("unexplained", "head_type layer head", {"no", "yes"}, "Unexplained"),
            unexplained);
  return group;
}

// L1H2 finds an earlier "cat" and misses one. The second text has a character of two bytes.
ResultsGroup examples() {
  ResultsGroup group;
  group.name = "classification/examples";
  group.title = "Examples";
  group.add_dimension(Dimension::count("example", 2));
  const auto add = [&](const char* name, std::vector<double> values) {
    group.add(Declaration::integer(name, "example", name), Array({2}, std::move(values)));
  };
  const auto add_text = [&](const char* name, std::vector<std::string> texts) {
    group.add({name, "example", "1", name}, std::move(texts));
  };
  add("layer", {1, 1});
  add("head", {2, 2});
  add_text("type", {"induction", "induction"});
  add_text("about", {"", ""});
  add_text("text", {"the cat saw the cat", "é cat, a dog, a cat"});
  add("query_start", {16, 16});
  add("query_end", {19, 19});
  add("target_start", {4, 2});
  add("target_end", {7, 5});
  add("attended_start", {4, 9});
  add("attended_end", {7, 12});
  add_text("attended", {"cat", "dog"});
  add("found", {1, 0});
  return group;
}

// L1H2 attends to the current token; all others 0.64 to the previous and 0.36 to the first token.
ResultsGroup patterns() {
  constexpr std::size_t n_token = 5;
  ResultsGroup group;
  group.name = "attention/0";
  group.title = "Attention patterns of document " + hostile;
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::count("head", 3));
  for (const char* axis : {"token", "query", "key"}) {
    group.add_dimension(Dimension::count(axis, n_token));
  }
  Variable text = real("token_text", {"token"}, {n_token}, 0);
  text.type = Variable::Type::text;
  text.values = {};
  text.text = {"<|endoftext|>", "The", " cat", "</script>", " " + hostile};
  group.add(text);
  Variable pattern =
      real("pattern", {"layer", "head", "query", "key"}, {2, 3, n_token, n_token}, 0);
  pattern.values = Array({2, 3, n_token, n_token});
  for (std::size_t head_index = 0; head_index < 6; ++head_index) {
    const std::size_t layer = head_index / 3, head = head_index % 3;
    for (std::size_t query = 0; query < n_token; ++query) {
      if (head_index == 5 || query == 0) {
        pattern.values(layer, head, query, query) = 1;
      } else {
        pattern.values(layer, head, query, query - 1) += 0.64;
        pattern.values(layer, head, query, std::size_t{0}) += 0.36;
      }
    }
  }
  pattern.units = "probability";
  group.add(pattern);
  // The rollout of both layers: half on each token itself, half on the first.
  Variable rollout = real("rollout", {"layer", "query", "key"}, {2, n_token, n_token}, 0);
  rollout.values = Array({2, n_token, n_token});
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t query = 0; query < n_token; ++query) {
      rollout.values(layer, query, query) += 0.5;
      rollout.values(layer, query, std::size_t{0}) += 0.5;
    }
  }
  rollout.units = "probability";
  group.add(rollout);
  return group;
}

// L0H0 and L1H2 have cosine 1, all other pairs 0.
ResultsGroup correlation() {
  ResultsGroup group;
  group.name = "correlation";
  group.add_dimension(Dimension::count("unit_i", 6));
  group.add_dimension(Dimension::count("unit_j", 6));
  Variable cosine = real("cosine_all", {"unit_i", "unit_j"}, {6, 6}, 0);
  cosine.values = Array({6, 6});
  for (std::size_t head_index = 0; head_index < 6; ++head_index)
    cosine.values(head_index, head_index) = 1;
  cosine.values(std::size_t{0}, std::size_t{5}) = cosine.values(std::size_t{5}, std::size_t{0}) = 1;
  group.add(cosine);
  return group;
}

}  // namespace

Results results_sample() {
  Results results;
  results.attributes = {{"version", std::string("0.1.0")},
                        {"command_line", "headscope run --output " + hostile},
                        {"model_path", std::string("models/tiny <b>.h5")},
                        {"seed", std::int64_t{20240229}},
                        {"threshold", 0.1},
                        {"date", std::string("2024-02-29T12:00:00Z")}};
  results.groups = {pruning(), nested(), classification(), examples(), correlation(), patterns()};
  return results;
}

std::vector<Presentation> sample_presentations() {
  const auto say = [](Description description) {
    return [description = std::move(description)](const Results&) { return description; };
  };
  Description pruning, classification;
  pruning.add("Pruning one head", "Setting L1H2 to zero costs most. " + hostile);
  pruning.model_loss = "its loss is 3.2 nats per token";
  pruning.headline = {.attend_by = "Heads attend by nothing.",
                      .matter = "L1H2 matters most.",
                      .explained = "",
                      .look_next = "Look next at L1H2."};
  pruning.tasks = {{"accuracy", "heads that it needs"},
                   {{"recurring name", {"94 %", "L1H2 (40 %)"}}, {"agreement", {"80 %", "none"}}}};
  classification.add("Jobs", "2 of 6 heads have a job that passes its threshold.");
  classification.add("Attention sink", "L0H1 parks the most.", {"L0H1: 40 %.", "Text: " + hostile});
  classification.headline.attend_by = "L0H1 attends by position.";
  classification.found = "Two heads have a job.";
  classification.tasks = {{"edges"}, {{"recurring name", {"12"}}}};
  return {{.group = "pruning",
           .describe = say(pruning),
           .scores = {{"What pruning it costs", {"loss_increase"}}},
           .edges = {{"What it reads", "Largest.", "edge", "edge_q", 0.05, "has_edges"}}},
          {.group = "classification",
           .describe = say(classification),
           .scores = {{"Where it attends", {"sink"}}},
           .tables = {{"Relations it finds best",
                       {"Relation", "Held-out accuracy", "Best fixed offset", "Arcs"},
                       "accuracy",
                       "baseline",
                       "arcs",
                       "tested"}},
           .reasons = {"type_rule",
                       "type_sentence",
                       "type_score",
                       "type_baseline",
                       "type_threshold",
                       "type_about",
                       {},
                       "unexplained"}},
          {.group = "correlation",
           .nearest = {{.title = "Write most alike (cosine)",
                        .variable = "cosine_all",
                        .chance = "",
                        .alike = true}}}};
}

}  // namespace headscope::test
