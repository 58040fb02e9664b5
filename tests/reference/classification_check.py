"""Recompute the scores of `headscope run --analyses classification,attention` in plain NumPy and compare.

    python3 classification_check.py results.h5 model.h5 corpus.conllu [tokenizer_folder] [n_tested]

Reads annotation and vocabulary itself, cuts documents that are longer than the context, and computes every score from its
definition. If results.h5 holds the attention patterns of every document in full (--patterns, --pattern-tokens 0) and none is cut,
it takes them from there; otherwise it runs the model itself, by plain_gpt2.py in float64. Exits 1 if a number differs by more than
1e-6; by more than 1e-3 where the patterns are float64 and the program's float32, because a near tie may then fall the other way.
Induction always uses the forward pass of plain_gpt2.py, with a tolerance of 1e-6. At least `n_tested` p-values of relations, and of
pronouns, must be finite.
"""

import collections
import json
import math
import sys
import unicodedata

import h5py
import numpy as np

import plain_gpt2
from plain_bpe import Tokenizer
from plain_gpt2 import FAILURES, CounterRandom, Pass, random_permutation, read_model, report_failures, t_upper_tail

COMPARED = set()
# Variables by layer and head that effects_check.py recomputes, or that follow from others.
ELSEWHERE = {
    "copy_effect", "copy_effect_null", "copy_effect_p", "copy_effect_q", "suppression_effect", "suppression_effect_null",
    "suppression_effect_p", "suppression_effect_q", "explained", "explained_control", "explained_gain", "explained_where_said",
    "explained_place_mass", "explained_control_overlap", "mean_ablation_increase", "explained_verdict", "explained_text",
    "relation_passed_offset", "relation_text", "semantic_z", "primary", "type_margin", "type_score", "type_baseline",
    "type_threshold", "type_about", "type_features"}


def compare(name, *values, **options):
    COMPARED.add(name)
    plain_gpt2.compare(name, *values, **options)


# ---- annotation -----------------------------------------------------------------------------------------------------


def read_conllu(path):
    """Documents as dictionaries: text, words (form, upos, relation, head, sentence, span), mentions (entity, words, head)."""
    documents, fields, sentence_lines = [], [], []
    document = None

    def finish_sentence():
        nonlocal document, sentence_lines
        if sentence_lines:
            if document is None:
                document = new_document()
            add_sentence(document, sentence_lines, fields)
            sentence_lines = []

    def new_document():
        made = {"text": "", "words": [], "open": [], "mentions": [], "pending": False, "sentences": []}
        documents.append(made)
        return made

    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("# newdoc"):
            document = new_document()
        elif line.startswith("# global.Entity"):
            fields[:] = line.split("=", 1)[1].strip().split("-")
        elif not line:
            finish_sentence()
        elif not line.startswith("#"):
            sentence_lines.append(line.split("\t"))
    finish_sentence()
    for document in documents:
        finish_mentions(document)
    return documents


def add_sentence(document, rows, fields):
    first = len(document["words"])
    sentence = len(document["sentences"])
    covered_until, spans = 0, {}
    last = rows[-1]
    for i, row in enumerate(rows):
        if "." in row[0]:
            continue
        if "-" in row[0]:
            low, high = map(int, row[0].split("-"))
            span = append_form(document, row[1], row[9])
            covered_until = high
            forms = {int(r[0]): r[1] for r in rows if r[0].isdigit() and low <= int(r[0]) <= high}
            if "".join(forms.values()) == row[1]:
                position = span[0]
                for number, form in forms.items():
                    spans[number] = (position, position + len(form))
                    position += len(form)
            else:
                spans.update({number: span for number in forms})
            continue
        number = int(row[0])
        if number > covered_until:
            spans[number] = append_form(document, row[1], row[9])
        head = int(row[6]) if row[6].isdigit() and row[6] != "0" else None
        document["words"].append({
            "form": row[1], "features": dict(f.split("=", 1) for f in row[5].split("|") if "=" in f),
            "upos": row[3] if row[3] != "_" else "", "relation": row[7].split(":")[0] if row[7] != "_" else "",
            "head": None if head is None else first + head - 1, "sentence": sentence, "span": spans[number]})
        index = len(document["words"]) - 1
        for mention in document["open"]:
            mention["words"].append(index)
        for item in row[9].split("|"):
            if item.startswith("Entity="):
                add_brackets(document, item[len("Entity="):], index, fields)


    first_word, last_word = document["words"][first], document["words"][-1]
    document["sentences"].append((first_word["span"][0], last_word["span"][1]))


def append_form(document, form, misc):
    if document["pending"]:
        document["text"] += " "
    begin = len(document["text"])
    document["text"] += form
    document["pending"] = "SpaceAfter=No" not in misc.split("|")
    return begin, len(document["text"])


