#!/usr/bin/python3
"""How often the program errs, beside how often it says it does.

    calibration.py PROGRAM [--model M --tokenizer T] [--corpus C.conllu ...] [--tasks T.jsonl ...] [--seeds N] [--parts P,...]

- shuffled: the words of the corpus exchange their forms at random. Attention can then follow no relation; every syntactic or
  coreference head is false.
- labels: the text stays, and the trees change places between sentences of equal length, as do the entities of a document's
  pronouns. Again every syntactic or coreference head is false.
- untrained: models of three shapes with GPT-2's initialisation read the corpus; each type that a head has is false but sink and
  those that a head may have without training, which are counted.
- swapped: head and baseline change places in documents chosen at random, so that neither can be better. The p-values of the
  program's paired t are then uniform: it is made here from hits by document, once without swaps to compare it with the program's.
- effects: the same of the paired t of copy_effect_p, suppression_effect_p and margin_change_p. Effect and null, or the model with and
  without the head, change places in documents or pairs chosen at random.
- coverage: the documents are the population, its values those of a run on all of them. Samples of --sample documents are drawn from
  it with replacement, which makes the population's values the truth whatever its size; the table says how often the 95 % intervals
  of a run on the sample hold them. A kind with a value by head has the mean over heads, and the head least often covered. Labels are
  tested on all documents (--explain-documents 0). `induction` is about random sequences, which each run draws anew: its truth is the
  mean over the samples.
- differences: the same of differences between two runs on the same documents, of the model and of its matrices with noise of 0.15
  of their standard deviation.
- tasks: the same of the pairs of --tasks, --sample of each.
- increases: the same of the loss increases of heads, exact and, from --sample 50 on, of two phases (--ablate-documents), of many more
  samples at the cost of one run: the interval is made here, as headscope/estimate.hpp says, from the increases of each document that the shards of a run keep.

Prints a table in Markdown. docs/calibration.md has that of english-mini on EWT; CTest runs the stories with few seeds.
"""

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
from plain_gpt2 import t_upper_tail  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")
SHAPES = {"2 layers of 4 heads, 64": (2, 4, 64), "4 layers of 6 heads, 192": (4, 6, 192), "6 layers of 12 heads, 384": (6, 12, 384)}


# ---- corpora --------------------------------------------------------------------------------------------------------


def read_documents(paths):
    """Documents as lists of sentences, each a list of rows of ten fields. Comments other than global.Entity, multiword tokens
    and empty nodes are left out."""
    documents, fields = [], None
    for path in paths:
        for line in open(path, encoding="utf-8"):
            line = line.rstrip("\n")
            if line.startswith("# newdoc"):
                documents.append([[]])
            elif line.startswith("# global.Entity"):
                fields = line
            elif not line:
                documents[-1].append([])
            elif line.split("\t")[0].isdigit():
                documents[-1][-1].append(line.split("\t"))
    return [[sentence for sentence in document if sentence] for document in documents], fields


def write_documents(documents, fields, path):
    with open(path, "w", encoding="utf-8") as file:
        for number, document in enumerate(documents):
            file.write(f"# newdoc id = document-{number}\n")
            if fields:
                file.write(fields + "\n")
            for sentence in document:
                file.write("".join("\t".join(row) + "\n" for row in sentence) + "\n")


def rows_of(documents):
    return [row for document in documents for sentence in document for row in sentence]


def copied(documents):
    return [[[list(row) for row in sentence] for sentence in document] for document in documents]


def shuffled_words(documents, rng):
    documents = copied(documents)
    rows = rows_of(documents)
    forms = [row[1] for row in rows]
    rng.shuffle(forms)
    for row, form in zip(rows, forms):
        row[1] = form
    return documents


