"""Noun phrases, verbs and clauses of the stories, with their Universal Dependencies annotation."""

from dependency_tree import Phrase, Word, as_phrase, attach, mention, opening_quote, punctuation
from lexicon import article, finite, plural

PRONOUNS = {  # (gender, number) -> subject, object, possessive, reflexive
    ("Masc", "Sing"): ("he", "him", "his", "himself"),
    ("Fem", "Sing"): ("she", "her", "her", "herself"),
    ("Neut", "Sing"): ("it", "it", "its", "itself"),
    ("Plur", "Plur"): ("they", "them", "their", "themselves"),
}


def agreement(entity):
    return ("Plur", "Plur") if entity.number == "Plur" else (entity.gender, entity.number)


def pronoun(entity, case="Nom"):
    gender, number = agreement(entity)
    forms = PRONOUNS[gender, number]
    form = forms[{"Nom": 0, "Acc": 1, "Poss": 2, "Reflex": 3}[case]]
    feats = [f"Number={number}", "Person=3", "PronType=Prs"]
    if number == "Sing":
        feats.append(f"Gender={gender}")
    feats.append({"Nom": "Case=Nom", "Acc": "Case=Acc", "Poss": "Poss=Yes", "Reflex": "Reflex=Yes"}[case])
    if case == "Reflex":
        feats.append("Case=Acc")
    lemma = forms[3] if case == "Reflex" else forms[0]
    return mention(entity, as_phrase(Word(form, lemma, "PRON", "|".join(sorted(feats)))))


def first_person(case="Nom"):
    form = {"Nom": "I", "Acc": "me", "Poss": "my"}[case]
    tail = "Poss=Yes" if case == "Poss" else f"Case={case}"
    return Word(form, "I", "PRON", "|".join(sorted([tail, "Number=Sing", "Person=1", "PronType=Prs"])))


def second_person(case="Nom"):
    return Word("you", "you", "PRON", f"Case={case}|Person=2|PronType=Prs")


def noun(lemma, number="Sing"):
    return Word(lemma if number == "Sing" else plural(lemma), lemma, "NOUN", f"Number={number}")


def adjective(lemma):
    return Word(lemma, lemma, "ADJ", "Degree=Pos")


def adverb(form):
    return Word(form, form, "ADV")


def negation(glued=False):
    return Word("not", "not", "PART", "Polarity=Neg", glued=glued)


def preposition(form):
    return Word(form, form, "ADP")


def definite():
    return Word("the", "the", "DET", "Definite=Def|PronType=Art")


def indefinite(next_word):
    return Word(article(next_word), "a", "DET", "Definite=Ind|PronType=Art")


def demonstrative(near, number):
    form = {(True, "Sing"): "this", (True, "Plur"): "these", (False, "Sing"): "that", (False, "Plur"): "those"}[near, number]
    return Word(form, "this" if near else "that", "DET", f"Number={number}|PronType=Dem")


def quantity(form):
    return Word(form, form, "ADJ" if form in ("many", "much") else "DET", "Degree=Pos" if form in ("many", "much") else "PronType=Ind")


NUMERALS = {"two": 2, "three": 3, "four": 4, "five": 5}


def numeral(form):
    return Word(form, form, "NUM", "NumForm=Word|NumType=Card")


def name(words):
    """A proper name: first word, the others `flat` below it."""
    parts = [Word(word, word, "PROPN", "Number=Sing") for word in words]
    return attach(parts[0], right=[("flat", part) for part in parts[1:]])


def noun_phrase(lemma, number="Sing", determiner="the", adjectives=(), right=()):
    """Determiner: "the", "a" (also gives "some" or a numeral given instead), None, or a ready (relation, Word)."""
    adjectives = [("amod", adjective(word)) for word in adjectives]
    head = noun(lemma, number)
    first = adjectives[0][1].form if adjectives else head.form
    if determiner == "the":
        left = [("det", definite())]
    elif determiner == "a":
        left = [("det", indefinite(first) if number == "Sing" else quantity("some"))]
    else:
        left = [determiner] if determiner else []
    return attach(head, left=left + adjectives, right=right)


def prepositional(form, phrase):
    """`phrase` with its case marker; the caller gives the relation (obl, nmod)."""
    return attach(phrase, left=[("case", preposition(form))])


def possessed(owner, phrase):
    """owner's phrase: `owner` is a Phrase without 's (a name or noun phrase)."""
    marked = attach(owner, right=[("case", Word("'s", "'s", "PART", glued=True))])
    return attach(phrase, left=[("nmod:poss", marked)])


def verb(lemma, tense, number="Sing", upos="VERB", person=3):
    """A finite verb; persons 1 and 2 take the plural form, save "am" and "was"."""
    form = finite(lemma, tense, number if person == 3 else "Plur")
    if lemma == "be" and person == 1:
        form = "am" if tense == "Pres" else "was"
    feats = [f"Tense={tense}", "VerbForm=Fin", "Mood=Ind"]
    if lemma == "be" or tense == "Pres":
        feats += [f"Number={number}", f"Person={person}"]
    return Word(form, lemma, upos, "|".join(sorted(feats)))


def infinitive(lemma):
    return Word(lemma, lemma, "VERB", "VerbForm=Inf")


def modal(lemma, tense="Pres"):
    form = {"can": "could", "must": "must", "will": "would"}[lemma] if tense == "Past" else lemma
    return Word(form, lemma, "AUX", f"Tense={tense}|VerbForm=Fin")


def copula(subject, complement, tense, number, person=3, left=(), right=()):
    """subject + be + complement; the complement is the head, as in UD."""
    be = verb("be", tense, number, "AUX", person)
    return attach(complement, left=[*left, ("nsubj", subject), ("cop", be)], right=right)


def conjoin(first, *others, conjunction="and", comma=False):
    """Coordination: every later part is `conj` of the first; the conjunction stands before the last."""
    right = []
    for i, part in enumerate(others):
        last = i == len(others) - 1
        left = []
        if comma or not last:
            left.append(("punct", punctuation(",")))
        if last:
            left.append(("cc", Word(conjunction, conjunction, "CCONJ")))
        right.append(("conj", attach(part, left=left)))
    return attach(first, right=right)


def quoted(clause, stop):
    """The clause between quotation marks, closed by `stop`."""
    closing = Word('"', '"', "PUNCT", glued=True)
    return attach(clause, left=[("punct", opening_quote())], right=[("punct", punctuation(stop)), ("punct", closing)])


def subordinate(marker, clause):
    return attach(clause, left=[("mark", Word(marker, marker, "SCONJ"))])


def to_infinitive(phrase):
    return attach(phrase, left=[("mark", Word("to", "to", "PART"))])


def relative(form="who"):
    return Word(form, form, "PRON", "PronType=Rel")