def add_brackets(document, text, index, fields):
    def open_mention(content):
        values = content.split("-")
        at = [i for i, name in enumerate(fields) if name in ("head", "minspan")]
        head = values[at[0]] if at and at[0] < len(values) else ""
        mention = {"name": values[0], "head_field": head, "words": [index], "order": len(document["mentions"]) + len(document["open"])}
        document["open"].append(mention)
        return values[0]

    def close_mention(name):
        for i in range(len(document["open"]) - 1, -1, -1):
            if document["open"][i]["name"] == name:
                document["mentions"].append(document["open"].pop(i))
                return
        raise ValueError(f"{name} is closed and was not open")

    content, opening = "", False
    for character in text + "\0":
        if character == "(" or character == "\0":
            if opening and content:
                open_mention(content)
            content, opening = "", True
        elif character == ")":
            close_mention(open_mention(content) if opening else content)
            content, opening = "", False
        else:
            content += character


def finish_mentions(document):
    whole, parts = [], collections.defaultdict(list)
    for mention in document["mentions"]:
        entity, _, part = mention["name"].partition("[")
        mention["entity"] = entity
        if part:
            number, count = map(int, part.rstrip("]").split("/"))
            if number == 1:
                parts[entity].append(mention)
                mention["left"] = count
            else:
                waiting = parts[entity][0]
                waiting["words"] += mention["words"]
            if number == count:
                whole.append(parts[entity].pop(0))
        else:
            whole.append(mention)
    for mention in whole:
        inside = set(mention["words"])
        listed = [mention["words"][int(p) - 1] for p in mention["head_field"].split(",") if p.isdigit()]
        candidates = listed or mention["words"]
        outside = [w for w in candidates if document["words"][w]["head"] not in inside]
        mention["head"] = (outside or candidates)[0]
    document["mentions"] = whole


# ---- pieces ---------------------------------------------------------------------------------------------------------


def cut(document, tokenizer, most):
    """The document, or its pieces: each as many sentences as have at most `most` tokens."""
    text, sentences = document["text"], document["sentences"]
    if len(tokenizer.encode(text)) <= most:
        return [document]
    groups = []
    for number, (begin, end) in enumerate(sentences):
        if groups and len(tokenizer.encode(text[sentences[groups[-1][0]][0]:end])) <= most:
            groups[-1].append(number)
        else:
            assert len(tokenizer.encode(text[begin:end])) <= most, "a sentence is longer than the context"
            groups.append([number])
    return [piece_of(document, group) for group in groups]


def piece_of(document, group):
    """Some sentences of a document: their text and words, and the mentions that lie in them."""
    begin, end = document["sentences"][group[0]][0], document["sentences"][group[-1]][1]
    numbers = [i for i, word in enumerate(document["words"]) if word["sentence"] in group]
    first = numbers[0]
    words = [{**document["words"][i], "span": tuple(x - begin for x in document["words"][i]["span"]),
              "head": None if document["words"][i]["head"] is None else document["words"][i]["head"] - first} for i in numbers]
    mentions = [{**m, "words": [w - first for w in m["words"]], "head": m["head"] - first} for m in document["mentions"]
                if min(m["words"]) >= first and max(m["words"]) < first + len(numbers)]
    return {"text": document["text"][begin:end], "words": words, "mentions": mentions}


# ---- tokens ---------------------------------------------------------------------------------------------------------


