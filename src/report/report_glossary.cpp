#include "report/report_glossary.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/html_text.hpp"

namespace headscope {
namespace {

struct Term {
  std::string_view word, meaning;
};

constexpr std::array<Term, 14> terms{{
    {"ablation",
     "Taking a head out: its output is set to zero, to its mean, or to its output on another "
     "document. What the loss then rises by is what the model needs the head for."},
    {"attention head",
     "A part of a layer that, at each token, takes a weighted mean of what it reads from this and "
     "earlier tokens. L3H5 is head 5 of layer 3, both counted from 0."},
    {"baseline",
     "What would be reached without looking at the words: the best fixed distance, the nearest "
     "mention, the share of such tokens."},
    {"composition",
     "A head reads what an earlier head wrote: with its queries (Q), keys (K) or values (V)."},
    {"control", "An untrained model of the same shape. What it shows too is no work of training."},
    {"direct effect",
     "What a head by itself adds to a logit, without what later layers make of it."},
    {"induction",
     "Going on as before: on a token that occurred earlier, attending to the token that followed "
     "it then."},
    {"interval",
     "A range made to hold the number of all such text for 95 % of samples of documents: "
     "symmetric, "
     "from the differences that leaving out documents makes, and from resamples of these."},
    {"logit", "The score of a token before the softmax; differences of logits are log odds."},
    {"loss",
     "Minus the log probability of the token that follows, in nats; the lower, the better the "
     "prediction."},
    {"margin",
     "In a task, the log probability of the good continuation minus that of the bad one."},
    {"query",
     "What a token looks for; a key is what a token offers to be found by, a value what is moved. "
     "Query times key is the score that the softmax makes attention of."},
    {"residual stream", "The vector of each token that every head and MLP reads from and adds to."},
    {"sink", "The first token, on which heads rest that find nothing to do."},
}};

std::string anchor(std::string_view word) {
  std::string id = "term-" + std::string(word);
  std::ranges::replace(id, ' ', '-');
  return id;
}

}  // namespace

std::string glossary_section() {
  std::string html = "<section id=\"glossary\">\n<h2>Glossary</h2>\n<details><summary>" +
                     std::to_string(terms.size()) + " words of the field</summary>\n<dl>\n";
  for (const Term& term : terms) {
    html += "<dt id=\"" + anchor(term.word) + "\">" + html_text(std::string(term.word)) +
            "</dt><dd>" + html_text(std::string(term.meaning)) + "</dd>\n";
  }
  return html + "</dl>\n</details>\n</section>\n";
}

}  // namespace headscope
