"""Check that a run of a treebank goes by its documents, not by the pieces they are cut into.

    python3 units_check.py results.h5 model.h5 corpus.conllu tokenizer_folder n_bootstrap

Cuts the documents itself, runs the model by plain_gpt2.py in float64, and recomputes the loss, the mean cosine of heads and the
counts of arcs, with intervals and halves by document. Exits 1 if a number differs by more than its tolerance.
"""

import collections
import sys

import h5py
import numpy as np

from classification_check import character_sets, cut, read_conllu, read_tokenizer, token_bytes, words_to_tokens
from plain_gpt2 import FAILURES, Pass, compare, interval, read_model, report_failures, without_each

# The program's float32 against float64: 1e-6 of a token, and less of the mean of many.
TOLERANCE = 1e-7


def mean_abs_cosine(products):
    """Mean over pairs of heads, [layer]; products [layer, head, head]."""
    norms = np.sqrt(np.einsum("lhh->lh", products))
    cosine = np.abs(products) / norms[:, :, None] / norms[:, None, :]
    n_head = cosine.shape[1]
    return (cosine.sum(axis=(1, 2)) - n_head) / (n_head * (n_head - 1))


def main(results_path, model_path, corpus_path, tokenizer_folder, n_bootstrap):
    results = h5py.File(results_path)
    seed = int(results.attrs["seed"])
    model = read_model(model_path)
    tokenizer = read_tokenizer(model_path, tokenizer_folder)
    texts = token_bytes(tokenizer.vocabulary)
    documents = read_conllu(corpus_path)
    compare("documents read", len(documents), results.attrs["n_document"])
    losses, products, arcs = [], [], collections.Counter()
    n_token = n_piece = 0
    for number, document in enumerate(documents):
        loss, product = np.zeros(2), 0
        for piece in cut(document, tokenizer, model["n_ctx"] - 1):
            tokens = [tokenizer.vocabulary["<|endoftext|>"]] + tokenizer.encode(piece["text"])
            clean = Pass(model, tokens)
            loss += clean.loss(), len(tokens) - 1
            outputs = np.array(clean.head_output)[:, :, 1:]
            product = product + np.einsum("lhtd,lgtd->lhg", outputs, outputs)
            n_token, n_piece = n_token + len(tokens), n_piece + 1
            held = words_to_tokens(piece, character_sets(piece["text"], tokens, texts))
            for i, word in enumerate(piece["words"]):
                if word["head"] is not None and held[i] and held[word["head"]] and word["relation"] not in ("", "root", "punct"):
                    arcs[word["relation"], 0 if i > word["head"] else 1, number % 2] += 1
        losses.append(loss)
        products.append(product)
    print(f"{len(documents)} documents in {n_piece} pieces")
    compare("tokens", n_token, results.attrs["n_token"])
    losses, products = np.array(losses), np.array(products)
    weights = without_each(len(documents))

    def check(group, name, value, left_out, place=(), most=np.inf):
        bounds = interval(left_out, value, int(n_bootstrap), seed, 0, most)
        for suffix, expected in zip(("", "_ci_low", "_ci_high"), (value, *bounds)):
            compare(name + suffix, expected, results[group][name + suffix][place], TOLERANCE)

    left_out = weights @ losses
    check("pruning", "loss", losses[:, 0].sum() / losses[:, 1].sum(), left_out[:, 0] / left_out[:, 1])
    residual = np.array([mean_abs_cosine(np.tensordot(w, products, 1)) for w in weights])
    check("correlation", "mean_abs_cosine", mean_abs_cosine(products.sum(axis=0)), residual, place=1, most=1)

    group = results["classification"]
    compare("classification/n_document", len(documents), group["n_document"][()])
    relations = sorted({relation for relation, _, _ in arcs})
    if relations != [r.decode() if isinstance(r, bytes) else r for r in group["relation"][()]]:
        FAILURES.append("relations: differ")
    count = np.array([[[arcs[r, d, half] for half in (0, 1)] for d in (0, 1)] for r in relations])
    compare("relation_count", count.sum(axis=2), group["relation_count"][()])
    compare("relation_count_heldout", count[:, :, 1], group["relation_count_heldout"][()])
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