def random_labels(documents, rng):
    documents = copied(documents)
    by_length = collections.defaultdict(list)
    for document in documents:
        for sentence in document:
            by_length[len(sentence)].append(sentence)
        alone = [row for sentence in document for row in sentence
                 if row[3] == "PRON" and re.fullmatch(r"(.*\|)?Entity=\([^()|]*\)(\|.*)?", row[9])]
        entities = [re.search(r"Entity=\([^()|]*\)", row[9])[0] for row in alone]
        rng.shuffle(entities)
        for row, entity in zip(alone, entities):
            row[9] = re.sub(r"Entity=\([^()|]*\)", lambda _: entity, row[9])
    for sentences in by_length.values():
        trees = [[(row[6], row[7]) for row in sentence] for sentence in sentences]
        rng.shuffle(trees)
        for sentence, tree in zip(sentences, trees):
            for row, (head, relation) in zip(sentence, tree):
                row[6], row[7] = head, relation
    return documents


# ---- models and runs ------------------------------------------------------------------------------------------------


def write_untrained(model_path, shape, seed, path):
    """A model of GPT-2's initialisation with the tokenizer, context and vocabulary of another."""
    n_layer, n_head, width = shape
    rng = np.random.default_rng(seed)
    with h5py.File(model_path) as old, h5py.File(path, "w") as new:
        for name, value in old.attrs.items():
            new.attrs[name] = value
        new.attrs.update({"n_layer": n_layer, "n_head": n_head, "n_embd": width})
        if "tokenizer" in old:
            old.copy("tokenizer", new)
        normal = lambda *size, scale=0.02: rng.normal(0, scale, size).astype(np.float32)
        tensors = {"wte.weight": normal(int(old.attrs["vocab_size"]), width), "wpe.weight": normal(int(old.attrs["n_positions"]), width)}
        for norm in ["ln_f"] + [f"h.{i}.ln_{j}" for i in range(n_layer) for j in (1, 2)]:
            tensors[norm + ".weight"], tensors[norm + ".bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)
        residual = 0.02 / np.sqrt(2 * n_layer)
        for i in range(n_layer):
            for name, size, scale in (("attn.c_attn", (width, 3 * width), 0.02), ("attn.c_proj", (width, width), residual),
                                      ("mlp.c_fc", (width, 4 * width), 0.02), ("mlp.c_proj", (4 * width, width), residual)):
                tensors[f"h.{i}.{name}.weight"] = normal(*size, scale=scale)
                tensors[f"h.{i}.{name}.bias"] = np.zeros(size[1], np.float32)
        for name, tensor in tensors.items():
            new[name] = tensor


def write_noisy(model_path, share, path):
    """The model with normal noise added to its matrices, of this share of their standard deviation."""
    rng = np.random.default_rng(0)
    with h5py.File(model_path) as old, h5py.File(path, "w") as new:
        for name, value in old.attrs.items():
            new.attrs[name] = value
        for name, tensor in old.items():
            if name == "tokenizer":
                old.copy(name, new)
                continue
            values = tensor[()]
            noise = share * values.std() * rng.normal(size=values.shape) if values.ndim == 2 else 0
            new[name] = (values + noise).astype(np.float32)


class Runs:
    def __init__(self, options, folder):
        self.options, self.folder, self.number = options, folder, 0

    def command(self, corpus, analyses, output, model=None, explain_documents=1):
        command = [self.options.program, "run", "--model", model or self.options.model, "--corpus", corpus, "--analyses", analyses,
                   "--figures", "svg", "--quiet", "--threads", str(self.options.threads), "--engine", "float32", "--output", output]
        if "pruning" in analyses:
            command += ["--prune-documents", "0"]
        if "classification" in analyses:
            command += ["--explain-documents", str(explain_documents)]
        if self.options.tokenizer:
            command += ["--tokenizer", self.options.tokenizer]
        return command

    def run(self, corpus, analyses, model=None, seed=0, bootstrap=1000, tasks=(), explain_documents=1, more=()):
        """The results file of a run, open. explain_documents: on which labels are tested; 0: all."""
        self.number += 1
        output = os.path.join(self.folder, str(self.number))
        command = [*self.command(corpus, analyses, output, model, explain_documents), "--seed", str(seed), "--bootstrap", str(bootstrap), *more]
        if tasks:
            command += ["--tasks", *tasks]
        # Without gnuplot no figures are drawn.
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, PATH="/nonexistent"))
        if done.returncode != 0:
            sys.exit(done.stderr)
        return h5py.File(os.path.join(output, "results.h5"))


    def compare(self, first, later):
        """The results file of the comparison of two results files, open."""
        self.number += 1
        output = os.path.join(self.folder, str(self.number))
        subprocess.run([self.options.program, "compare", first, later, "--label", "first", "later", "--figures", "svg", "--quiet", "--output",
                        output], check=True, env=dict(os.environ, PATH="/nonexistent"))
        return h5py.File(os.path.join(output, "results.h5"))


