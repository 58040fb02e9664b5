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
sys.path.insert(0, str(DATA))
from dependency_tree import text_of  # noqa: E402
from make_stories import make_story  # noqa: E402

STORIES = DATA / "stories.conllu"

RELATIONS = set(
    "acl acl:relcl advcl advmod amod aux case cc cc:preconj ccomp compound:prt conj cop det expl flat iobj mark nmod nmod:poss nsubj nummod obj obl "
    "punct root xcomp".split()
)
PARTS_OF_SPEECH = set("ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT SCONJ VERB X".split())
VOWEL_SOUND = re.compile(r"(?!useful)[aeiou]|honest")


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


def pronouns_of(sentences):
    """entity -> gender, or Plur, of the pronouns that stand for it."""
    found = {}
    for sentence in sentences:
        for entity, _, _, _, head in mentions(sentence):
            token = sentence.tokens[head - 1]
            if token.upos == "PRON":
                found[entity] = token.feats.get("Gender", "Plur")
    return found


class StoryCorpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = read(STORIES)
        cls.sentences = [sentence for document in cls.documents.values() for sentence in document]

    def test_has_stories_of_eleven_to_twenty_one_sentences_in_little_space(self):
        self.assertEqual(160, len(self.documents))
        self.assertLessEqual(STORIES.stat().st_size, 1_500_000)
        lengths = {name: len(sentences) for name, sentences in self.documents.items()}
        self.assertEqual({}, {name: length for name, length in lengths.items() if not 11 <= length <= 21})

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

    def test_a_pronoun_that_opens_a_sentence_refers_to_the_subject_before_or_to_the_only_such_person_there(self):
        by_subject = by_gender = 0
        for sentences in self.documents.values():
            agreement = pronouns_of(sentences)
            for before, sentence in zip(sentences, sentences[1:]):
                first = sentence.tokens[0]
                if first.feats.get("Case") != "Nom" or first.feats.get("Person") != "3":
                    continue
                entity = mentions(sentence)[0][0]
                heard = {other for other, _, _, _, _ in mentions(before)}
                subjects = {other for other, _, _, _, head in mentions(before) if before.tokens[head - 1].relation == "nsubj"}
                if before is sentences[0] or entity in subjects:
                    by_subject += 1
                else:
                    self.assertIn(entity, heard, sentence.comments["sent_id"])
                    rivals = {other for other in heard if other != entity and agreement.get(other) == agreement[entity]}
                    self.assertEqual(set(), rivals, sentence.comments["sent_id"])
                    by_gender += 1
        self.assertGreater(by_subject, 300)
        self.assertGreater(by_gender, 100)

    def test_the_nearest_mention_is_the_antecedent_of_at_most_sixty_percent_of_pronouns(self):
        """Whether nearest is the one whose head word stood last, or the one completed last."""
        cases = nearest = completed = 0
        for sentences in self.documents.values():
            told, offset = [], 0
            for sentence in sentences:
                told += [(offset + head, offset + first, offset + last, entity, sentence.tokens[head - 1])
                         for entity, _, first, last, head in mentions(sentence)]
                offset += len(sentence.tokens)
            for at, first, _, entity, token in told:
                earlier = [item for item in told if item[0] < at]
                if token.upos != "PRON" or not any(item[3] == entity for item in earlier):
                    continue
                ended = [item for item in earlier if item[2] < first]
                cases += 1
                nearest += max(earlier, key=lambda item: item[0])[3] == entity
                completed += bool(ended) and max(ended, key=lambda item: (item[2], item[0]))[3] == entity
        self.assertGreater(cases, 1500)
        self.assertLessEqual(nearest / cases, 0.60)
        self.assertLessEqual(completed / cases, 0.60)

    def test_people_of_different_pronouns_are_in_play_in_most_stories(self):
        mixed = sum(len({kind for kind in pronouns_of(sentences).values() if kind != "Neut"}) >= 2 for sentences in self.documents.values())
        self.assertGreater(mixed, 0.8 * len(self.documents))

    def test_is_not_in_the_training_text(self):
        """The first stories of the training's seed and the shipped ones have no three neighbouring sentences in common."""
        def triples(texts):
            return set(zip(texts, texts[1:], texts[2:]))

        training = set().union(*(triples([text_of(sentence) for sentence in make_story(1000, index)[1]]) for index in range(300)))
        for name, sentences in self.documents.items():
            self.assertEqual(set(), triples([sentence.comments["text"] for sentence in sentences]) & training, name)

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
        for attractors, least in ((0, 1000), (1, 60), (2, 10)):
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
            command = [sys.executable, DATA / "make_stories.py", "--seed", "7", "--count", "160", "--tokens", "192", "--output", again]
            subprocess.run(command, check=True)
            self.assertEqual(STORIES.read_bytes(), again.read_bytes())


if __name__ == "__main__":
    unittest.main()
