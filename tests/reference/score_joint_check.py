"""Recompute what heads keep on models of their attention, one head at a time and many at once, in plain NumPy and compare.

    python3 score_joint_check.py results.h5 model.h5 corpus.conllu N_DOCUMENT N_QUERY N_EFFECT

mean_replacement_increase, effect_explained of the step full and joint_loss of `headscope run --analyses score_model`, by the forward
pass of plain_gpt2.py in float64 with features from their definitions. Coefficients are read from the results (score_check.py checks
them). Documents must fit the model's context. Exits 1 if a number differs.
"""

import collections
import sys

import h5py
import numpy as np

from classification_check import read_conllu, read_tokenizer, token_bytes
from plain_gpt2 import CounterRandom, Pass, compare, read_model, report_failures, spread_sample
from score_check import QUERY_STREAM, Annotated, features_of, lexical_scores

SHARES = (0, 0.25, 0.5, 0.75, 1)


def effect_documents(n_document, n_effect, seed):
    """The odd documents that single heads run on, and those of many heads."""
    odd = list(range(1, n_document, 2))
    single = [odd[i] for i in spread_sample(len(odd), min(len(odd), n_effect), CounterRandom(seed, QUERY_STREAM - 4))]
    rest = [d for d in odd if d not in single]
    joint = [rest[i] for i in spread_sample(len(rest), min(len(rest), n_effect), CounterRandom(seed, QUERY_STREAM - 3))]
    return single, joint


class Models:
    """The attention of every head by its model, [layer, head, query, key], of documents."""

    def __init__(self, documents, model, group):
        self.theta = group["coefficient"][()]
        self.names = [name.decode() for name in group["feature"][()]]
        self.counts = collections.Counter(t for d in documents for t in d.tokens)
        centred = model["wte.weight"] - model["wte.weight"].mean(0)
        self.directions = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        self.model = model

    def attention(self, document):
        tokens = document.tokens
        scores, place = lexical_scores(self.model, sorted(set(tokens)), tokens[0])
        at = [place[t] for t in tokens]
        features = features_of(document, range(2, len(tokens)), self.names, self.counts, self.directions)
        A = np.zeros((self.model["n_layer"], self.model["n_head"], len(tokens), len(tokens)))
        lexical = self.names.index("lexical")
        for q, x in enumerate(features, 2):
            for layer in range(A.shape[0]):
                for head in range(A.shape[1]):
                    x[lexical, 1:] = scores[layer][head][at[q], at[1:q + 1]]
                    s = self.theta[:, layer, head] @ x
                    weights = np.exp(s - s.max())
                    A[layer, head, q, :q + 1] = weights / weights.sum()
        return A


def replaced_loss(model, tokens, heads, A=None, mean_z=None):
    """The loss with the attention of heads [(layer, head)] at queries from the third on replaced by A, or their z by its mean."""

    def attend(layer, pattern):
        pattern = pattern.copy()
        for of_layer, head in heads:
            if A is not None and of_layer == layer:
                pattern[head, 2:] = A[layer, head, 2:]
        return pattern

    def edit(layer, z):
        z = z.copy()
        for of_layer, head in heads:
            if mean_z is not None and of_layer == layer:
                z[head] = mean_z[layer][head]
        return z

    return Pass(model, tokens, edit=edit, attend=attend).loss()


def main(results_path, model_path, corpus_path, n_document, _n_query, n_effect):
    results = h5py.File(results_path)
    group, seed = results["score_model"], int(results.attrs["seed"])
    n_document, n_effect = int(n_document), int(n_effect)
    model = read_model(model_path)
    tokenizer = read_tokenizer(model_path)
    texts = token_bytes(tokenizer.vocabulary)
    documents = [Annotated(d, tokenizer, texts) for d in read_conllu(corpus_path)[:n_document]]
    assert all(len(d.tokens) <= model["n_ctx"] for d in documents), "a document is longer than the context"
    models = Models(documents, model, group)
    heads = [(layer, head) for layer in range(model["n_layer"]) for head in range(model["n_head"])]

    sums, count = 0, 0
    for document in documents:
        z = np.array(Pass(model, document.tokens).z)
        sums, count = sums + z[:, :, 1:].sum(2), count + z.shape[2] - 1
    mean_z = sums / count

    single, joint = effect_documents(n_document, n_effect, seed)
    clean, n_token = 0, 0
    by_model, by_mean = np.zeros(len(heads)), np.zeros(len(heads))
    for d in single:
        tokens, A = documents[d].tokens, models.attention(documents[d])
        clean, n_token = clean + Pass(model, tokens).loss(), n_token + len(tokens) - 1
        by_model += [replaced_loss(model, tokens, [head], A=A) for head in heads]
        by_mean += [replaced_loss(model, tokens, [head], mean_z=mean_z) for head in heads]
    increase, full = by_mean - clean, [s.decode() for s in group["step"][()]].index("full")
    kept = 1 - (by_model - clean) / increase
    got = group["effect_explained"][full].ravel()
    shape = group["mean_replacement_increase"].shape
    compare("mean_replacement_increase", (increase / n_token).reshape(shape), group["mean_replacement_increase"][()], 1e-5)
    # A ratio of small differences; only heads whose effect has an interval above 0 have a value. Coefficients err by 1e-6.
    compare("effect_explained", kept[~np.isnan(got)], got[~np.isnan(got)], 1e-3)

    order = np.argsort(by_model, kind="stable")
    losses, n_token = np.zeros((2, len(SHARES))), 0
    for d in joint:
        tokens, A = documents[d].tokens, models.attention(documents[d])
        n_token += len(tokens) - 1
        for i, share in enumerate(SHARES):
            chosen = [heads[h] for h in order[:int(share * len(heads))]]
            losses[0, i] += replaced_loss(model, tokens, chosen, A=A)
            losses[1, i] += replaced_loss(model, tokens, chosen, mean_z=mean_z)
    compare("joint_loss", losses / n_token, group["joint_loss"][()], 1e-5)
    compare("joint_documents", len(joint), group["joint_documents"][()])
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