def typed_heads(group):
    """Number of heads by type."""
    names = [name.decode() for name in group["head_type"][()]]
    return dict(zip(names, group["type"][()].sum(axis=(1, 2)).astype(int)))


# ---- parts ----------------------------------------------------------------------------------------------------------


def false_labels(runs, make, documents, fields, seeds):
    """False syntactic and coreference heads, runs that have one, tests rejected at p < 0.05 and tests made."""
    syntactic = coreference = with_any = rejected = tests = 0
    path = os.path.join(runs.folder, "made.conllu")
    n_head = 0
    for seed in range(seeds):
        write_documents(make(documents, random.Random(seed)), fields, path)
        with runs.run(path, "classification", seed=seed, bootstrap=20) as results:
            group = results["classification"]
            heads = typed_heads(group)
            p = group["relation_p"][()]
            n_head += group["primary"].size
        syntactic += heads["syntactic"]
        coreference += heads["coreference"]
        with_any += heads["syntactic"] + heads["coreference"] > 0
        rejected += (p < 0.05).sum()
        tests += (~np.isnan(p)).sum()
    return {"syntactic heads": f"{syntactic} of {n_head}", "coreference heads": f"{coreference} of {n_head}",
            "runs with a false one": f"{with_any} of {seeds}", "relation_p < 0.05": f"{rejected / max(tests, 1):.4f} of {tests}"}


def untrained_types(runs, documents, fields, seeds):
    path = os.path.join(runs.folder, "corpus.conllu")
    write_documents(documents, fields, path)
    table = {}
    for name, shape in SHAPES.items():
        found, n_head = collections.Counter(), 0
        for seed in range(seeds):
            model = os.path.join(runs.folder, "untrained.h5")
            write_untrained(runs.options.model, shape, seed, model)
            with runs.run(path, "classification", model=model, seed=seed, bootstrap=100) as results:
                found.update(typed_heads(results["classification"]))
                n_head += results["classification/primary"].size
        table[name] = f"of {n_head} heads: " + (", ".join(f"{n} {kind}" for kind, n in found.items() if n) or "none of any type")
    return table


def arcs_by_document(documents):
    """(relation, direction) -> word offset of every arc, by document. Direction 0: the dependent is the later word."""
    found = []
    for document in documents:
        arcs = collections.defaultdict(list)
        for sentence in document:
            for row in sentence:
                relation, head, word = row[7].split(":")[0], int(row[6]), int(row[0])
                if relation not in ("root", "punct", "_") and head > 0:
                    arcs[relation, 0 if word > head else 1].append(abs(word - head))
        found.append(arcs)
    return found


def p_values(by_document):
    """Of the one-sided t-test that the mean over documents is above 0, by head. by_document: document x head."""
    n = len(by_document)
    deviation = by_document.std(axis=0, ddof=1)
    t = by_document.mean(axis=0) / np.where(deviation > 0, deviation, 1) * np.sqrt(n)
    return np.array([t_upper_tail(each, n - 1) if spread > 0 else np.nan for each, spread in zip(t, deviation)])


def two_sided(p):
    return 2 * np.minimum(p, 1 - p)