def token_bytes(vocabulary):
    """Bytes of each token id, undoing GPT-2's printable stand-ins."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    stand_in = {chr(b): b for b in plain}
    stand_in.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in plain)})
    return {i: bytes(stand_in[c] for c in token) if all(c in stand_in for c in token) else token.encode()
            for token, i in vocabulary.items()}


def character_sets(text, tokens, texts):
    """For each token after position 0, the characters of the text of which it holds at least one byte."""
    owner = [i for i, c in enumerate(text) for _ in c.encode()]
    sets, position = [[]], 0
    for token in tokens[1:]:
        n = len(texts[token])
        assert text.encode()[position:position + n] == texts[token], "the tokens do not spell the document"
        sets.append(sorted(set(owner[position:position + n])))
        position += n
    assert position == len(owner), "the tokens do not cover the document"
    return sets


def words_to_tokens(document, characters):
    """Positions of the tokens of each word."""
    text, words = document["text"], document["words"]
    tokens = [[] for _ in words]
    for t, held in enumerate(characters):
        while held and text[held[0]] == " ":
            held = held[1:]
        shared = [sum(w["span"][0] <= c < w["span"][1] for c in held) for w in words] if held else []
        if shared and max(shared) > 0:
            tokens[int(np.argmax(shared))].append(t)
    return tokens


def is_punctuation(text, held):
    category = [unicodedata.category(text[c]) for c in held]
    space = [text[c].isspace() for c in held]
    return any(c[0] == "P" for c in category) and all(c[0] == "P" or s for c, s in zip(category, space))


# ---- scores of one head on one document -----------------------------------------------------------------------------


def pattern_scores(A, marks, tokens, counts, mean_first):
    """Numerators and denominators; A is query x key."""
    T = len(A)
    q, k = np.tril_indices(T)
    keep = (k >= 1) & (q >= 2)
    q, k = q[keep], k[keep]
    a = A[q, k]
    entropy = -(A * np.log(np.where(A > 0, A, 1))).sum(axis=1)
    nearest_largest = {i: i - int(A[i, i:0:-1].argmax()) for i in range(2, T)}
    first = (q < 10)
    scores = {
        "sink": (A[1:, 0].sum(), T - 1), "entropy": (entropy[1:].sum(), T - 1), "confidence": (A[1:].max(axis=1).sum(), T - 1),
        "distance": ((a * (q - k)).sum(), a.sum()),
        "distance_even": ((a * (q - 1) / 2).sum(), a.sum()),
        "previous_token": (sum(A[i, i - 1] for i in range(2, T)), T - 2),
        "delimiter": (a[marks[k]].sum(), a.sum()),
        "variability": (np.abs(a[first] - mean_first[q[first], k[first]]).sum(), 2 * a[first].sum()),
    }
    copies = [[j for j in range(1, i) if tokens[j] == tokens[i]] for i in range(T)]
    with_copy = [i for i in range(2, T) if copies[i]]
    scores["duplicate_token"] = (sum(A[i, copies[i]].sum() for i in with_copy), len(with_copy))
    hits = n = 0
    for i in range(2, T):
        keys = set(tokens[1:i + 1])
        least = min(counts[t] for t in keys)
        rarest = [t for t in keys if counts[t] == least]
        if len(rarest) == 1:
            n += 1
            hits += tokens[nearest_largest[i]] == rarest[0]
    scores["rare_token"] = (hits, n)
    for offset in range(9):
        scores["offset_share", offset] = (sum(i - j == offset for i, j in nearest_largest.items()), T - 2)
        at = [A[i, i - offset] for i in range(2, T) if i - offset >= 1]
        scores["offset_mass", offset] = (sum(at), len(at))
    return scores, entropy


def semantic_cosines(tokens, wte, seed):
    """For each query with enough keys: its keys and the centred cosines of its embedding with theirs and of 20 nulls, which permute the
    tokens' embeddings, [1 + null, key]."""
    different = list(dict.fromkeys(tokens[1:]))
    E = wte[different].astype(np.float64)
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    place = {t: i for i, t in enumerate(different)}
    types = np.array([place.get(t, 0) for t in tokens])
    types[0] = 0
    cosine = E @ E.T
    renames = [np.arange(len(different))]
    renames += [random_permutation(len(different), CounterRandom(seed, replicate)) for replicate in range(20)]
    renames = np.array(renames)
    for q in range(2, len(tokens)):
        keys = [k for k in range(1, q - 1) if tokens[k] != tokens[q]]
        if len(keys) >= 5:
            s = cosine[renames[:, types[q]][:, None], renames[:, types[keys]]]
            yield q, keys, s - s.mean(axis=1, keepdims=True)


def semantic_scores(A, cosines):
    """Numerators and denominators of the correlation with `semantic_cosines`, and of its nulls."""
    total, n = np.zeros(21), np.zeros(21)
    for q, keys, s in cosines:
        a = A[q, keys] - A[q, keys].mean()
        if np.linalg.norm(a) <= 1e-6 * np.linalg.norm(A[q, keys]):
            continue
        squares = (s * s).sum(axis=1)
        varies = squares > 1e-12 * len(keys)
        total[varies] += (s[varies] @ a) / np.sqrt((a @ a) * squares[varies])
        n[varies] += 1
    return list(zip(total, n))


def word_level(A, tokens_of):
    """Attention from each word to each earlier word."""
    to = np.zeros((len(A), len(tokens_of)))
    for i, its in enumerate(tokens_of):
        to[its, i] = 1
    n_token = np.maximum(to.sum(axis=0), 1)
    return np.tril(to.T @ A @ to / n_token[:, None], -1)


def largest_words(W, tokens_of):
    largest = {}
    for i in range(len(W)):
        earlier = [j for j in range(i) if tokens_of[j]]
        if tokens_of[i] and earlier:
            largest[i] = max(earlier, key=lambda j: (W[i, j], j))
    return largest


CLASSES = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "SCONJ", "SYM", "VERB", "X")


