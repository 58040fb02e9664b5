"""Recompute what `headscope run --analyses score_model` says of attention scores, in plain NumPy and by another optimiser.

    python3 score_check.py results.h5 model.h5 corpus.conllu N_DOCUMENT N_QUERY

Reads annotation and vocabulary itself, draws the same queries, computes every feature from its definition by the forward pass of
plain_gpt2.py in float64, and minimises by L-BFGS in coordinates whitened by the features' spread: the program uses Newton's method.
Coefficients agree to 1e-3, deviances to 1e-4. Documents must fit the model's context. Exits 1 if a number differs.
"""

import collections
import math
import sys
import unicodedata

import h5py
import numpy as np

from classification_check import character_sets, is_punctuation, read_conllu, read_tokenizer, token_bytes, words_to_tokens
from plain_gpt2 import CounterRandom, Pass, compare, gelu_new, layer_norm, read_model, report_failures, spread_sample

QUERY_STREAM = 3 << 60
PENALTY = 1e-4
UNIVERSAL = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
FEW = 4  # heads of which every model is checked


def random_subset(n, count, random):
    """Floyd's algorithm with the program's draws."""
    subset = set()
    for j in range(n - count, n):
        drawn = random.below(j + 1, j)
        subset.add(j if drawn in subset else drawn)
    return sorted(subset)