def shares_below(p):
    """How many of the p-values lie below some levels, as text by level."""
    p = p[~np.isnan(p)]
    return {level: f"{(p < level).mean():.3f} of {len(p)}" for level in (0.05, 0.2, 0.5)}


def swapped_tests(runs, documents, fields, seeds):
    path = os.path.join(runs.folder, "corpus.conllu")
    write_documents(documents, fields, path)
    with runs.run(path, "classification", bootstrap=0, more=["--relation-baseline", "offset"]) as results:
        group = {name: results["classification/" + name][()] for name in
                 ("relation", "relation_tested", "relation_offset", "relation_count_heldout", "relation_p")}
    heldout = documents[1::2]
    hits = []  # by document: relation -> direction x layer x head
    for document in heldout:
        write_documents([document], fields, path)
        with runs.run(path, "classification", bootstrap=0) as results:
            one = results["classification"]
            if "relation" not in one:
                hits.append({})
                continue
            counted = np.rint(np.nan_to_num(one["relation_accuracy"][()]) * one["relation_count"][()][:, :, None, None])
            hits.append(dict(zip((name.decode() for name in one["relation"][()]), counted)))
    arcs = arcs_by_document(heldout)
    differences, worst = [], 0.0  # one of each tested relation, document x head
    for i, direction in np.argwhere(group["relation_tested"] == 1):
        relation = group["relation"][i].decode()
        offsets = [document[relation, direction] for document in arcs]
        if sum(map(len, offsets)) != group["relation_count_heldout"][i, direction]:
            continue  # a word without a token
        has = [d for d, each in enumerate(offsets) if each]
        rule = np.array([offsets[d].count(group["relation_offset"][i, direction]) for d in has])
        heads = np.array([hits[d][relation][direction].ravel() for d in has])
        differences.append(heads - rule[:, None])
        p, program = p_values(differences[-1]), group["relation_p"][i, direction].ravel()
        worst = max(worst, np.nanmax(np.abs(p - program)))
    if not differences or worst > 1e-6:  # SciPy's p against the program's
        sys.exit(f"the program's p differ by {worst} from those of {len(differences)} relations by document")
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for each in differences:
            found.append(p_values(each * rng.choice([-1, 1], (len(each), 1))))
    return {f"p < {level}": text for level, text in shares_below(np.concatenate(found)).items()}


def sum_of_shards(files, name):
    """A sum that the shards keep in fixed point (headscope/exact_sum.hpp): along the last axis 64 bits each, lowest first, of
    which those of the last have a sign and a unit of 1/64."""
    total = 0
    for parts in (file[name][()] for file in files if name in file):
        places = parts.astype(np.uint64).astype(float)
        places[..., -1] = parts[..., -1]
        total = total + places @ 2.0 ** np.arange(-198, -5, 64)
    return total


def ratio_values(difference, weight):
    """A value of each document whose mean is the ratio of sums and whose spread is that of the ratio, linearised."""
    n, ratio = len(weight), difference.sum(axis=0) / weight.sum(axis=0)
    return ratio + (difference - ratio * weight) * n / weight.sum(axis=0)


