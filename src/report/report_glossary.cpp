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

constexpr std::array<Term, 35> terms{{
    {"ablation",
     "Taking a head out: its output is set to zero, to its mean, or to its output on another "
     "document. The loss increase shows how much the model needs the head."},
    {"attention head",
     "A part of a layer that, at each token, takes a weighted mean of what it reads from this and "
     "earlier tokens. L3H5 is head 5 of layer 3, both counted from 0."},
    {"baseline",
     "The score of chance or of a simple rule: the best fixed distance, the nearest mention, the "
     "share of such tokens."},
    {"circuit", "The edges that keep most of a task's margin when all other edges are cut."},
    {"composition",
     "A head reads what an earlier head wrote: with its queries (Q), keys (K) or values (V)."},
    {"control",
     "An untrained model of the same shape. What the control shows too does not come from "
     "training."},
    {"copying", "Raising the logit of the token that a head attends to; suppressing lowers it."},
    {"coreference",
     "Two words that refer to the same person or thing, such as a name and a later pronoun."},
    {"cosine", "How alike two vectors point: 1 the same way, 0 at right angles, -1 opposite ways."},
    {"deviance",
     "How far modelled attention is from the head's attention (Kullback-Leibler divergence). A "
     "model that explains all of it is exact."},
    {"direct effect",
     "What a head adds to a logit directly, without its effects through later layers."},
    {"edge",
     "What a part of the model reads of what an earlier part wrote; a head reads by queries, keys "
     "or values."},
    {"embedding", "The vector that stands for a token before the first layer."},
    {"entropy",
     "How widely a head spreads its attention, in nats: 0 if all of it lies on one token."},
    {"faithfulness",
     "The share of a task's margin that some edges keep when all other edges are cut."},
    {"family",
     "Features of one kind, such as position or repetition, in a model of a head's attention."},
    {"held-out", "Of documents that were used only to test, not to choose or to fit."},
    {"induction",
     "Continuing as before: at a token that occurred earlier, attending to the token that followed "
     "it there."},
    {"integrated effect",
     "What cutting an edge would change, computed from gradients between the mean input and the "
     "real one."},
    {"interval",
     "A range made to contain the value for all such text in 95 % of samples of documents. It is "
     "computed by leaving out and resampling documents."},
    {"label", "A type as an explanation: the place where the type says that the head looks."},
    {"logit", "The score of a token before the softmax; differences of logits are log odds."},
    {"loss",
     "Minus the log probability of the token that follows, in nats; the lower, the better the "
     "prediction."},
    {"margin",
     "In a task, the log probability of the good continuation minus that of the bad one."},
    {"MLP", "The part of a layer that changes the vector of a token without reading other tokens."},
    {"offset",
     "The distance from a query back to a key: 0 is the token itself, 1 the token before."},
    {"q",
     "A p-value corrected for the number of tests: of findings with q < 0.05, at most one in "
     "twenty is expected to be false."},
    {"query",
     "What a token looks for; a key is what a token offers to be found by, a value is what is "
     "moved. The softmax turns query times key into attention."},
    {"relation",
     "An arc of grammar between two words, such as nsubj between a verb and its subject."},
    {"residual stream", "The vector of each token that every head and MLP reads from and adds to."},
    {"self-repair", "Later parts of the model make up for a head that is taken out."},
    {"sink", "The first token. Heads that find nothing to attend to rest there."},
    {"specialised",
     "Of a head with a type that says what the head does. Sink and long range say only that a head "
     "rests or how far it looks."},
    {"subspace", "The directions of the residual stream that a head reads or writes."},
    {"type", "What a head does, by a rule with a threshold. A head may have several types."},
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