def nearest_class(words, later, earlier):
    """The part of speech of the earlier word if it is the last of its kind before the later; None otherwise, and for PUNCT."""
    upos = words[earlier]["upos"]
    last = max(i for i in range(later) if words[i]["upos"] == upos)
    return upos if upos in CLASSES and last == earlier else None


RULES = ("nearest", "completed_last", "same_form", "agreement")
PRONOUNS = {form: agreement for agreement, forms in {
    ("Masc", "Sing"): "he him his himself", ("Fem", "Sing"): "she her hers herself", ("Neut", "Sing"): "it its itself",
    (None, "Sing"): "i me my mine myself",
    (None, "Plur"): "they them their theirs themselves we us our ours ourselves"}.items() for form in forms.split()}


def agreement(word):
    """Gender and number."""
    gender, number = PRONOUNS.get(word["form"].lower(), (None, None)) if word["upos"] == "PRON" else (None, None)
    return word["features"].get("Gender", gender), word["features"].get("Number", number)


def references(document, tokens_of):
    """(word, antecedent head words, is pronoun, whether each rule is right) of each mention that has an antecedent."""
    words = document["words"]
    mentions = [m for m in document["mentions"] if tokens_of[m["head"]]]
    found = []
    for mention in mentions:
        own = words[mention["head"]]
        antecedents = {m["head"] for m in mentions if m["entity"] == mention["entity"] and m["head"] < mention["head"]}
        if antecedents:
            earlier = [m["head"] for m in mentions if m["head"] < mention["head"]]
            done = [m for m in mentions if max(m["words"]) < min(mention["words"])]
            taken = [max(earlier), max(done, key=lambda m: (max(m["words"]), -min(m["words"])), default={"head": None})["head"],
                     max((w for w in earlier if words[w]["form"].lower() == own["form"].lower()), default=max(earlier)),
                     max((w for w in earlier if agreement(words[w]) == agreement(own)), default=max(earlier))]
            found.append((mention["head"], antecedents, own["upos"] == "PRON", [word in antecedents for word in taken]))
    return found


# ---- induction ------------------------------------------------------------------------------------------------------