def effect_tests(runs, documents, fields, seeds, tasks, most_pairs):
    documents = documents[:N_BLOCK]  # each is a block of its own
    most_pairs = min(most_pairs or N_BLOCK, N_BLOCK)
    options = ["--tasks", *tasks, "--task-pairs", str(most_pairs)]
    files = shards_of(runs, documents, fields, "classification,tasks", *options)
    path = os.path.join(runs.folder, "corpus.conllu")
    done = runs.run(path, "classification,tasks", bootstrap=0, more=options)
    found, worst = collections.defaultdict(list), 0.0
    signs = [np.random.default_rng(seed).choice([-1, 1], (N_BLOCK, 1)) for seed in range(seeds)]
    for effect in ("copy_effect", "suppression_effect"):
        total = lambda name: sum_of_shards(files, "parts/classification/sums/" + name).reshape(N_BLOCK, -1)
        difference, weight = total(effect) - total(effect + "_null"), total(effect + "%2eweight")
        used = weight[:, 0] > 0
        difference, weight = difference[used], weight[used]
        p = two_sided(p_values(ratio_values(difference, weight)))
        worst = max(worst, np.nanmax(np.abs(p - done[f"classification/{effect}_p"][()].ravel())))
        for sign in signs:
            found[effect + "_p"].append(two_sided(p_values(ratio_values(difference * sign[used], weight))))
    n_pair = done["tasks/n_pair"][()].astype(int)
    for task, n in enumerate(n_pair):
        change = sum_of_shards(files, f"parts/tasks/sums/margin_change {task}").reshape(N_BLOCK, -1)[:n]
        worst = max(worst, np.nanmax(np.abs(two_sided(p_values(change)) - done["tasks/margin_change_p"][:, task].ravel())))
        for sign in signs:
            found["margin_change_p"].append(two_sided(p_values(change * sign[:n])))
    if worst > 1e-6:  # as above; the sums are exact
        sys.exit(f"the program's p differ by {worst} from those by document and by pair")
    return {f"{name} < {level}": text for name, p in found.items() for level, text in shares_below(np.concatenate(p)).items()}


N_BLOCK = 128  # documents or pairs that keep sums of their own

SCORES = ("sink", "entropy", "confidence", "distance", "distance_even", "variability", "previous_token", "delimiter", "dependency_alignment",
          "semantic", "duplicate_token", "copy_effect", "suppression_effect", "coreference", "coreference_pronoun", "offset_share",
          "offset_mass", "sentence_sink", "sentence_entropy", "mean_ablation_increase")  # rare_token is about the sample's own rarest tokens
LABEL_SHARES = ("explained", "explained_control", "explained_gain", "explained_where_said")
INDUCTION, HELD_OUT_PRONOUN = "induction of a head", "held-out accuracy of a head on pronouns"
HELD_OUT_RELATION = "held-out accuracy of a relation's chosen head"
KINDS = {"mean |cosine|, head space": ["correlation/mean_abs_cosine", 0], "mean |cosine|, residual space": ["correlation/mean_abs_cosine", 1],
         "median entropy": ["classification/entropy_median"], "mean sink": ["classification/sink_mean"],
         **{f"{name} of a head": [f"classification/{name}"] for name in SCORES},
         "share of a type": ["classification/type_share"],
         **{f"{name} of a label": [f"classification/{name}"] for name in LABEL_SHARES},
         INDUCTION: ["classification/induction"],
         HELD_OUT_PRONOUN: ["classification/coreference_pronoun_heldout"],
         HELD_OUT_RELATION: ["classification/relation_best_accuracy_heldout"],
         "loss": ["pruning/loss"], "loss increase of a head, zero": ["pruning/loss_increase", 0],
         "loss increase of a head, mean": ["pruning/loss_increase", 1], "direct effect of a head": ["pruning/direct_effect"],
         "prunable share": ["pruning/prunable_share"], "accuracy of a task": ["tasks/accuracy"], "margin of a task": ["tasks/margin"],
         "margin change by a head, zero": ["tasks/margin_change", 0], "margin change by a head, mean": ["tasks/margin_change", 1]}


def part_of(results, kind, suffix=""):
    name, *index = KINDS[kind]
    return results[name + suffix][tuple(index)] if name + suffix in results else None


def held_out_relations(whole, sample):
    """Held-out accuracy of the heads that the sample's even documents chose, of tested relations: low, value, high, and the
    accuracy of the same head over all of `whole`; each relation x direction of `whole`. The halves of a sample are samples of all."""
    shape = whole["classification/relation_count"].shape
    low, value, high, truth = (np.full(shape, np.nan) for _ in range(4))
    of_sample = sample["classification"]
    accuracy = whole["classification/relation_accuracy"][()]
    places = {name: i for i, name in enumerate(whole["classification/relation"][()])}
    for i, name in enumerate(of_sample["relation"][()]):
        for direction in np.flatnonzero(of_sample["relation_tested"][i] == 1):
            layer, head = (of_sample["relation_best_" + part][i, direction] for part in ("layer", "head"))
            if layer < 0:
                continue
            place = places[name], direction
            for bound, suffix in ((low, "_ci_low"), (value, ""), (high, "_ci_high")):
                bound[place] = of_sample["relation_best_accuracy_heldout" + suffix][i, direction]
            truth[place] = accuracy[place][layer, head]
    return low, value, high, truth


