"""Recompute what heads write and what their labels explain, of `headscope run --analyses classification`, in plain NumPy and compare.

    python3 effects_check.py results.h5 model.h5 corpus.conllu [tokenizer_folder] [copying|labels]

copy_effect, suppression_effect, their nulls, p and q, and explained, its companions and mean_ablation_increase, from their
definitions, by the forward pass of plain_gpt2.py in float64. Which heads are of which type is read from the results
(classification_check.py checks it). `copying` is not for models whose logits have ties, such as the planted one: float32 breaks them.
Exits 1 if a number differs.
"""

import collections
import math
import sys

import h5py
import numpy as np

import plain_gpt2
from classification_check import adjusted, character_sets, cut, is_punctuation, read_conllu, read_tokenizer, references, token_bytes, words_to_tokens
from plain_gpt2 import CounterRandom, Pass, compare, read_model, report_failures, spread_sample

N_PREDICTED = 10
SAMPLE_STREAM = 2**62 + 1


def student_two_sided(t, degrees):
    """P(|T| >= |t|) by Simpson's rule on the density."""
    x = np.linspace(0, abs(t), 20001)
    log_scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)
    y = np.exp(log_scale - (degrees + 1) / 2 * np.log1p(x * x / degrees))
    simpson = (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()) * (x[1] - x[0]) / 3
    return max(0.0, 1 - 2 * simpson)


def copy_effects(model, run):
    """Sums over queries q >= 2 of the four effects, [kind, layer, head], and the number of queries."""
    tokens, T = run.tokens, len(run.tokens)
    wte, gain = model["wte.weight"], model["ln_f.weight"]
    scale = np.sqrt(run.resid.var(-1) + model["epsilon"])
    types = np.unique(tokens[1:])
    x = run.embedding
    sums = np.zeros((4, model["n_layer"], model["n_head"]))
    for layer in range(model["n_layer"]):
        W_O = model[f"h.{layer}.attn.c_proj.weight"].reshape(model["n_head"], -1, x.shape[1])
        lens = plain_gpt2.layer_norm(model, x, "ln_f") @ wte.T
        largest = np.argsort(-lens, axis=1, kind="stable")[:, :N_PREDICTED]
        predicted = (largest[:, :, None] == tokens[None, None, :]).any(1)  # query, key
        for head in range(model["n_head"]):
            written = run.v[layer][head] @ W_O[head]
            c = (written - written.mean(-1, keepdims=True)) * gain @ wte.T
            effect = c[np.arange(T), tokens] - c.mean(-1)
            null = c[:, types].mean(-1) - c.mean(-1)
            A = run.pattern[layer][head].copy()
            A[:2], A[:, 0] = 0, 0
            for kind, (weights, values) in enumerate([(A, effect), (A, null), (A * predicted, effect), (A * predicted, null)]):
                sums[kind, layer, head] = (weights @ values / scale).sum()
        x = x + run.head_output[layer].sum(0) + model[f"h.{layer}.attn.c_proj.bias"] + run.mlp_output[layer]
    return sums, max(0, T - 2)


def test_effect(by_document, n_query):
    """Two-sided p of the ratio sum(difference) / sum(queries), its error linearised, over documents."""
    used = n_query > 0
    difference, n = by_document[used], n_query[used]
    ratio = difference.sum() / n.sum()
    error = (difference - ratio * n) * len(n) / n.sum()
    return student_two_sided(ratio / math.sqrt(error.var(ddof=1) / len(n)), len(n) - 1)


# ---- prototypes -----------------------------------------------------------------------------------------------------


def prototype_keys(prototype, piece):
    """The keys that share each query's attention; empty where the type says nothing."""
    name, argument = prototype
    tokens, T = piece["tokens"], len(piece["tokens"])
    keys = [[] for _ in range(T)]

    def pair(later, earlier):
        for q in piece["tokens_of"][later]:
            keys[q] = [k for k in piece["tokens_of"][earlier] if k <= q]

    if name == "word offset":
        for later in range(argument, len(piece["tokens_of"])):
            pair(later, later - argument)
    elif name == "word class":
        for later in range(len(piece["upos"])):
            earlier = [i for i in range(later) if piece["upos"][i] == argument]
            if earlier:
                pair(later, earlier[-1])
    elif name == "syntactic":
        for later, earlier, relation, direction in piece["arcs"]:
            if (relation, direction) == argument:
                pair(later, earlier)
    elif name == "coreference":
        for word, antecedents, *_ in piece["asked"]:
            pair(word, max(antecedents))
    else:
        rarest = piece["rarest"]
        class_of = {t: upos for upos, own in zip(piece["upos"], piece["tokens_of"]) for t in own}
        for q in range(T):
            copies = [k for k in range(1, q) if tokens[k] == tokens[q]] if q else []
            found = {
                "positional": lambda: [q - argument] if q > argument else [],
                "current_token": lambda: [q],
                "sink": lambda: [0],
                "duplicate": lambda: copies[-1:],
                "induction": lambda: [k + 1 for k in copies if k + 1 < q][-1:],
                "delimiter": lambda: [k for k in range(1, q + 1) if piece["marks"][k]][-1:],
                "word_class": lambda: [k for k in range(1, q + 1) if class_of.get(k) == argument][-1:],
                "rare": lambda: [k for k in range(1, q + 1) if tokens[k] == rarest[q]][-1:],
            }[name]()
            keys[q] = found
    return keys


