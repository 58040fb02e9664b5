"""The default tasks are what the script makes, balanced, and in words that training never saw together.

    python3 -m unittest discover -s tests/data_scripts
"""

import collections
import json
import pathlib
import re
import sys
import unittest

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"

sys.path.insert(0, str(DATA))
from make_stories import make_story, story_text  # noqa: E402
from make_tasks import make_pairs, read_tokenizer  # noqa: E402

PAIRS = [json.loads(line) for line in (DATA / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]


class Tasks(unittest.TestCase):
    def test_are_those_of_the_script(self):
        self.assertEqual(PAIRS, list(make_pairs(5, 200, read_tokenizer(DATA / "tokenizer"))))

    def test_have_two_hundred_pairs_each(self):
        self.assertEqual(set(collections.Counter(pair["task"] for pair in PAIRS).values()), {200})

    def test_have_sides_that_differ_before_either_ends(self):
        tokenizer = read_tokenizer(DATA / "tokenizer")
        for pair in PAIRS:
            good, bad = (tokenizer.encode(pair[side]) for side in ("good", "bad"))
            self.assertTrue(any(a != b for a, b in zip(good, bad)), pair)

    def test_have_each_continuation_as_often_good_as_bad(self):
        for task in {pair["task"] for pair in PAIRS} - {"control"}:
            count = {side: collections.Counter(pair[side] for pair in PAIRS if pair["task"] == task) for side in ("good", "bad")}
            self.assertEqual(count["good"], count["bad"], task)

    # README.md says how to check all of the training text.
    def test_have_no_sentence_of_the_training_text(self):
        training = " ".join(story_text(make_story(1000, i)[1]) for i in range(300))
        for pair in PAIRS:
            for sentence in re.split(r"(?<=[.!?]) ", pair["prefix"] + pair["good"]):
                if " " in sentence:  # else a pronoun that opens the next sentence
                    self.assertNotIn(sentence, training)


if __name__ == "__main__":
    unittest.main()