def sampled_queries(n_document, n_query, lengths, seed):
    """Of each document, its queries."""
    queries = {}
    for parity in (0, 1):
        half = (n_document + 1 - parity) // 2
        used = min(half, n_query)
        for each in spread_sample(half, used, CounterRandom(seed, QUERY_STREAM - 2 + parity)):
            d = 2 * each + parity
            n = max(lengths[d] - 2, 0)
            draws = CounterRandom(CounterRandom(seed, QUERY_STREAM + d).value(0))
            queries[d] = [2 + i for i in random_subset(n, min(-(-n_query // used), n), draws)]
    return queries


class Annotated:
    """A document with its tokens' words, sentences and arcs."""

    def __init__(self, document, tokenizer, texts):
        self.tokens = [tokenizer.vocabulary["<|endoftext|>"]] + tokenizer.encode(document["text"])
        self.words, self.mentions = document["words"], document["mentions"]
        characters = character_sets(document["text"], self.tokens, texts)
        self.punctuation = [False] + [is_punctuation(document["text"], held) for held in characters[1:]]
        self.tokens_of = words_to_tokens(document, characters)
        self.word_of = [None] * len(self.tokens)
        for w, tokens in reversed(list(enumerate(self.tokens_of))):
            for t in tokens:
                self.word_of[t] = w
        self.text = [texts[t].decode("utf-8", "replace") for t in self.tokens]
        self.sentence = [None if w is None else self.words[w]["sentence"] for w in self.word_of]

    def arcs(self):
        """(later word, earlier word, feature)."""
        for dependent, word in enumerate(self.words):
            head = word["head"]
            if head is None or head == dependent or not self.tokens_of[head] or not self.tokens_of[dependent]:
                continue
            yield max(head, dependent), min(head, dependent), word["relation"] + ("_to_head" if dependent > head else "_to_dependent")


def features_of(doc, queries, names, counts, directions):
    """x[query][feature, key] without the lexical feature."""
    place = {name: i for i, name in enumerate(names)}
    tokens, word_of, T = doc.tokens, doc.word_of, len(doc.tokens)
    arcs, heads = collections.defaultdict(list), [word["head"] for word in doc.words]
    for later, earlier, name in doc.arcs():
        arcs[later].append((earlier, name))
    entities = collections.defaultdict(set)
    for mention in doc.mentions:
        for w in mention["words"]:
            entities[w].add(mention["entity"] if "entity" in mention else mention["name"])
    result = []
    for q in queries:
        x = np.zeros((len(names), q + 1))

        def mark(name, k):
            if name in place:
                x[place[name], k] = 1

        x[0, 0] = 1
        w = word_of[q]
        copies = [k for k in range(1, q) if tokens[k] == tokens[q]]
        latest = None
        for k in range(1, q + 1):
            v = word_of[k]
            if q - k <= 8:
                mark(f"offset_{q - k}", k)
            x[place["log_distance"], k] = math.log(1 + q - k)
            x[place["distance"], k] = (q - k) / 100
            x[place["log_frequency"], k] = math.log(1 + counts[tokens[k]]) / 5
            if tokens[k] != tokens[q]:
                x[place["similarity"], k] = directions[tokens[q]] @ directions[tokens[k]]
            if k > 1 and tokens[k - 1] != tokens[q]:
                x[place["similarity_before"], k] = directions[tokens[q]] @ directions[tokens[k - 1]]
            if k in copies:
                mark("same_token", k)
            if k > 1 and tokens[k - 1] == tokens[q]:
                mark("after_copy", k)
                if k > 2 and tokens[k - 2] == tokens[q - 1]:
                    mark("after_copy_2", k)
            if k + 1 < q and tokens[k + 1] == tokens[q]:
                mark("before_copy", k)
            if doc.punctuation[k]:
                latest = k
            first = doc.text[k].removeprefix(" ")[:1]
            if first and unicodedata.category(first) == "Lu":
                mark("capital", k)
            if v is None:
                continue
            mark("upos_" + doc.words[v]["upos"], k)
            if word_of[k - 1] != v:
                mark("begins_word", k)
            sentence = [t for t in range(1, T) if doc.sentence[t] == doc.sentence[k]]
            if k == sentence[0]:
                mark("first_of_sentence", k)
            if k == sentence[-1]:
                mark("last_of_sentence", k)
            if w is None:
                continue
            if doc.sentence[k] == doc.sentence[q]:
                mark("same_sentence", k)
            if v == w:
                mark("same_word", k)
            if v >= w:
                continue
            for earlier, name in arcs[w]:
                if earlier == v:
                    mark(name, k)
            if heads[v] is not None and heads[v] == heads[w]:
                mark("sibling", k)
            if entities[v] & entities[w]:
                mark("same_entity", k)
        if copies:
            mark("after_copy_latest", copies[-1] + 1)
        if latest is not None:
            mark("latest_punctuation", latest)
        if w is not None:
            earlier = [v for v in range(w) if entities[v] & entities[w] and doc.tokens_of[v]]
            if earlier:
                mark("latest_mention", max(t for t in doc.tokens_of[earlier[-1]]))
        result.append(x)
    return result


def lexical_scores(model, tokens, first_token):
    """scores[layer][head][query's token, key's token] of *first token, token*, the token at position min(64, n_ctx / 2)."""
    place = {t: i for i, t in enumerate(tokens)}
    x = model["wte.weight"][tokens] + model["wpe.weight"][min(64, model["n_ctx"] // 2)]
    first = (model["wte.weight"][first_token] + model["wpe.weight"][0])[None]
    scores, n_head = [], model["n_head"]
    for layer in range(model["n_layer"]):
        name = f"h.{layer}."

        def heads(stream):
            qkv = layer_norm(model, stream, name + "ln_1") @ model[name + "attn.c_attn.weight"] + model[name + "attn.c_attn.bias"]
            return (part.reshape(len(stream), n_head, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, axis=1))

        def rest(stream, z):
            stream = stream + z.transpose(1, 0, 2).reshape(len(stream), -1) @ model[name + "attn.c_proj.weight"] + model[name + "attn.c_proj.bias"]
            hidden = layer_norm(model, stream, name + "ln_2") @ model[name + "mlp.c_fc.weight"] + model[name + "mlp.c_fc.bias"]
            return stream + gelu_new(hidden) @ model[name + "mlp.c_proj.weight"] + model[name + "mlp.c_proj.bias"]

        (q, k, v), (_, k0, v0) = heads(x), heads(first)
        width = math.sqrt(q.shape[-1])
        scores.append(q @ k.transpose(0, 2, 1) / width)
        own, to_first = (q * k).sum(-1, keepdims=True) / width, (q * k0).sum(-1, keepdims=True) / width
        share = 1 / (1 + np.exp(own - to_first))
        x, first = rest(x, share * v0 + (1 - share) * v), rest(first, v0)
    return scores, place


class Half:
    """Sampled queries of one half of the corpus: features padded to the longest query, [query, key, feature]."""

    def __init__(self, items):
        self.n = len(items)
        longest = max(x.shape[1] for _, _, _, x in items)
        self.document = np.array([d for d, _, _, _ in items])
        self.query = np.array([q for _, q, _, _ in items])
        self.x = np.zeros((self.n, longest, items[0][3].shape[0]))
        self.inside = np.zeros((self.n, longest), bool)
        for i, (_, q, _, x) in enumerate(items):
            self.x[i, :q + 1] = x.T
            self.inside[i, :q + 1] = True

    def softmax(self, scores):
        scores = np.where(self.inside, scores, -np.inf)
        log_sum = np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1)) + scores.max(1)
        return np.exp(scores - log_sum[:, None]), log_sum


def minimise(half, x, A, columns):
    """theta of the columns of x that minimise the penalised mean of -sum A ln A^, by L-BFGS in whitened coordinates."""
    x = x[:, :, columns]
    attended = np.einsum("qk,qkf->f", A, x, optimize=True) / half.n
    uniform = half.inside / half.inside.sum(1, keepdims=True)
    mean = np.einsum("qk,qkf->qf", uniform, x, optimize=True)
    flat = (x * np.sqrt((uniform + A) / 2)[:, :, None]).reshape(-1, len(columns))
    spread = flat.T @ flat / half.n - mean.T @ mean / half.n / 2 + 2 * PENALTY * np.eye(len(columns))
    values, vectors = np.linalg.eigh(spread)
    whiten = vectors / np.sqrt(np.maximum(values, 1e-4))

    def objective(u):
        theta = whiten @ u
        P, log_sum = half.softmax(x @ theta)
        gradient = np.einsum("qk,qkf->f", P, x, optimize=True) / half.n - attended + 2 * PENALTY * theta
        return log_sum.mean() - theta @ attended + PENALTY * theta @ theta, whiten.T @ gradient, np.abs(gradient).max()

    u = np.zeros(len(columns))
    value, gradient, largest = objective(u)
    steps, changes = [], []
    for _ in range(2000):
        if largest < 1e-8:
            break
        direction, alphas = -gradient, []
        for s, y in zip(reversed(steps), reversed(changes)):
            alphas.append(s @ direction / (s @ y))
            direction = direction - alphas[-1] * y
        if steps:
            direction = direction * (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
        for s, y, alpha in zip(steps, changes, reversed(alphas)):
            direction = direction + s * (alpha - y @ direction / (s @ y))
        length = 1.0
        while True:
            trial = objective(u + length * direction)
            if trial[0] <= value + 1e-4 * length * (gradient @ direction) + 1e-14 or length < 1e-12:
                break
            length /= 2
        s, y = length * direction, trial[1] - gradient
        u, (value, gradient, largest) = u + s, trial
        if s @ y > 1e-18:
            steps, changes = (steps + [s])[-30:], (changes + [y])[-30:]
    theta = np.zeros(half.x.shape[2])
    theta[columns] = whiten @ u
    return theta


def divergences(half, x, A, theta):
    """sum KL(A|A^) and the same of keys >= 1 renormalised, weighted by 1 - A[q,0]."""
    scores = x @ theta
    _, log_all = half.softmax(scores)
    beyond = half.inside.copy()
    beyond[:, 0] = False
    masked = np.where(beyond, scores, -np.inf)
    log_beyond = np.log(np.exp(masked - masked.max(1, keepdims=True)).sum(1)) + masked.max(1)
    entropy = np.where(A > 0, A * np.log(np.where(A > 0, A, 1)), 0)
    rest = A[:, 1:].sum(1)
    all_keys = (entropy.sum(1) - np.where(half.inside, A * scores, 0).sum(1) + log_all).sum()
    kl_beyond = entropy[:, 1:].sum(1) - rest * np.log(rest) - np.where(beyond, A * scores, 0).sum(1) + rest * log_beyond
    return all_keys, kl_beyond.sum(), rest.sum()


def sandwich(half, x, A, theta):
    """Standard errors from the spread of documents' gradients."""
    P, _ = half.softmax(x @ theta)
    mean = np.einsum("qk,qkf->qf", P, x, optimize=True)
    of_query = mean - np.einsum("qk,qkf->qf", A, x, optimize=True) + 2 * PENALTY * theta
    flat = (x * np.sqrt(P)[:, :, None]).reshape(-1, x.shape[2])
    hessian = (flat.T @ flat - mean.T @ mean) / half.n + 2 * PENALTY * np.eye(x.shape[2])
    sums = np.array([of_query[half.document == d].sum(0) for d in np.unique(half.document)])
    inverse, n = np.linalg.inv(hessian), len(sums)
    return np.sqrt(np.diag(inverse @ sums.T @ sums @ inverse) * n / (n - 1)) / half.n


def main(results_path, model_path, corpus_path, n_document, n_query):
    results = h5py.File(results_path)
    group = results["score_model"]
    seed, n_document, n_query = int(results.attrs["seed"]), int(n_document), int(n_query)
    model = read_model(model_path)
    tokenizer = read_tokenizer(model_path)
    texts = token_bytes(tokenizer.vocabulary)
    documents = [Annotated(d, tokenizer, texts) for d in read_conllu(corpus_path)[:n_document]]
    assert all(len(d.tokens) <= model["n_ctx"] for d in documents), "a document is longer than the context"
    names = [name.decode() for name in group["feature"][()]]
    families = [name.decode() for name in group["feature_family"][()]]

    arcs = collections.Counter(name for d in documents[::2] for _, _, name in d.arcs() if not name.startswith(("root_", "punct_")))
    expected = [f"upos_{u}" for u in UNIVERSAL] + sorted(name for name, n in arcs.items() if n >= 30)
    got = sorted(name for name in names if name.startswith("upos_") or "_to_" in name)
    if sorted(expected) != got:
        print("FAILED features: expected", sorted(expected), "got", got)
        return 1

    queries = sampled_queries(n_document, n_query, [len(d.tokens) for d in documents], seed)
    counts = collections.Counter(t for d in documents for t in d.tokens)
    centred = model["wte.weight"] - model["wte.weight"].mean(0)
    directions = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    types = sorted(set(t for d in queries for t in documents[d].tokens))
    scores, place = lexical_scores(model, types, documents[0].tokens[0])
    halves, patterns = [], []
    for parity in (0, 1):
        items, attention = [], []
        for d in sorted(queries):
            if d % 2 != parity:
                continue
            run = Pass(model, documents[d].tokens)
            found = features_of(documents[d], queries[d], names, counts, directions)
            for q, x in zip(queries[d], found):
                items.append((d, q, None, x))
                attention.append([[run.pattern[layer][head][q, :q + 1] for head in range(model["n_head"])] for layer in range(model["n_layer"])])
        halves.append(Half(items))
        patterns.append(attention)
    even, odd = halves

    def of_head(half, attention, layer, head):
        """Attention and the features with the head's scores out of context."""
        A = np.zeros(half.inside.shape)
        x = half.x.copy()
        lexical = names.index("lexical")
        for i, q in enumerate(half.query):
            A[i, :q + 1] = attention[i][layer][head]
            at = [place[t] for t in documents[half.document[i]].tokens[:q + 1]]
            x[i, 1:q + 1, lexical] = scores[layer][head][at[q], at[1:]]
        return A, x

    shape = (model["n_layer"], model["n_head"])
    steps = [s.decode() for s in group["step"][()]]
    left_out = [f.decode() for f in group["family"][()]]
    theta = np.full((len(names),) + shape, np.nan)
    some = [(i // shape[1], i % shape[1]) for i in range(0, shape[0] * shape[1], max(1, shape[0] * shape[1] // FEW))]
    deviance, beyond, gain, se = [], [], [], []
    for layer in range(shape[0]):
        for head in range(shape[1]):
            A, x = of_head(even, patterns[0], layer, head)
            everything = list(range(len(names)))
            theta[:, layer, head] = minimise(even, x, A, everything)
            if (layer, head) not in some:
                continue
            se.append(sandwich(even, x, A, theta[:, layer, head]))
            A_odd, x_odd = of_head(odd, patterns[1], layer, head)
            from_uniform = divergences(odd, x_odd, A_odd, np.zeros(len(names)))

            def judged(keep):
                columns = [f for f in everything if keep(families[f])]
                return divergences(odd, x_odd, A_odd, minimise(even, x, A, columns))

            models = {"sink": judged(lambda f: f == "sink"), "position": judged(lambda f: f in ("sink", "position")),
                      "lexical": judged(lambda f: f in ("sink", "position", "lexical")), "features": judged(lambda f: f != "lexical"),
                      "full": divergences(odd, x_odd, A_odd, theta[:, layer, head])}
            deviance.append([1 - models[s][0] / from_uniform[0] if s in models else np.nan for s in steps])
            beyond.append([1 - models[s][1] / from_uniform[1] if s in models else np.nan for s in steps])
            gain.append([(judged(lambda f: f != family)[1] - models["full"][1]) / from_uniform[1] for family in left_out])
    at = tuple(np.array(some).T)
    compare("coefficient", theta, group["coefficient"][()], 1e-3)
    # Errors of the coefficients of 1e-3 at most, of some tens of features.
    compare("coefficient_se", np.array(se).T, group["coefficient_se"][()][:, at[0], at[1]], 1e-3)
    compare("deviance_explained", np.array(deviance).T, group["deviance_explained"][()][:, at[0], at[1]], 1e-4)
    compare("deviance_explained_beyond_sink", np.array(beyond).T, group["deviance_explained_beyond_sink"][()][:, at[0], at[1]], 1e-4)
    compare("family_gain", np.array(gain).T, group["family_gain"][()][:, at[0], at[1]], 1e-4)
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