def interval_of(whole, sample, kind):
    """Low, value and high of the sample, and the truth; None where a run has no such interval."""
    if part_of(sample, kind, "_ci_low") is None or part_of(whole, kind) is None:
        return None
    if kind == HELD_OUT_RELATION:
        return held_out_relations(whole, sample)
    truth = whole["classification/coreference_pronoun"][()] if kind == HELD_OUT_PRONOUN else part_of(whole, kind)
    return tuple(part_of(sample, kind, suffix) for suffix in ("_ci_low", "", "_ci_high")) + (truth,)


def coverage(whole, sample, seeds):
    """Of intervals of the results of sample(seed), how often they hold the value of the results of whole()."""
    intervals = collections.defaultdict(list)
    with whole() as of_whole:
        for seed in range(seeds):
            with sample(seed) as of_sample:
                for kind in KINDS:
                    interval = interval_of(of_whole, of_sample, kind)
                    if interval is not None:
                        intervals[kind].append(interval)
    table = {}
    for kind, of_kind in intervals.items():
        low, value, high, truth = (np.reshape(part, (len(of_kind), -1)) for part in zip(*of_kind))
        if kind == INDUCTION:
            truth = np.broadcast_to(np.nanmean(value, axis=0), value.shape)
        missing = np.isnan(low) | np.isnan(truth)
        # A bound that is the value itself is off by rounding.
        slack = 1e-12 * np.abs(truth)
        covered = np.where(missing, np.nan, (low - slack <= truth) & (truth <= high + slack))
        n_interval = np.sum(~missing)
        if n_interval == 0:
            continue
        often = covered[:, np.mean(~missing, axis=0) >= 0.5]
        worst = f"; least {np.nanmean(often, axis=0).min():.2f}" if often.shape[1] > 1 else ""
        n_wanted = np.sum(~np.isnan(value) & ~np.isnan(truth))
        without = f"; no interval in {1 - n_interval / n_wanted:.2f}" if n_interval < n_wanted else ""
        table[f"coverage: {kind}"] = f"{np.nanmean(covered):.3f} (of {n_interval} in {len(of_kind)} samples{worst}{without})"
    return table


def coverage_of_documents(runs, documents, fields, seeds, analyses, n_sample, explain_documents=0):
    path = os.path.join(runs.folder, "corpus.conllu")

    def run(chosen, **options):
        write_documents(chosen, fields, path)
        return runs.run(path, analyses, explain_documents=explain_documents, **options)

    # `explained` has a value only where the cost of mean ablation has an interval.
    return coverage(lambda: run(documents, bootstrap=100),
                    lambda seed: run(random.Random(seed).choices(documents, k=n_sample), seed=seed), seeds)


def coverage_of_differences(runs, documents, fields, seeds, n_sample):
    path, noisy = (os.path.join(runs.folder, name) for name in ("corpus.conllu", "noisy.h5"))
    write_noisy(runs.options.model, 0.15, noisy)

    def compared(chosen, seed):
        write_documents(chosen, fields, path)
        with runs.run(path, "classification", seed=seed) as first, runs.run(path, "classification", noisy, seed=seed) as later:
            return runs.compare(first.filename, later.filename)

    names = {score: f"comparison/classification_{score}_difference" for score in SCORES}
    with compared(documents, 0) as of_whole:
        truths = {score: of_whole[name][1] for score, name in names.items() if name in of_whole}
    held = collections.defaultdict(list)
    for seed in range(seeds):
        with compared(random.Random(seed).choices(documents, k=n_sample), seed) as of_sample:
            for score, truth in truths.items():
                if names[score] + "_ci_low" not in of_sample:
                    continue
                low, high = (of_sample[names[score] + end][1] for end in ("_ci_low", "_ci_high"))
                known = np.isfinite(truth) & (high > low)
                held[score].append(np.where(known, (low <= truth) & (truth <= high), np.nan))
    return {f"coverage: difference of {score} of a head":
            f"{np.nanmean(covered):.3f} (of {np.isfinite(covered).sum()} in {len(covered)} samples)" for score, covered in held.items()}


