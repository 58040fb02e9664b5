"""The default model is complete and small, contains the shipped tokenizer, and does what data/README.md says.

    python3 -m unittest discover -s tests/data_scripts
"""

import json
import pathlib
import sys
import unittest

import numpy as np

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"

sys.path.insert(0, str(DATA))
from evaluate import (TokenisedStory, agreement_sites, head_scores, name_sites, pronoun_sites, pronoun_task,  # noqa: E402
                      pronoun_task_text, referent_sites)
from gpt2 import forward, log_probabilities, read_model  # noqa: E402
from make_stories import make_story  # noqa: E402


class DefaultModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = read_model(DATA / "default-model.h5")
        cls.stories = [TokenisedStory(make_story(7, i)[1], cls.model.tokenizer, int(cls.model.config["n_positions"])) for i in range(40)]
        cls.log_p = [log_probabilities(forward(cls.model, story.tokens)[0]) for story in cls.stories]

    def test_is_at_most_twelve_megabytes(self):
        self.assertLessEqual((DATA / "default-model.h5").stat().st_size, 12_000_000)

    def test_has_every_tensor_of_its_configuration(self):
        config = self.model.config
        d, n_vocab = int(config["n_embd"]), int(config["vocab_size"])
        expected = {"wte.weight": (n_vocab, d), "wpe.weight": (int(config["n_positions"]), d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
        for i in range(self.model.n_layer):
            for norm in ("ln_1", "ln_2"):
                expected |= {f"h.{i}.{norm}.weight": (d,), f"h.{i}.{norm}.bias": (d,)}
            for name, n_in, n_out in (("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)):
                expected |= {f"h.{i}.{name}.weight": (n_in, n_out), f"h.{i}.{name}.bias": (n_out,)}
        self.assertEqual(expected, {name: value.shape for name, value in self.model.weights.items()})
        self.assertTrue(all(np.isfinite(value).all() for value in self.model.weights.values()))

    def test_carries_the_shipped_tokenizer(self):
        self.assertEqual(json.loads((DATA / "tokenizer" / "vocab.json").read_text(encoding="utf-8")), self.model.tokenizer.ids)

    def test_predicts_stories_it_never_saw(self):
        losses = [-log_p[np.arange(len(story.tokens) - 1), story.tokens[1:]] for story, log_p in zip(self.stories, self.log_p)]
        self.assertLess(np.concatenate(losses).mean(), 1.5)

    def test_says_how_it_was_trained(self):
        config = self.model.config
        self.assertGreater(int(config["training_tokens"]), int(config["training_steps"]))
        self.assertIn("stories", config["training_mixture"])
        self.assertTrue(config["training_processor"])
        self.assertNotIn("the-war-of-the-worlds.txt", json.loads(config["training_books"]), "the book that measures it")

    def test_solves_agreement_pronouns_and_recurring_names(self):
        right = {"agreement": [], "pronoun": [], "referent": [], "name": []}
        for story, log_p in zip(self.stories, self.log_p):
            for before, good, bad, _ in agreement_sites(story, self.model.tokenizer):
                right["agreement"].append(log_p[before, good] > log_p[before, bad])
            for before, row, which in pronoun_sites(story):
                forms = [self.model.tokenizer.encode(form)[0] for form in row]
                right["pronoun"].append(np.argmax(log_p[before, forms]) == which)
            for before, good, bad, _ in referent_sites(story, self.model.tokenizer):
                right["referent"].append(log_p[before, good] > log_p[before, bad].max())
            for before, token in name_sites(story):
                right["name"].append(np.argmax(log_p[before]) == token)
        self.assertGreaterEqual(np.mean(right["agreement"]), 0.95)
        self.assertGreaterEqual(np.mean(right["pronoun"]), 0.90)
        self.assertGreaterEqual(np.mean(right["referent"]), 0.80)
        self.assertGreaterEqual(np.mean(right["name"]), 0.95)

    def test_takes_a_pronoun_for_the_person_whom_the_story_began_with(self):
        pairs = [json.loads(line) for line in (DATA / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
        right = pronoun_task(self.model, [pair for pair in pairs if pair["task"] == "pronoun_gender"])
        text = pronoun_task_text(right)
        self.assertEqual([len(right[kind]) for kind in ("same", "other", "alone")], [100, 100, 200])
        self.assertIn(text, (DATA / "README.md").read_text(encoding="utf-8"))

    def test_has_induction_and_previous_token_heads(self):
        scores = head_scores(self.model, self.stories[:10])
        self.assertGreater(scores["induction"].max(), 0.8)
        self.assertGreater(scores["previous token"].max(), 0.4)


if __name__ == "__main__":
    unittest.main()
