#include <algorithm>
#include <array>
#include <string_view>

#include "report/html_text.hpp"
#include "report/report_pages.hpp"

namespace headscope {
namespace {

struct Term {
  std::string_view word, meaning;
};

constexpr std::array<Term, 14> terms{{
    {"ablation",
     "Taking a head out: its output is set to zero, to its mean, or to its output on another "
     "document. The loss increase shows how much the model needs the head."},
    {"attention head",
     "A part of a layer that, at each token, takes a weighted mean of what it reads from this and "
     "earlier tokens. L3H5 is head 5 of layer 3, both counted from 0."},
    {"baseline",
     "The score of chance or of a simple rule: the best fixed distance, the nearest mention, the "
     "share of such tokens."},
    {"composition",
     "A head reads what an earlier head wrote: with its queries (Q), keys (K) or values (V)."},
    {"control",
     "An untrained model of the same shape. What the control shows too does not come from "
     "training."},
    {"direct effect",
     "What a head adds to a logit directly, without its effects through later layers."},
    {"induction",
     "Continuing as before: at a token that occurred earlier, attending to the token that followed "
     "it there."},
    {"interval",
     "A range made to contain the value for all such text in 95 % of samples of documents. It is "
     "computed by leaving out and resampling documents."},
    {"logit", "The score of a token before the softmax; differences of logits are log odds."},
    {"loss",
     "Minus the log probability of the token that follows, in nats; the lower, the better the "
     "prediction."},
    {"margin",
     "In a task, the log probability of the good continuation minus that of the bad one."},
    {"query",
     "What a token looks for; a key is what a token offers to be found by, a value is what is "
     "moved. The softmax turns query times key into attention."},
    {"residual stream", "The vector of each token that every head and MLP reads from and adds to."},
    {"sink", "The first token. Heads that find nothing to attend to rest there."},
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
    html += "<dt id=\"" + anchor(term.word) + "\">" + html_text(term.word) + "</dt><dd>" +
            html_text(term.meaning) + "</dd>\n";
  }
  return html + "</dl>\n</details>\n</section>\n";
}

}  // namespace headscope