def prototype_pattern(keys, by_distance, sink):
    T = len(keys)
    B = np.zeros((T, T))
    for q, own in enumerate(keys):
        if own:
            B[q, own] = 1 / len(own)
            continue
        row = by_distance[q - np.arange(1, q + 1)] if q else np.zeros(0)
        B[q, 0] = sink if row.sum() > 0 else 1
        if row.sum() > 0:
            B[q, 1:q + 1] = (1 - sink) * row / row.sum()
    return B


def rarest_tokens(tokens, counts):
    """For each query from 2 on the rarest token of keys 1 .. q; None on a tie of two tokens."""
    rarest = [None] * len(tokens)
    for q in range(2, len(tokens)):
        seen = sorted({(counts[t], t) for t in tokens[1:q + 1]})
        if len(seen) == 1 or seen[0][0] < seen[1][0]:
            rarest[q] = seen[0][1]
    return rarest


def label_and_control(group, types, layer, head, name):
    """The prototype of a type and that of its control; None for types that name no place."""
    own = {t for i, t in enumerate(types) if group["type"][i, layer, head]}
    if name in ("semantic", "long_range", "copying", "suppressing"):
        return None
    rivals, label = [], (name, None)
    if name == "positional":
        label = (name, int(group["positional_offset"][layer, head]))
        rivals.append(("current_token", None))
    if name == "word_class":
        label = (name, group["upos"].asstr()[int(group["word_class"][layer, head])])
    if name == "syntactic":
        at = int(group["syntactic_relation"][layer, head]), int(group["syntactic_direction"][layer, head])
        label = (name, (group["relation"].asstr()[at[0]], at[1]))
        if group["relation_baseline_rule"][at] == 1:
            rivals.append(("word class", group["relation_class"].asstr()[at]))
        elif group["relation_offset"][at] > 0:
            rivals.append(("word offset", int(group["relation_offset"][at])))
    if name == "induction":
        rivals.append(("duplicate", None))
    if name == "duplicate":
        rivals.append(("induction", None))
    rivals += [("positional", 1), ("current_token", None), ("duplicate" if label[0] == "sink" else "sink", None)]
    kind = {"word offset": "positional", "word class": "word_class"}
    for i, rival in enumerate(rivals):
        of = kind.get(rival[0], rival[0])
        if i == len(rivals) - 1 or (of != name and of not in own and rival != label):
            return label, rival


def check_copying(group, model, pieces, n_document):
    shape = (model["n_layer"], model["n_head"])
    effects, n_query = np.zeros((n_document, 4) + shape), np.zeros(n_document)
    for piece in pieces:
        sums, n = copy_effects(model, piece["run"])
        effects[piece["document"]] += sums
        n_query[piece["document"]] += n

    # The program's products are float32: effects are known to 1e-7, and their p to twenty times that.
    for kind, name in enumerate(("copy_effect", "copy_effect_null", "suppression_effect", "suppression_effect_null")):
        compare(name, effects[:, kind].sum(0) / n_query.sum(), group[name][()])
    if n_document <= 128:
        for name, kind in (("copy_effect", 0), ("suppression_effect", 2)):
            p = np.array([[test_effect(effects[:, kind, i, j] - effects[:, kind + 1, i, j], n_query) for j in range(shape[1])]
                          for i in range(shape[0])])
            compare(name + "_p", p, group[name + "_p"][()], tolerance=2e-5)
            compare(name + "_q", adjusted(p), group[name + "_q"][()], tolerance=2e-5)


