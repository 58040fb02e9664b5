"""The shipped story corpus is well-formed, correctly annotated, and reproducible from its seed.

    python3 -m unittest discover -s tests/data_scripts
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from conllu import read

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
STORIES = DATA / "stories.conllu"

RELATIONS = set(
    "acl acl:relcl advcl advmod amod aux case cc ccomp conj cop det expl flat iobj mark nmod nmod:poss nsubj nummod obj obl "
    "punct root xcomp".split()
)
PARTS_OF_SPEECH = set("ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT SCONJ VERB X".split())
VOWEL_SOUND = re.compile(r"[aeiou]|honest")


def subject_of(sentence, verb):
    """The subject word of a finite verb or auxiliary; a coordinated verb shares the first one's."""
    clause = sentence.tokens[(verb.head if verb.upos == "AUX" else verb.number) - 1]
    subjects = [token for token in sentence.tokens if token.head == clause.number and token.relation == "nsubj"]
    return subjects[0] if subjects else subject_of(sentence, sentence.tokens[clause.head - 1])


def number_of(sentence, word):
    if any(token.head == word.number and token.relation == "conj" for token in sentence.tokens):
        return "Plur"
    if word.feats.get("PronType") == "Rel":
        clause = sentence.tokens[word.head - 1]
        return sentence.tokens[clause.head - 1].feats["Number"]
    return word.feats.get("Number", "Sing")


def mentions(sentence):
    """(entity, kind, first, last, head word number); raises if brackets do not match."""
    found, opened = [], []
    for token in sentence.tokens:
        for opening, closing in re.findall(r"(\([^()]+\)?)|([^()]+\))", token.misc.get("Entity", "")):
            if opening:
                entity, kind, head, other = opening.strip("()").split("-")
                opened.append((entity, kind, token.number, int(head), other))
            if opening.endswith(")") or closing:
                entity, kind, first, head, other = opened.pop()
                if closing and closing[:-1] != entity:
                    raise ValueError(f"{closing} closes {entity}")
                found.append((entity, kind, first, token.number, first + head - 1))
    if opened:
        raise ValueError(f"never closed: {opened}")
    return found


class StoryCorpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = read(STORIES)
        cls.sentences = [sentence for document in cls.documents.values() for sentence in document]

    def test_has_about_three_hundred_stories_of_four_to_twelve_sentences_in_little_space(self):
        self.assertTrue(280 <= len(self.documents) <= 320, len(self.documents))
        self.assertLessEqual(STORIES.stat().st_size, 1_500_000)
        lengths = {name: len(sentences) for name, sentences in self.documents.items()}
        self.assertEqual({}, {name: length for name, length in lengths.items() if not 4 <= length <= 12})

    def test_sentence_ids_are_unique(self):
        ids = [sentence.comments["sent_id"] for sentence in self.sentences]
        self.assertEqual(len(ids), len(set(ids)))

    def test_uses_only_standard_relations_and_parts_of_speech_and_all_of_them(self):
        self.assertEqual(RELATIONS, {token.relation for sentence in self.sentences for token in sentence.tokens})
        self.assertEqual(PARTS_OF_SPEECH, {token.upos for sentence in self.sentences for token in sentence.tokens})

    def test_words_are_numbered_from_one_and_features_sorted(self):
        for sentence in self.sentences:
            self.assertEqual([token.number for token in sentence.tokens], list(range(1, len(sentence.tokens) + 1)))
            for token in sentence.tokens:
                self.assertEqual(list(token.feats), sorted(token.feats))
                self.assertEqual(list(token.misc), sorted(token.misc))

    def test_every_sentence_is_a_tree_with_one_root(self):
        for sentence in self.sentences:
            roots = [token for token in sentence.tokens if token.head == 0]
            self.assertEqual(["root"], [token.relation for token in roots])
            for token in sentence.tokens:
                seen, at = set(), token.number
                while at:
                    self.assertNotIn(at, seen)
                    seen.add(at)
                    at = sentence.tokens[at - 1].head

    def test_arcs_do_not_cross(self):
        for sentence in self.sentences:
            arcs = [tuple(sorted((token.number, token.head))) for token in sentence.tokens]
            crossing = [(a, b) for a in arcs for b in arcs if a[0] < b[0] < a[1] < b[1]]
            self.assertEqual([], crossing)

    def test_text_is_rebuilt_from_the_words(self):
        for sentence in self.sentences:
            text = "".join(token.form + ("" if token.misc.get("SpaceAfter") == "No" else " ") for token in sentence.tokens)
            self.assertEqual(sentence.comments["text"], text.rstrip(" "))

    def test_entity_brackets_balance_and_heads_lie_inside(self):
        count = 0
        for sentence in self.sentences:
            for _, _, first, last, head in mentions(sentence):
                self.assertTrue(first <= head <= last <= len(sentence.tokens))
                outside = [token for token in sentence.tokens[first - 1 : last] if not first <= token.head <= last]
                self.assertEqual([head], [token.number for token in outside], "a mention is one subtree")
                count += 1
        self.assertGreater(count, 3000)

    def test_every_document_declares_its_entity_columns(self):
        for name, sentences in self.documents.items():
            self.assertEqual("eid-etype-head-other", sentences[0].comments.get("global.Entity"), name)

    def test_pronouns_agree_with_their_entity_and_refer_back(self):
        checked = 0
        for name, sentences in self.documents.items():
            known = {}
            for sentence in sentences:
                for entity, _, first, last, head in sorted(mentions(sentence), key=lambda item: item[2]):
                    token = sentence.tokens[head - 1]
                    kind = (token.feats.get("Gender", "Plur"),) if token.upos == "PRON" else None
                    if kind:
                        self.assertIn(entity, known, f"{name}: {token.form} comes before what it refers to")
                        self.assertEqual(known[entity].setdefault("pronoun", kind), kind, sentence.comments["sent_id"])
                        checked += 1
                    known.setdefault(entity, {})
        self.assertGreater(checked, 1000)

    def test_a_pronoun_that_opens_a_sentence_refers_to_the_subject_before(self):
        for sentences in self.documents.values():
            for before, sentence in zip(sentences, sentences[1:]):
                opens_story = before is sentences[0]
                first = sentence.tokens[0]
                if first.feats.get("Case") != "Nom" or first.feats.get("Person") != "3":
                    continue
                earlier = {entity for entity, _, _, _, head in mentions(before)
                           if opens_story or before.tokens[head - 1].relation == "nsubj"}
                self.assertIn(mentions(sentence)[0][0], earlier, sentence.comments["sent_id"])

    def test_finite_verbs_agree_with_their_subjects(self):
        checked = collections.Counter()
        for sentence in self.sentences:
            for verb in sentence.tokens:
                if verb.feats.get("VerbForm") != "Fin" or verb.feats.get("Person") != "3":
                    continue
                subject = subject_of(sentence, verb)
                self.assertEqual(number_of(sentence, subject), verb.feats["Number"], sentence.comments["text"])
                between = sentence.tokens[subject.number : verb.number - 1]
                checked[sum(token.upos == "NOUN" and token.feats["Number"] != verb.feats["Number"] for token in between)] += 1
        for attractors, least in ((0, 1000), (1, 100), (2, 20)):
            self.assertGreaterEqual(checked[attractors], least)

    def test_determiners_fit_their_nouns(self):
        for sentence in self.sentences:
            for token, following in zip(sentence.tokens, sentence.tokens[1:]):
                if token.lemma == "a" and token.upos == "DET":
                    self.assertEqual(token.form.lower(), "an" if VOWEL_SOUND.match(following.form) else "a", sentence.comments["text"])
                if token.relation in ("det", "amod", "nummod"):
                    noun = sentence.tokens[token.head - 1]
                    wanted = {"many": "Plur", "these": "Plur", "those": "Plur", "two": "Plur", "some": "Plur", "all": "Plur",
                              "much": "Sing", "this": "Sing", "that": "Sing", "each": "Sing"}.get(token.form.lower())
                    if wanted:
                        self.assertEqual(wanted, noun.feats["Number"], sentence.comments["text"])

    def test_invented_names_recur(self):
        recurring = 0
        for sentences in self.documents.values():
            names = collections.Counter(token.form for sentence in sentences for token in sentence.tokens if token.upos == "PROPN")
            recurring += any(len(name) > 6 and count >= 2 for name, count in names.items())
        self.assertGreater(recurring, len(self.documents) / 3)

    def test_comes_again_from_its_seed(self):
        with tempfile.TemporaryDirectory() as folder:
            again = pathlib.Path(folder) / "again.conllu"
            subprocess.run([sys.executable, DATA / "make_stories.py", "--seed", "7", "--count", "300", "--output", again], check=True)
            self.assertEqual(STORIES.read_bytes(), again.read_bytes())


if __name__ == "__main__":
    unittest.main()