def half_width(value, left_out, rng, n_resample=1000):
    """Half the width of the studentised interval of a value, by head. left_out: the value without each document, document x head."""
    n = len(left_out)
    away = (n - 1) * (value - left_out)
    away -= away.mean(axis=0)
    counts = rng.multinomial(n, np.full(n, 1 / n), n_resample)
    mean = counts @ away / n
    spread = np.sqrt((counts @ away**2 / n - mean**2) / (n - 1))
    return np.quantile(np.abs(mean) / spread, 0.95, axis=0) * np.sqrt((away**2).sum(axis=0) / (n * (n - 1)))


def shards_of(runs, documents, fields, analyses, *more):
    """The files that the two shards of a run keep, open."""
    path, output = os.path.join(runs.folder, "corpus.conllu"), os.path.join(runs.folder, "shards of " + analyses)
    write_documents(documents, fields, path)
    command = [*runs.command(path, analyses, output), *more]
    shards = [subprocess.Popen([*command, "--shard", f"{k}/2", "--wait"]) for k in (1, 2)]
    if any([shard.wait() for shard in shards]):
        sys.exit("a shard failed")
    folder = os.path.join(output, "shards")
    return [h5py.File(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".h5")]


def increases_by_document(runs, documents, fields):
    """Loss increases summed over the tokens of each document, by ablation (zero, mean): ablation x document x head; the same as the
    gradient predicts them; tokens: document."""
    rows = []
    for file in shards_of(runs, documents, fields, "pruning"):
        if "parts/pruning/rows/ablated" in file:
            rows.append([file["parts/pruning/rows"][kind][()] for kind in ("ablated", "importance", "baseline")])
    ablated, importance, baseline = (np.concatenate(parts) for parts in zip(*rows))
    increases = ablated[:, :2] - baseline[:, 0, None, None, None]
    return *(np.moveaxis(values.reshape(len(values), 2, -1), 1, 0) for values in (increases, -importance[:, 1:3])), baseline[:, 1]


def ratio(weights, increases, n_token):
    return weights @ increases / (weights @ n_token)[:, None]


def regressed(weights, ablated, increases, predicted, n_token):
    """The increases of the ablated documents, moved along their regression on the prediction to the prediction of all: weighting x head."""
    of_ablated = weights * ablated
    x, y = (ratio(of_ablated, values, n_token) for values in (predicted, increases))
    variation, covariation = (ratio(of_ablated, predicted * values / n_token[:, None], n_token) - x * mean
                              for values, mean in ((predicted, x), (increases, y)))
    return y + covariation / variation * (ratio(weights, predicted, n_token) - x)


def coverage_of_increases(runs, documents, fields, seeds, n_sample):
    """Of exact increases, and of those of two phases: two of five documents ablated, evenly spread."""
    increases, predicted, n_token = increases_by_document(runs, documents, fields)
    ablated = np.zeros(n_sample)
    ablated[np.linspace(0, n_sample, round(0.4 * n_sample), endpoint=False).astype(int)] = 1
    weights = np.concatenate([np.ones((1, n_sample)), 1 - np.eye(n_sample)])
    table, rng = {}, np.random.default_rng(0)
    for ablation, y_of_all, x_of_all in zip(("zero", "mean"), increases, predicted):
        truth = y_of_all.sum(axis=0) / n_token.sum()
        held = {"": [], ", two phases": []}
        for _ in range(seeds):
            chosen = rng.integers(len(n_token), size=n_sample)
            x, y, n = x_of_all[chosen], y_of_all[chosen], n_token[chosen]
            for phases, values in (("", ratio(weights, y, n)), (", two phases", regressed(weights, ablated, y, x, n))):
                held[phases].append(np.abs(values[0] - truth) <= half_width(values[0], values[1:], rng))
        if ablated.sum() < 20:  # the program makes no interval
            del held[", two phases"]
        for phases, covered in held.items():
            least = np.mean(covered, axis=0).min()
            table[f"coverage: loss increase of a head, {ablation}{phases}"] = f"{np.mean(covered):.3f} (of {seeds} samples; least {least:.2f})"
    return table