def check_labels(group, model, pieces, n_document, seed):
    shape = (model["n_layer"], model["n_head"])
    n_explain = int(group["explained_documents"][()])
    sample = set(spread_sample(n_document, n_explain, CounterRandom(seed, SAMPLE_STREAM)))
    sampled = [piece for piece in pieces if piece["document"] in sample]
    n_token = sum(len(piece["tokens"]) - 1 for piece in sampled)
    clean = sum(piece["run"].loss() for piece in sampled)
    types = list(group["head_type"].asstr()[()])
    increase = np.full(shape, np.nan)
    share = np.full((len(types),) + shape, np.nan)
    control, said, mass, overlap = share.copy(), share.copy(), share.copy(), share.copy()

    def loss(layer, head, replacement):
        """The sample's loss with z of a head replaced by replacement(piece) [token, d_head]."""
        def edited(piece):
            def edit(at, z):
                if at == layer:
                    z = z.copy()
                    z[head] = replacement(piece)
                return z
            return Pass(model, piece["tokens"], edit).loss()
        return sum(edited(piece) for piece in sampled)

    mean_z = [sum(piece["run"].z[layer][:, 1:].sum(1) for piece in sampled) / n_token for layer in range(shape[0])]

    def silent_means(layer, head, prototype):
        """Mean attention by distance, and to position 0, over the queries of which the prototype says nothing."""
        total, count, sink, n = np.zeros(model["n_ctx"]), np.zeros(model["n_ctx"]), 0.0, 0
        for piece in sampled:
            A = piece["run"].pattern[layer][head]
            for q, keys in enumerate(prototype_keys(prototype, piece)):
                if q and not keys:
                    total[:q] += A[q, q:0:-1]
                    count[:q] += 1
                    sink, n = sink + A[q, 0], n + 1
        return total / np.maximum(1, count), sink / max(1, n)

    def looking(layer, head, label, prototype):
        """The loss with the head at the prototype's place where its label speaks, else at its mean."""
        means = silent_means(layer, head, label)

        def replacement(piece):
            own, keys = (prototype_keys(which, piece) for which in (label, prototype))
            B = prototype_pattern([key if said else [] for said, key in zip(own, keys)], *means)
            return B @ piece["run"].v[layer][head]
        return loss(layer, head, replacement)

    def looking_where_said(layer, head, label):
        """The loss with the head at its label's place where the label speaks, else as it is."""
        def replacement(piece):
            B = piece["run"].pattern[layer][head].copy()
            for q, keys in enumerate(prototype_keys(label, piece)):
                if keys:
                    B[q] = 0
                    B[q, keys] = 1 / len(keys)
            return B @ piece["run"].v[layer][head]
        return loss(layer, head, replacement)

    def place_mass(layer, head, label):
        at = [piece["run"].pattern[layer][head][q, keys].sum() for piece in sampled
              for q, keys in enumerate(prototype_keys(label, piece)) if q and keys]
        return np.mean(at) if at else np.nan

    def same_place(label, control):
        same = [set(keys) == set(other) for piece in sampled
                for q, (keys, other) in enumerate(zip(prototype_keys(label, piece), prototype_keys(control, piece))) if q and keys]
        return np.mean(same) if same else np.nan

    for i, name in enumerate(types):
        for layer, head in np.ndindex(shape):
            pair = label_and_control(group, types, layer, head, name) if group["type"][i, layer, head] else None
            if pair is None:
                continue
            mass[i, layer, head] = place_mass(layer, head, pair[0])
            overlap[i, layer, head] = same_place(*pair)
            mean = loss(layer, head, lambda piece: mean_z[layer][head]) - clean
            increase[layer, head] = mean / n_token
            if np.isnan(mass[i, layer, head]) or not group["mean_ablation_increase_ci_low"][layer, head] > 0:
                continue
            share[i, layer, head], control[i, layer, head] = (
                1 - (looking(layer, head, pair[0], which) - clean) / mean for which in pair)
            said[i, layer, head] = 1 - (looking_where_said(layer, head, pair[0]) - clean) / mean
    compare("mean_ablation_increase", increase, group["mean_ablation_increase"][()])
    # Ratios of increases, of which the smallest are about 0.01 nats and known to 1e-6.
    compare("explained", share, group["explained"][()], tolerance=1e-4, finite=1)
    compare("explained_control", control, group["explained_control"][()], tolerance=1e-4, finite=1)
    compare("explained_where_said", said, group["explained_where_said"][()], tolerance=1e-4, finite=1)
    compare("explained_place_mass", mass, group["explained_place_mass"][()])
    compare("explained_control_overlap", overlap, group["explained_control_overlap"][()])


def main(results_path, model_path, corpus_path, tokenizer_folder="", only=""):
    results = h5py.File(results_path)
    group = results["classification"]
    seed = int(results.attrs["seed"])
    model = read_model(model_path)
    tokenizer = read_tokenizer(model_path, tokenizer_folder or None)
    texts = token_bytes(tokenizer.vocabulary)
    n_document = int(results.attrs["n_document"])
    first_token = tokenizer.vocabulary["<|endoftext|>"]
    pieces = []
    for d, document in enumerate(read_conllu(corpus_path)[:n_document]):
        for part in cut(document, tokenizer, model["n_ctx"] - 1):
            tokens = [first_token] + tokenizer.encode(part["text"])
            characters = character_sets(part["text"], tokens, texts)
            tokens_of = words_to_tokens(part, characters)
            arcs = [(max(i, w["head"]), min(i, w["head"]), w["relation"], 0 if i > w["head"] else 1)
                    for i, w in enumerate(part["words"]) if w["head"] is not None and tokens_of[i] and tokens_of[w["head"]]]
            pieces.append({"document": d, "tokens": np.array(tokens), "tokens_of": tokens_of, "arcs": arcs,
                           "asked": references(part, tokens_of), "upos": [w["upos"] for w in part["words"]],
                           "marks": [False] + [is_punctuation(part["text"], held) for held in characters[1:]]})
    counts = collections.Counter(t for piece in pieces for t in piece["tokens"].tolist())
    for piece in pieces:
        piece["rarest"] = rarest_tokens(piece["tokens"].tolist(), counts)
        piece["run"] = Pass(model, piece["tokens"])
    if only != "labels":
        check_copying(group, model, pieces, n_document)
    if only != "copying":
        check_labels(group, model, pieces, n_document, seed)
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