def induction(model, first_token, seed):
    half = min(50, (model["n_ctx"] - 1) // 2)
    total = 0
    for i in range(10):
        random, counter, tokens = CounterRandom(seed, i), 0, []
        while len(tokens) < half:
            token = random.below(len(model["wte.weight"]), counter)
            counter += 1
            if token != first_token and token not in tokens:
                tokens.append(token)
        patterns = Pass(model, [first_token] + tokens + tokens).pattern
        total = total + np.array([[np.mean([head[q, q - half + 1] for q in range(half + 1, 2 * half + 1)]) for head in layer]
                                  for layer in patterns])
    return total / 10


# ---- tests and types ------------------------------------------------------------------------------------------------


def paired_t_p(differences):
    """One-sided p-value of a mean of at most 0."""
    n, mean, deviation = len(differences), np.mean(differences), np.std(differences, ddof=1)
    if deviation == 0:
        return 0.0 if mean > 0 else 1.0
    return t_upper_tail(mean / deviation * math.sqrt(n), n - 1)


def paired_p(cases, heads, rule, least=(30, 10)):
    """By head; cases and the rule's hits by document, the heads' by document and head. NaN where there are too few."""
    has = cases > 0
    if cases.sum() < least[0] or has.sum() < least[1]:
        return np.full(heads.shape[1:], np.nan)
    return np.apply_along_axis(paired_t_p, 0, heads[has] - rule[has].reshape((-1,) + (1,) * (heads.ndim - 1)))


def adjusted(p):
    """Benjamini-Hochberg; NaN marks a missing test."""
    flat = p.ravel()
    tested = np.flatnonzero(~np.isnan(flat))
    q = np.full(flat.shape, np.nan)
    least = 1.0
    for rank, i in sorted(enumerate(tested[np.argsort(flat[tested], kind="stable")], 1), reverse=True):
        least = min(least, flat[i] * len(tested) / rank)
        q[i] = least
    return q.reshape(p.shape)


def ratio(sums):
    return {name: np.divide(n, d, out=np.full(np.shape(n), np.nan), where=np.asarray(d) > 0) for name, (n, d) in sums.items()}


class Sums(dict):
    """name -> [numerator, denominator]; each an array over heads or a number."""

    def add(self, name, numerator, denominator, at=(), shape=()):
        if name not in self:
            self[name] = [np.zeros(shape), np.zeros(shape)]
        self[name][0][at] += numerator
        self[name][1][at] += denominator


def read_tokenizer(model_path, folder=None):
    """The tokenizer of a folder, or else of the model file."""
    if folder:
        with open(f"{folder}/vocab.json", encoding="utf-8") as vocab, open(f"{folder}/merges.txt", encoding="utf-8") as merges:
            return Tokenizer(json.load(vocab), merges.read())
    with h5py.File(model_path) as file:
        return Tokenizer(json.loads(file["tokenizer/vocab"].asstr()[()]), file["tokenizer/merges"].asstr()[()])


def word_class_heads(halves, shape, group, attends):
    """Heads of the type word_class; their classes are compared."""
    even, odd = ratio(halves["even"]), ratio(halves["odd"])
    nothing = np.full(shape, np.nan)

    def values(of_half, name, missing):
        return np.array([of_half.get((name, c), missing) for c in CLASSES])

    with np.errstate(divide="ignore", invalid="ignore"):
        share, baseline = values(even, "word_class_share", nothing), values(even, "word_class_baseline", np.nan)[:, None, None]
        multiple = np.nan_to_num(np.minimum(share / 0.5, share / (2 * baseline)), nan=-1.0)
    chosen = multiple.argmax(axis=0)
    score = np.take_along_axis(values(odd, "word_class_share", nothing), chosen[None], axis=0)[0]
    threshold = np.maximum(0.5, 2 * values(odd, "word_class_baseline", np.nan)[chosen])
    passed = (score >= threshold) & attends
    compare("word_class", np.where(passed, chosen, -1), group["word_class"][()])
    return passed


def main(results_path, model_path, corpus_path, tokenizer_folder="", n_tested="0"):
    results = h5py.File(results_path)
    group = results["classification"]
    seed = int(results.attrs["seed"])
    model = read_model(model_path)
    shape = (model["n_layer"], model["n_head"])
    tokenizer = read_tokenizer(model_path, tokenizer_folder or None)
    texts = token_bytes(tokenizer.vocabulary)
    n_document = int(results.attrs["n_document"])
    first_token = tokenizer.vocabulary["<|endoftext|>"]
    pieces = []  # (number of the document, number of the piece, piece)
    for d, document in enumerate(read_conllu(corpus_path)[:n_document]):
        pieces += [(d, i, piece) for i, piece in enumerate(cut(document, tokenizer, model["n_ctx"] - 1))]
    tokens_of_piece = [[first_token] + tokenizer.encode(piece["text"]) for _, _, piece in pieces]
    is_stored = len(pieces) == n_document and all(
        f"attention/{d}/tokens" in results and len(results[f"attention/{d}/tokens"]) == len(tokens)
        for (d, _, _), tokens in zip(pieces, tokens_of_piece))
    if is_stored:
        patterns = [results[f"attention/{d}/pattern"][()] for d, _, _ in pieces]
    else:
        patterns = [np.array(Pass(model, tokens).pattern) for tokens in tokens_of_piece]
        plain_gpt2.TOLERANCE = 1e-3
    print(f"{n_document} documents in {len(pieces)} pieces, patterns", "of the program" if is_stored else "of plain_gpt2.py")
    counts = collections.Counter(t for tokens in tokens_of_piece for t in tokens)

    first, seen = np.zeros(shape + (10, 10)), np.zeros(10)
    for pattern in patterns:
        n = min(10, pattern.shape[-1])
        first[:, :, :n, :n] += pattern[:, :, :n, :n]
        seen[:n] += 1
    first /= np.maximum(seen, 1)[None, None, :, None]

    halves = {"all": Sums(), "even": Sums(), "odd": Sums()}
    by_document = Sums()  # of odd documents: numbers of cases, of hits by rule and by head
    null = Sums()
    unaligned = 0
    for (d, index, document), tokens, A_all in zip(pieces, tokens_of_piece, patterns):
        characters = character_sets(document["text"], tokens, texts)
        marks = np.array([False] + [is_punctuation(document["text"], held) for held in characters[1:]])
        tokens_of = words_to_tokens(document, characters)
        unaligned += sum(not t for t in tokens_of)
        words = document["words"]
        arcs = [(max(i, w["head"]), min(i, w["head"]), w["relation"], 0 if i > w["head"] else 1) for i, w in enumerate(words)
                if w["head"] is not None and tokens_of[i] and tokens_of[w["head"]]]
        asked = references(document, tokens_of)
        pronoun_sentences = {w["sentence"] for w in words if w["upos"] == "PRON"}
        class_of = {t: w["upos"] for w, ts in zip(words, tokens_of) for t in ts}
        of_class = {c: np.array([class_of.get(t) == c for t in range(len(tokens))]) for c in CLASSES}
        kind = {t: int(w["sentence"] in pronoun_sentences) for w, ts in zip(words, tokens_of) for t in ts}
        T = len(tokens)
        sums = [halves["all"], halves["even" if d % 2 == 0 else "odd"]]
        for part in sums:
            for q in range(2, T):
                part.add("delimiter_baseline", marks[1:q + 1].sum(), q)
                for c in CLASSES:
                    part.add(("word_class_baseline", c), of_class[c][1:q + 1].sum(), q)
                part.add("distance_uniform", sum(q - k for k in range(1, q + 1)) / q, 1)
                part.add("distance_furthest", q - 1, 1)
            n_earlier = 0
            for i, its in enumerate(tokens_of):
                if its and n_earlier:
                    part.add("dependency_alignment_baseline", sum(arc[0] == i for arc in arcs) / n_earlier, 1)
                    before = max(j for j in range(i) if tokens_of[j])
                    part.add("dependency_alignment_previous", any(arc[:2] == (i, before) for arc in arcs), 1)
                n_earlier += bool(its)
            for _, _, pronoun, right in asked:
                for rule, is_right in zip(RULES, right):
                    for mention in ("all", "pronoun") if pronoun else ("all",):
                        part.add(("coreference_baseline", rule, mention), is_right, 1)
            for later, earlier, relation, direction in arcs:
                if relation not in ("", "root", "punct"):
                    part.add(("offset", relation, direction, later - earlier), 1, 0)
                    if nearest_class(words, later, earlier):
                        part.add(("class", relation, direction, nearest_class(words, later, earlier)), 1, 0)
                    part.add(("count", relation, direction), 1, 0)
        in_documents = {"at": d, "shape": n_document}
        if d % 2 == 1:
            for later, earlier, relation, direction in arcs:
                by_document.add((relation, direction), 1, 0, **in_documents)
                by_document.add((relation, direction, later - earlier), 1, 0, **in_documents)
                if nearest_class(words, later, earlier):
                    by_document.add((relation, direction, nearest_class(words, later, earlier)), 1, 0, **in_documents)
            for _, _, pronoun, right in asked:
                by_document.add("pronoun", pronoun, 0, **in_documents)
                for rule, is_right in zip(RULES, right):
                    by_document.add(("pronoun", rule), pronoun and is_right, 0, **in_documents)
        cosines = list(semantic_cosines(tokens, model["wte.weight"], CounterRandom(seed, d).value(index)))
        for unit in np.ndindex(shape):
            A = A_all[unit]
            scores, entropy = pattern_scores(A, marks, tokens, counts, first[unit])
            semantic = semantic_scores(A, cosines)
            scores["semantic"] = semantic[0]
            beyond_sink = np.tril(A)[2:, 1:]
            for c in CLASSES:
                scores["word_class_share", c] = (beyond_sink[:, of_class[c][1:]].sum(), beyond_sink.sum())
            for replicate, value in enumerate(semantic[1:]):
                null.add(replicate, *value, at=unit, shape=shape)
            W = word_level(A, tokens_of)
            largest = largest_words(W, tokens_of)
            scores["dependency_alignment"] = (sum(W[later, earlier] for later, earlier, _, _ in arcs), W.sum())
            scores["coreference"] = (sum(largest.get(w) in a for w, a, *_ in asked), len(asked))
            pronouns = [(w, a) for w, a, p, *_ in asked if p]
            scores["coreference_pronoun"] = (sum(largest.get(w) in a for w, a in pronouns), len(pronouns))
            for which in (0, 1):
                at = [t for t, k in kind.items() if k == which]
                scores["sentence_sink", which] = (A[at, 0].sum(), len(at))
                scores["sentence_entropy", which] = (entropy[at].sum(), len(at))
            for part in sums:
                for name, value in scores.items():
                    part.add(name, *value, at=unit, shape=shape)
                for later, earlier, relation, direction in arcs:
                    if relation not in ("", "root", "punct"):
                        part.add(("hits", relation, direction), largest.get(later) == earlier, 0, at=unit, shape=shape)
            if d % 2 == 1:
                in_documents = {"at": (d,) + unit, "shape": (n_document,) + shape}
                by_document.add(("pronoun", "hits"), scores["coreference_pronoun"][0], 0, **in_documents)
                for later, earlier, relation, direction in arcs:
                    by_document.add((relation, direction, "hits"), largest.get(later) == earlier, 0, **in_documents)

    found = ratio(halves["all"])
    for name in ("sink", "entropy", "confidence", "distance", "distance_even", "variability", "previous_token", "delimiter", "duplicate_token",
                 "rare_token", "semantic", "dependency_alignment", "coreference", "coreference_pronoun", "delimiter_baseline",
                 "distance_uniform", "distance_furthest", "dependency_alignment_baseline", "dependency_alignment_previous"):
        compare(name, found[name], group[name][()])
    for name in ("offset_share", "offset_mass"):
        compare(name, [found[name, o] for o in range(9)], group[name][()])
    for half, suffix in (("all", ""), ("odd", "_heldout")):
        of_half = ratio(halves[half])
        compare("word_class_share" + suffix, [of_half.get(("word_class_share", c), np.full(shape, np.nan)) for c in CLASSES],
                group["word_class_share" + suffix][()])
    compare("word_class_baseline", [found["word_class_baseline", c] for c in CLASSES], group["word_class_baseline"][()])
    compare("sentence_sink", [found["sentence_sink", w] for w in (0, 1)], group["sentence_sink"][()])
    compare("sentence_entropy", [found["sentence_entropy", w] for w in (0, 1)], group["sentence_entropy"][()])
    compare("unaligned_words", unaligned, group["unaligned_words"][()])
    nulls = np.array([n / d for n, d in null.values()])
    compare("semantic_null", nulls.mean(axis=0), group["semantic_null"][()])
    compare("semantic_null_std", nulls.std(axis=0, ddof=1), group["semantic_null_std"][()])
    inductions = induction(model, first_token, seed)
    compare("induction", inductions, group["induction"][()], tolerance=1e-6)

    relations = sorted({key[1] for key in halves["all"] if key[0] == "count"})
    stored = [r.decode() if isinstance(r, bytes) else r for r in group["relation"][()]]
    if relations != stored:
        FAILURES.append(f"relations: expected {relations}, got {stored}")

    def count(half, relation, direction):
        return float(halves[half].get(("count", relation, direction), [0])[0])

    def hits(half, relation, direction):
        return np.asarray(halves[half].get(("hits", relation, direction), [np.zeros(shape)])[0])

    def offsets(half, relation, direction):
        return {key[3]: float(value[0]) for key, value in halves[half].items() if key[:3] == ("offset", relation, direction)}

    def classes(half, relation, direction):
        return {key[3]: float(value[0]) for key, value in halves[half].items() if key[:3] == ("class", relation, direction)}

    def share(part, whole):
        return part / whole if whole else np.full(np.shape(part), np.nan)

    def document_counts(name, shape):
        return by_document.get(name, [np.zeros(shape)])[0]

    tests = [(r, d) for r in relations for d in (0, 1)]
    table = collections.defaultdict(list)
    even_gain, by_rule, best_classes = [], [], []
    for r, d in tests:
        everywhere = offsets("all", r, d)
        even, odd = ({o: n for o, n in offsets(half, r, d).items() if o <= 64} for half in ("even", "odd"))
        chosen = min(even, key=lambda o: (-even[o], o), default=None)
        best = min(odd, key=lambda o: (-odd[o], o != chosen, o), default=chosen or 0)
        even_classes, odd_classes = classes("even", r, d), classes("odd", r, d)
        chosen_class = min(even_classes, key=lambda c: (-even_classes[c], c), default=None)
        best_class = min(odd_classes, key=lambda c: (-odd_classes[c], c != chosen_class, c), default=chosen_class)
        of_offset = share(odd.get(best, 0.0), count("odd", r, d))
        of_class = share(odd_classes.get(best_class, 0.0), count("odd", r, d))
        by_class = bool(of_class > of_offset)
        baseline = max(of_offset, of_class)
        best_even = max([*even.values(), *even_classes.values()], default=0.0)
        even_gain.append(share(hits("even", r, d), count("even", r, d)) - share(best_even, count("even", r, d)))
        n = int(count("odd", r, d))
        cases = document_counts((r, d), n_document)
        table["relation_accuracy"].append(share(hits("all", r, d), count("all", r, d)))
        table["relation_count"].append(count("all", r, d))
        by_rule.append([share(max(each.values(), default=0.0), count("all", r, d)) for each in (everywhere, classes("all", r, d))])
        best_classes.append(best_class or "")
        table["relation_baseline_rule"].append(by_class)
        table["relation_baseline_heldout_offset"].append(float(of_offset))
        table["relation_baseline_heldout_word_class"].append(float(of_class))
        table["relation_accuracy_heldout"].append(share(hits("odd", r, d), n))
        table["relation_baseline_heldout"].append(float(baseline))
        table["relation_count_heldout"].append(n)
        table["relation_offset"].append(best)
        table["relation_documents_heldout"].append((cases > 0).sum())
        table["relation_p"].append(paired_p(cases, document_counts((r, d, "hits"), (n_document,) + shape),
                                            document_counts((r, d, best_class if by_class else best), n_document)))
    for name, values in table.items():
        values = np.array(values)
        compare(name, values.reshape((len(relations), 2) + values.shape[1:]), group[name][()],
                finite=int(n_tested) if name == "relation_p" else 0)
    if relations:
        compare("relation_baseline", np.moveaxis(np.array(by_rule), 1, 0).reshape(2, len(relations), 2), group["relation_baseline"][()])
        stored = [c.decode() if isinstance(c, bytes) else c for c in group["relation_class"][()].ravel()]
        if best_classes != stored:
            FAILURES.append(f"relation_class: expected {best_classes}, got {stored}")
    q = adjusted(np.array(table["relation_p"]))
    compare("relation_q", q.reshape((len(relations), 2) + shape), group["relation_q"][()], finite=int(n_tested))

    odd = ratio(halves["odd"])
    for half, name in (("all", "coreference_baseline"), ("odd", "coreference_baseline_heldout")):
        compare(name, [[ratio(halves[half]).get(("coreference_baseline", rule, mention), np.nan) for mention in ("all", "pronoun")]
                       for rule in RULES], group[name][()])
    of_rule = [float(odd.get(("coreference_baseline", rule, "pronoun"), np.nan)) for rule in RULES]
    pronoun_baseline = max(of_rule)
    coreference_p = paired_p(document_counts("pronoun", n_document),
                             document_counts(("pronoun", "hits"), (n_document,) + shape),
                             document_counts(("pronoun", RULES[of_rule.index(pronoun_baseline)]), n_document))
    compare("coreference_pronoun_heldout", odd["coreference_pronoun"], group["coreference_pronoun_heldout"][()])
    compare("coreference_p", coreference_p, group["coreference_p"][()], finite=int(n_tested))
    coreference_q = adjusted(coreference_p)
    compare("coreference_q", coreference_q, group["coreference_q"][()], finite=int(n_tested))

    z = (found["semantic"] - nulls.mean(axis=0)) / nulls.std(axis=0, ddof=1)
    threshold = np.array(table["relation_baseline_heldout"])[:, None, None] + 0.10
    passed = (np.array(table["relation_accuracy_heldout"]) >= threshold) & (q < 0.05)
    compare("relation_passed", passed.reshape((len(relations), 2) + shape), group["relation_passed"][()])
    syntactic = passed.any(axis=0)
    claimed = np.where(passed, np.nan_to_num(np.array(even_gain), nan=-2), -np.inf).argmax(axis=0)
    carrier = np.where(syntactic, claimed, -1)
    held_out = np.array(table["relation_count_heldout"] + [0])
    compare("syntactic_relation", np.where(syntactic, carrier // 2, -1), group["syntactic_relation"][()])
    compare("syntactic_direction", np.where(syntactic, carrier % 2, -1), group["syntactic_direction"][()])
    compare("syntactic_arcs", held_out[carrier], group["syntactic_arcs"][()])
    at_offset = np.array([(found["offset_share", o] >= 0.9) & (found["offset_mass", o] >= 0.2) for o in range(9)])
    positional = at_offset[1:].any(axis=0)
    # A share of 0.9 or more lies at a single offset.
    compare("positional_offset", np.where(positional, 1 + at_offset[1:].argmax(axis=0), -1), group["positional_offset"][()])
    distance_low = group["distance_ci_low"][()] if "distance_ci_low" in group else np.full(shape, np.nan)
    uniform, furthest = float(found["distance_uniform"]), float(found["distance_furthest"])
    attends = ~(found["sink"] > 0.98)

    def writes(sign, name):  # the effects themselves: effects_check.py
        effect = sign * group[name][()]
        return (effect >= 0.1) & (effect - sign * group[name + "_null"][()] > 0) & (group[name + "_q"][()] < 0.05)

    expected = {
        "positional": positional,
        "current_token": at_offset[0],
        "delimiter": (found["delimiter"] >= max(0.5, 2 * float(found["delimiter_baseline"]))) & attends,
        "syntactic": syntactic,
        "coreference": (odd["coreference_pronoun"] >= pronoun_baseline + 0.10) & (coreference_q < 0.05),
        "semantic": (found["semantic"] >= 0.2) & (z >= 5),
        "duplicate": found["duplicate_token"] >= 0.4,
        "induction": inductions >= 0.4,
        "rare": found["rare_token"] >= 0.5,
        "sink": found["sink"] >= 0.9,
        # The interval of distance - distance_even, which these heads are far from, is not computed here.
        "long_range": (found["distance"] >= uniform + 0.25 * (furthest - uniform)) & (found["distance"] > found["distance_even"])
        & (distance_low > uniform) & attends,
        "copying": writes(1, "copy_effect"),
        "suppressing": writes(-1, "suppression_effect"),
        "word_class": word_class_heads(halves, shape, group, attends)}
    types = list(group["head_type"].asstr()[()])
    if types != list(expected):
        FAILURES.append(f"head_type: expected {list(expected)}, whose rules are here, got {types}")
    compare("type", list(expected.values()), group["type"][()])
    for name, variable in group.items():
        is_of_another = name.endswith(("_ci_low", "_ci_high", "_influences", "_resamples"))
        if getattr(variable, "shape", ())[-2:] == shape and not is_of_another and name not in COMPARED | ELSEWHERE:
            FAILURES.append(f"{name}: is not recomputed")
    return report_failures()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