def coverage_of_tasks(runs, documents, fields, seeds, tasks, n_sample, most_pairs):
    path, task_path = os.path.join(runs.folder, "corpus.conllu"), os.path.join(runs.folder, "pairs.jsonl")
    write_documents(documents[:2], fields, path)
    by_task = collections.defaultdict(list)
    for task in tasks:
        for line in open(task, encoding="utf-8"):
            pair = json.loads(line)
            by_task[pair.get("task") or pair.get("UID") or task].append(pair)
    pairs = [of_task[:most_pairs] for of_task in by_task.values()]

    def run(chosen, **options):
        with open(task_path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(pair) + "\n" for task in chosen for pair in task))
        return runs.run(path, "tasks", tasks=[task_path], **options)

    return coverage(lambda: run(pairs, bootstrap=0),
                    lambda seed: run([random.Random(seed).choices(task, k=n_sample) for task in pairs], seed=seed), seeds)


def parser_of_runs(seeds, parts):
    """Options of what is run, by default on the small model and the stories; seeds, parts: their defaults."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--model", default=os.path.join(DATA, "default-model.h5"))
    parser.add_argument("--tokenizer")
    parser.add_argument("--corpus", nargs="+", default=[os.path.join(DATA, "stories.conllu")])
    parser.add_argument("--max-documents", type=int)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--threads", type=int, default=0, help="of a run; 0: all")
    parser.add_argument("--parts", default=parts)
    return parser


def main():
    parser = parser_of_runs(20, "shuffled,labels,untrained,swapped,effects,coverage,increases,differences,tasks")
    parser.add_argument("--sample", type=int, default=30, help="documents, or pairs of a task, of a sample")
    parser.add_argument("--analyses", default="classification,correlation,pruning", help="of the coverage")
    parser.add_argument("--tasks", nargs="+", default=[os.path.join(DATA, "tasks.jsonl")])
    parser.add_argument("--max-pairs", type=int, help="of each task")
    options = parser.parse_args()
    documents, fields = read_documents(options.corpus)
    documents = documents[:options.max_documents]
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(options, folder)
        table = {}
        for part in options.parts.split(","):
            if part == "untrained":
                found = untrained_types(runs, documents, fields, options.seeds)
            elif part == "swapped":
                found = swapped_tests(runs, documents, fields, options.seeds)
            elif part == "effects":
                found = effect_tests(runs, documents, fields, options.seeds, options.tasks, options.max_pairs)
            elif part == "coverage":
                found = coverage_of_documents(runs, documents, fields, options.seeds, options.analyses, options.sample)
            elif part == "increases":
                found = coverage_of_increases(runs, documents, fields, options.seeds, options.sample)
            elif part == "differences":
                found = coverage_of_differences(runs, documents, fields, options.seeds, options.sample)
            elif part == "tasks":
                found = coverage_of_tasks(runs, documents, fields, options.seeds, options.tasks, options.sample, options.max_pairs)
            else:
                found = false_labels(runs, {"shuffled": shuffled_words, "labels": random_labels}[part], documents, fields,
                                     options.seeds)
            for name, value in found.items():
                print(f"| {part} | {name} | {value} |", flush=True)
            table[part] = found
    return table


if __name__ == "__main__":
    main()
