"""Measure what the default model can do and write the table and the samples in README.md.

    python3 evaluate.py --model default-model.h5 --book unseen.txt --training-books book1.txt book2.txt --readme README.md

Stories come from a seed that training did not use. Each number stands beside an untrained copy (GPT-2's initialisation)
and unigram and bigram models counted on training text of the same kind. Needs numpy and h5py.
"""

import argparse
import json
import pathlib

import numpy as np

import lexicon
from gpt2 import Model, forward, log_probabilities, read_model
from make_stories import make_story

MEASURED = "<!-- measured: begin -->", "<!-- measured: end -->"
SAMPLES = "<!-- samples: begin -->", "<!-- samples: end -->"
PROMPTS = ["Once upon a time there was", "This story is about", "It was a cold morning, and Elizabeth", '"I do not know," said']
PRONOUNS = [" He", " She", " It", " They"]
POSSESSIVES = [" his", " her", " its", " their"]


class Counted:
    """Unigram and bigram models: absolute discounting, backing off to the unigram, which is smoothed by one."""

    def __init__(self, tokens, size, discount=0.75):
        tokens = np.asarray(tokens, dtype=np.int64)
        unigram = np.bincount(tokens, minlength=size) + 1.0
        self.unigram = unigram / unigram.sum()
        pairs, counts = np.unique(tokens[:-1] * size + tokens[1:], return_counts=True)
        table = np.zeros((size, size), dtype=np.float32)
        table[pairs // size, pairs % size] = counts
        total, kinds = table.sum(axis=1, keepdims=True), (table > 0).sum(axis=1, keepdims=True)
        seen = np.maximum(table - discount, 0) + discount * kinds * self.unigram
        self.bigram = np.where(total > 0, seen / np.maximum(total, 1), self.unigram)


class Scorer:
    """Log probabilities [position, vocab] of the token after each position."""

    def __init__(self, name, function):
        self.name, self.of = name, function


def untrained(model, seed=0):
    """The same shape with GPT-2's initialisation."""
    rng = np.random.default_rng(seed)
    weights = {}
    for name, value in model.weights.items():
        if value.ndim == 2:
            scale = 0.02 / np.sqrt(2 * model.n_layer) if name.endswith("c_proj.weight") else 0.02
            weights[name] = rng.normal(0, scale, value.shape).astype(np.float32)
        else:
            weights[name] = np.full_like(value, 1.0 if "ln_" in name and name.endswith("weight") else 0.0)
    return Model(model.config, weights, model.tokenizer)


def scorers(model, counted):
    random = untrained(model)
    return [
        Scorer("model", lambda tokens: log_probabilities(forward(model, tokens)[0])),
        Scorer("untrained", lambda tokens: log_probabilities(forward(random, tokens)[0])),
        Scorer("bigram", lambda tokens: np.log(counted.bigram[tokens])),
        Scorer("unigram", lambda tokens: np.broadcast_to(np.log(counted.unigram), (len(tokens), len(counted.unigram)))),
    ]


class TokenisedStory:
    """A story's tokens, <|endoftext|> first, and per sentence and word the range of tokens it covers."""

    def __init__(self, sentences, tokenizer, n_ctx):
        pieces, self.spans, text = [], [], ""
        for sentence in sentences:
            spans = []
            for i, word in enumerate(sentence.words):
                joined = not text or word.glued or (i and sentence.words[i - 1].glues_next)
                text += "" if joined else " "
                spans.append((len(text), len(text) + len(word.form)))
                text += word.form
            pieces.append(spans)
        tokens = tokenizer.encode(text)
        ends = np.cumsum([len(tokenizer.bytes_of(token)) for token in tokens])
        for spans in pieces:
            self.spans.append([(int(np.searchsorted(ends, start, "right")) + 1, int(np.searchsorted(ends, end, "left")) + 2)
                               for start, end in spans])
        self.tokens = np.array([tokenizer.end_of_text, *tokens])[:n_ctx]
        self.sentences = sentences

    def words(self):
        """(sentence, word index, word, first token, end token) of every word inside the context."""
        for sentence, spans in zip(self.sentences, self.spans):
            for i, (word, (first, end)) in enumerate(zip(sentence.words, spans)):
                if end <= len(self.tokens):
                    yield sentence, i, word, first, end


def subject_and_attractors(sentence, index):
    """(number, attractors) of the finite verb at `index` where its subject stands before it, else None."""
    words, verb = sentence.words, sentence.words[index]
    clause = verb.head if verb.upos == "AUX" else verb
    while True:
        subject = next((word for word in words if word.head is clause and word.relation == "nsubj"), None)
        if subject is not None or clause.relation != "conj":
            break
        clause = clause.head
    if subject is None:
        return None
    plural_subject = any(word.head is subject and word.relation == "conj" for word in words)
    if "PronType=Rel" in subject.feats:
        subject = subject.head.head
    if words.index(subject) > index:
        return None
    number = "Plur" if plural_subject or "Number=Plur" in subject.feats else "Sing"
    other = "Number=Sing" if number == "Plur" else "Number=Plur"
    between = words[words.index(subject) + 1 : index]
    return number, sum(word.upos in ("NOUN", "PROPN") and other in word.feats and word.relation not in ("conj", "flat") for word in between)


def agreement_sites(story, tokenizer):
    """(position before the verb, right token, wrong token, attractors)."""
    for sentence, i, word, first, end in story.words():
        if "VerbForm=Fin" not in word.feats or "Person=3" not in word.feats:
            continue
        found = subject_and_attractors(sentence, i)
        if found is None:
            continue
        number, attractors = found
        tense = "Past" if "Tense=Past" in word.feats else "Pres"
        wrong = lexicon.finite(word.lemma, tense, "Sing" if number == "Plur" else "Plur")
        right, wrong = tokenizer.encode(" " + word.form), tokenizer.encode(" " + wrong)
        if len(right) == len(wrong) == 1 and right != wrong:
            yield first - 1, right[0], wrong[0], attractors


def mentions_by_pronoun(story):
    """(sentence, word index, word, first token, end token, entity, mentions before) of every third-person pronoun, in reading order."""
    before = []
    heads = {found.head: found.entity for sentence in story.sentences for found in sentence.mentions}
    for sentence, i, word, first, end in story.words():
        entity = heads.get(word)
        if entity is None:
            continue
        if word.upos == "PRON":
            yield sentence, i, word, first, end, entity, list(before)
        before.append((word, entity, sentence))


def gender_known(entity, before):
    """Has the story told the person's gender: by a noun, a common name or an earlier pronoun?"""
    noun = entity.number == "Plur" or entity.noun in lexicon.FEMALE_NOUNS + lexicon.MALE_NOUNS
    common = entity.name and entity.name[0] in lexicon.FEMALE_NAMES + lexicon.MALE_NAMES
    return noun or common or any(word.upos == "PRON" and other is entity for word, other, _ in before)


def pronoun_sites(story):
    """(position before, row of forms, which of them) where only one person can be meant, of known gender.

    Subject pronouns that open a sentence after one that speaks of one person alone, and possessives whose owner is the subject.
    """
    for sentence, i, word, first, _, entity, before in mentions_by_pronoun(story):
        if entity.kind != "person" or not gender_known(entity, before):
            continue
        if i == 0 and " " + word.form in PRONOUNS and before:
            last = before[-1][2]
            people = {other for _, other, where in before if where is last and other.kind == "person"}
            if people == {entity} and story.sentences.index(last) == story.sentences.index(sentence) - 1:
                yield first - 1, PRONOUNS, PRONOUNS.index(" " + word.form)
        elif " " + word.form in POSSESSIVES and "Poss=Yes" in word.feats:
            subjects = [other for head, other, where in before if where is sentence and head.relation == "nsubj" and head.upos != "PRON"]
            if subjects == [entity]:
                yield first - 1, POSSESSIVES, POSSESSIVES.index(" " + word.form)


def trade_forms(entity, word):
    """Forms that may follow the pronoun `word` if it stands for the person: verbs after a subject, things after a possessive."""
    deeds, things = lexicon.TRADES[entity.noun]
    if "Poss=Yes" in word.feats:
        return set(things)
    return {lexicon.finite(lemma, tense, entity.number) for lemma, _ in deeds for tense in ("Past", "Pres")}


def referent_sites(story, tokenizer):
    """(position, right token, tokens that would suit another person of the story, was that other named last).

    Pronouns followed by what the person whom they stand for does or owns; others are those told of before.
    """
    words = {(id(sentence), i): word for sentence, i, word, _, _ in story.words()}
    for sentence, i, word, _, end, entity, before in mentions_by_pronoun(story):
        following = words.get((id(sentence), i + 1))
        if entity.kind != "person" or entity.noun not in lexicon.TRADES or following is None:
            continue
        others = {other for _, other, _ in before if other.kind == "person" and other is not entity and other.noun in lexicon.TRADES}
        own = trade_forms(entity, word)
        if following.form not in own or not others:
            continue
        wrong = {form for other in others for form in trade_forms(other, word)} - own
        right = story.tokens[end]
        wrong = {tokenizer.encode(" " + form)[0] for form in wrong} - {tokenizer.encode(" " + form)[0] for form in own}
        if wrong:
            people = [other for _, other, _ in before if other.kind == "person"]
            yield end - 1, right, sorted(wrong), people[-1] is not entity


def name_sites(story):
    """(position before, token) for every token after the first of an invented name that was told before."""
    seen = set()
    common = set(lexicon.FEMALE_NAMES + lexicon.MALE_NAMES)
    spans = {word: (first, end) for _, _, word, first, end in story.words()}
    for _, _, word, first, end in story.words():
        if word.upos != "PROPN" or word.relation == "flat" or word.form in common:
            continue
        parts = [other for other in spans if other.head is word and other.relation == "flat"]
        end = max([end] + [spans[part][1] for part in parts])
        name = tuple(story.tokens[first:end])
        if name in seen:
            yield from ((at - 1, story.tokens[at]) for at in range(first + 1, end))
        seen.add(name)


def spell_sites(story):
    """The same for the tokens after the first word of made-up speech said again."""
    seen = set()
    spans = {word: (first, end) for _, _, word, first, end in story.words()}
    for _, _, word, first, end in story.words():
        if word.upos != "X" or word.relation == "flat":
            continue
        last = max([end] + [spans[other][1] for other in spans if other.head is word and other.relation == "flat"])
        if word.form in seen:
            yield from ((at - 1, story.tokens[at]) for at in range(end, last))
        seen.add(word.form)


def measure_stories(stories, tokenizer, scorers):
    """{row: {scorer: value}} and {row: number of cases}."""
    rows, cases = {}, {}
    for scorer in scorers:
        kept = {}
        for story in stories:
            log_p = scorer.of(story.tokens[:-1])
            at = np.arange(len(story.tokens) - 1)
            kept.setdefault("loss", []).extend(-log_p[at, story.tokens[1:]])
            for before, right, wrong, attractors in agreement_sites(story, tokenizer):
                kept.setdefault(f"agreement{min(attractors, 2)}", []).append(_preferred(log_p[before], right, [wrong]))
            for before, row, which in pronoun_sites(story):
                forms = [tokenizer.encode(form)[0] for form in row]
                kept.setdefault("pronoun", []).append(_preferred(log_p[before], forms[which], np.delete(forms, which)))
            for before, right, wrong, other_last in referent_sites(story, tokenizer):
                value = _preferred(log_p[before], right, wrong)
                kept.setdefault("referent", []).append(value)
                if other_last:
                    kept.setdefault("referent_far", []).append(value)
            for row, sites in (("name", name_sites(story)), ("spell", spell_sites(story))):
                for before, token in sites:
                    kept.setdefault(row, []).append(_preferred(log_p[before], token, np.delete(np.arange(log_p.shape[1]), token)))
        for row, values in kept.items():
            rows.setdefault(row, {})[scorer.name] = float(np.mean(values))
            cases[row] = len(values)
    return rows, cases


def _preferred(log_p, right, wrong):
    """1 where the right token is likelier than every wrong one, a half where it ties with the best."""
    best = log_p[wrong].max()
    return 1.0 if log_p[right] > best else 0.5 if log_p[right] == best else 0.0


def measure_text(tokens, end_of_text, n_ctx, scorers):
    """Mean loss over stretches of n_ctx - 1 tokens, each after <|endoftext|>; the number of tokens scored."""
    stretches = [np.concatenate([[end_of_text], tokens[i : i + n_ctx - 1]]) for i in range(0, len(tokens), n_ctx - 1)]
    result = {}
    for scorer in scorers:
        losses = [-scorer.of(part[:-1])[np.arange(len(part) - 1), part[1:]] for part in stretches]
        result[scorer.name] = float(np.concatenate(losses).mean())
    return result, len(tokens)


def head_scores(model, stories, seed=0):
    """Best head and score: attention to the token before (stories), induction (random tokens twice)."""
    shape = (model.n_layer, model.n_head)
    previous, induction = np.zeros(shape), np.zeros(shape)
    for story in stories:
        patterns = forward(model, story.tokens)[1]
        at = np.arange(1, len(story.tokens))
        previous += np.array([[head[at, at - 1].mean() for head in layer] for layer in patterns]) / len(stories)
    rng = np.random.default_rng(seed)
    queries = np.arange(51, 101)
    for _ in range(10):
        half = rng.integers(0, model.tokenizer.end_of_text, 50)
        patterns = forward(model, np.concatenate([[model.tokenizer.end_of_text], half, half]))[1]
        induction += np.array([[head[queries, queries - 49].mean() for head in layer] for layer in patterns]) / 10
    return {"previous token": previous, "induction": induction}


def prefers(model, prefix, good, bad):
    """Whether the first token of `good` is likelier after the prefix than that of `bad`."""
    tokens = np.array([model.tokenizer.end_of_text, *model.tokenizer.encode(prefix)])
    last = forward(model, tokens)[0][-1]
    return bool(last[model.tokenizer.encode(good)[0]] > last[model.tokenizer.encode(bad)[0]])


def pronoun_task(model, pairs):
    """Of pairs of the task `pronoun_gender`, whether the model is right: where the person of the first sentence has the gender of
    the second's subject ("same"), where not ("other"), and in "alone" where the second sentence speaks of that person alone."""
    right = {"same": [], "other": [], "alone": []}
    for pair in pairs:
        setting, sentence = pair["prefix"].split(". ")
        person = next(word for word in setting.split() if word in lexicon.FEMALE_NOUNS + lexicon.MALE_NOUNS)
        pronouns = [" She", " He"] if person in lexicon.FEMALE_NOUNS else [" He", " She"]
        right["same" if pair["good"] == pronouns[0] else "other"].append(prefers(model, pair["prefix"], pair["good"], pair["bad"]))
        place = sentence.split(" near ")[1]
        right["alone"].append(prefers(model, f"{setting}. The {person} waited near {place}", *pronouns))
    return right


def pronoun_task_text(right):
    same, other, alone = (f"{np.mean(right[kind]):.0%} of {len(right[kind])}" for kind in ("same", "other", "alone"))
    both = right["same"] + right["other"]
    return (f"Of the task `pronoun_gender` the model gets {np.mean(both):.0%} of {len(both)} pairs: {same} where the person of the first "
            f"sentence has the subject's gender, {other} where not. Where the story has that person alone it gets {alone}.  ")


def sample(model, prompt, length, temperature, seed):
    """The prompt and `length` tokens after it, drawn one by one."""
    rng = np.random.default_rng(seed)
    tokens = [model.tokenizer.end_of_text, *model.tokenizer.encode(prompt)]
    for _ in range(length):
        share = np.exp(log_probabilities(forward(model, np.array(tokens))[0][-1].astype(np.float64) / temperature))
        token = int(rng.choice(len(share), p=share / share.sum()))
        if token == model.tokenizer.end_of_text:
            break
        tokens.append(token)
    return b"".join(model.tokenizer.bytes_of(token) for token in tokens).decode("utf-8", "replace")


def samples(model):
    """Text that the model writes, as quotations."""
    return "\n\n".join("> " + " ".join(sample(model, prompt, 150, 0.8, seed).split()) for seed, prompt in enumerate(PROMPTS))


def write_between(path, marks, content):
    text = path.read_text(encoding="utf-8")
    begin, end = marks
    path.write_text(text.split(begin)[0] + begin + "\n" + content + "\n" + end + text.split(end)[1], encoding="utf-8")


def paragraphs(path):
    return [" ".join(part.split()) for part in path.read_text(encoding="utf-8").split("\n\n") if part.strip()]


def report(rows, cases, book, book_tokens, heads, pronouns, model):
    names = {
        "loss": "loss on unseen stories, nats per token", "book": "loss on an unseen book, nats per token",
        "agreement0": "verb agrees, no attractor", "agreement1": "verb agrees, one attractor",
        "agreement2": "verb agrees, two or more attractors",
        "pronoun": "he, she, it or they; his, her, its or their", "referent": "what follows a pronoun suits whom it stands for",
        "referent_far": "the same where another person was named last", "name": "recurring invented name, after its first token",
        "spell": "made-up speech said again, after its first word",
    }
    rows, cases = {**rows, "book": book}, {**cases, "book": book_tokens}
    lines = ["| what | cases | model | untrained copy | bigram | unigram |", "|---|---:|---:|---:|---:|---:|"]
    for key, title in names.items():
        row = rows[key]
        form = "{:.3f}".format if key in ("loss", "book") else "{:.1%}".format
        values = " | ".join(form(row[name]) for name in ("model", "untrained", "bigram", "unigram"))
        lines.append(f"| {title} | {cases[key]} | {values} |")
    lines.append("")
    for what, scores in heads.items():
        order = np.argsort(-scores, axis=None)[:3]
        best = ", ".join(f"L{i // model.n_head}H{i % model.n_head} {scores.flat[i]:.2f}" for i in order)
        lines.append(f"Heads that attend most by *{what}* (mean attention weight): {best}.  ")
    lines.append(pronoun_task_text(pronouns))
    config = model.config
    lines.append(f"Trained for {int(config['training_steps'])} steps, {int(config['training_tokens']) / 1e6:.1f} M tokens "
                 f"(rows until each share of the training: {config['training_mixture']}).")
    return "\n".join(lines)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, default=here / "default-model.h5")
    parser.add_argument("--book", type=pathlib.Path, required=True, help="a text that training did not see")
    parser.add_argument("--training-books", type=pathlib.Path, nargs="+", required=True, help="for the unigram and bigram models")
    parser.add_argument("--seed", type=int, default=7, help="of the unseen stories (default 7, the shipped ones and more)")
    parser.add_argument("--count", type=int, default=300, help="unseen stories")
    parser.add_argument("--training-seed", type=int, default=1000)
    parser.add_argument("--training-count", type=int, default=5000, help="stories for the unigram and bigram models")
    parser.add_argument("--readme", type=pathlib.Path, help="write the table between the marks in this file")
    arguments = parser.parse_args()

    model = read_model(arguments.model)
    tokenizer, n_ctx = model.tokenizer, int(model.config["n_positions"])
    size = int(model.config["vocab_size"])

    def tokenised(seed, count):
        return [TokenisedStory(make_story(seed, i)[1], tokenizer, n_ctx) for i in range(count)]

    training = tokenised(arguments.training_seed, arguments.training_count)
    story_scorers = scorers(model, Counted(np.concatenate([story.tokens for story in training]), size))
    stories = tokenised(arguments.seed, arguments.count)
    rows, cases = measure_stories(stories, tokenizer, story_scorers)

    def tokens_of(path):
        return [token for part in paragraphs(path) for token in tokenizer.encode(part + "\n")]

    counted = Counted([token for path in arguments.training_books for token in tokens_of(path)], size)
    book = np.array(tokens_of(arguments.book))
    book_losses, book_tokens = measure_text(book, tokenizer.end_of_text, n_ctx, scorers(model, counted))

    pairs = [json.loads(line) for line in (here / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    pronouns = pronoun_task(model, [pair for pair in pairs if pair["task"] == "pronoun_gender"])
    table = report(rows, cases, book_losses, book_tokens, head_scores(model, stories[:50]), pronouns, model)
    print(table)
    written = samples(model)
    print(written)
    if arguments.readme:
        write_between(arguments.readme, MEASURED, table)
        write_between(arguments.readme, SAMPLES, written)


if __name__ == "__main__":
    main()
