"""The planted model's heads attend where its `planted_heads` attribute says, on real stories.

    python3 -m unittest discover -s tests/data_scripts
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

from conllu import read

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
PLANTED = DATA / "planted-model.h5"
PUNCTUATION = set(".,!?'\":;")

sys.path.insert(0, str(DATA))
from gpt2 import forward, log_probabilities, read_model  # noqa: E402


class PlantedModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = read_model(PLANTED)
        cls.heads = {}
        for label, role in json.loads(cls.model.config["planted_heads"]).items():
            cls.heads.setdefault(role, []).append((int(label[1]), int(label[3])))
        tokenizer = cls.model.tokenizer
        cls.stories = []
        for sentences in list(read(DATA / "stories.conllu").values())[:30]:
            text = " ".join(sentence.comments["text"] for sentence in sentences)
            cls.stories.append(([tokenizer.end_of_text] + tokenizer.encode(text))[:256])
        cls.patterns = [forward(cls.model, tokens)[1] for tokens in cls.stories]

    def mean_mass(self, role, keys_of):
        """Mean attention to keys_of(story) [query, key] for each head of the role, over queries >= 1 of all stories."""
        result = {}
        for layer, head in self.heads[role]:
            mass = [(patterns[layer][head] * keys_of(tokens)).sum(axis=1)[1:] for tokens, patterns in zip(self.stories, self.patterns)]
            result[layer, head] = float(np.concatenate(mass).mean())
        return result

    def punctuation(self, tokens):
        words = [self.model.tokenizer.bytes_of(token).decode("utf-8", "replace").strip() for token in tokens]
        return np.array([bool(word) and set(word) <= PUNCTUATION for word in words])

    def assertAll(self, masses, least):
        self.assertTrue(masses)
        for head, mass in masses.items():
            self.assertGreater(mass, least, f"L{head[0]}H{head[1]}")

    def test_every_role_is_planted_and_every_layer_has_a_random_head(self):
        self.assertEqual({"previous_token", "self", "sink", "induction", "punctuation", "random"}, set(self.heads))
        self.assertEqual(self.model.n_layer * self.model.n_head, sum(map(len, self.heads.values())))
        self.assertEqual(list(range(self.model.n_layer)), sorted(layer for layer, _ in self.heads["random"]))

    def test_previous_token_heads_attend_to_the_token_before(self):
        self.assertAll(self.mean_mass("previous_token", lambda tokens: np.eye(len(tokens), k=-1)), 0.9)

    def test_self_heads_attend_to_their_own_position(self):
        self.assertAll(self.mean_mass("self", lambda tokens: np.eye(len(tokens))), 0.9)

    def test_sink_heads_attend_to_position_zero(self):
        self.assertAll(self.mean_mass("sink", lambda tokens: np.arange(len(tokens)) == 0), 0.9)

    def test_punctuation_heads_attend_to_punctuation_or_to_position_zero_where_there_is_none(self):
        def keys(tokens):
            marks = self.punctuation(tokens)
            without = np.cumsum(marks) == 0
            return np.where(without[:, None], np.arange(len(tokens)) == 0, marks)

        self.assertAll(self.mean_mass("punctuation", keys), 0.9)

    def test_induction_heads_attend_to_the_successor_of_an_earlier_copy_or_to_position_zero(self):
        def keys(tokens):
            tokens = np.array(tokens)
            successor = np.zeros((len(tokens), len(tokens)), dtype=bool)
            successor[:, 1:] = np.tril(tokens[:, None] == tokens[None, :-1], -1)[:, :]
            successor = np.tril(successor)
            successor[~successor.any(axis=1), 0] = True
            return successor

        self.assertAll(self.mean_mass("induction", keys), 0.9)

    def test_random_heads_have_no_target(self):
        for layer, head in self.heads["random"]:
            for tokens, patterns in zip(self.stories, self.patterns):
                pattern = patterns[layer][head][20:]
                entropy = -(pattern * np.log(pattern + 1e-30)).sum(axis=1)
                self.assertGreater((entropy / np.log(np.arange(21, len(tokens) + 1))).mean(), 0.8)

    def test_induction_finds_a_repeated_random_sequence_and_the_model_predicts_it(self):
        rng = np.random.default_rng(5)
        end_of_text = self.model.tokenizer.end_of_text
        mass, first, second = [], [], []
        for _ in range(10):
            half = rng.integers(0, end_of_text, 50)
            tokens = np.concatenate([[end_of_text], half, half])
            logits, patterns = forward(self.model, tokens)
            losses = -log_probabilities(logits)[np.arange(100), tokens[1:]]
            first.append(losses[:50].mean())
            second.append(losses[51:].mean())
            queries = np.arange(51, 101)
            mass.append([patterns[layer][head][queries, queries - 49].mean() for layer, head in self.heads["induction"]])
        self.assertGreater(np.min(np.mean(mass, axis=0)), 0.9)
        self.assertLess(np.mean(second), 1.0)
        self.assertGreater(np.mean(first), 5.0)

    def test_is_small_and_complete(self):
        self.assertLessEqual(PLANTED.stat().st_size, 1_000_000)
        d, n_vocab = int(self.model.config["n_embd"]), int(self.model.config["vocab_size"])
        self.assertEqual((n_vocab, d), self.model.weights["wte.weight"].shape)
        for layer in range(self.model.n_layer):
            self.assertEqual((d, 3 * d), self.model.weights[f"h.{layer}.attn.c_attn.weight"].shape)
            self.assertEqual((d, 4 * d), self.model.weights[f"h.{layer}.mlp.c_fc.weight"].shape)
        self.assertTrue(all(np.isfinite(value).all() for value in self.model.weights.values()))

    def test_comes_again_from_its_formula(self):
        with tempfile.TemporaryDirectory() as folder:
            again = pathlib.Path(folder) / "again.h5"
            command = [sys.executable, DATA / "make_planted_model.py", "--tokenizer", DATA / "tokenizer", "--output", again]
            subprocess.run(command, check=True)
            with h5py.File(PLANTED, "r") as shipped, h5py.File(again, "r") as made:
                self.assertEqual(dict(shipped.attrs), dict(made.attrs))
                for name, item in shipped.items():
                    if isinstance(item, h5py.Dataset):
                        # Versions of NumPy may round the last place of float32 otherwise.
                        np.testing.assert_allclose(made[name][()], item[()], rtol=1e-6, atol=1e-7, err_msg=name)
                for name in ("vocab", "merges"):
                    self.assertEqual(shipped["tokenizer"][name][()], made["tokenizer"][name][()])


if __name__ == "__main__":
    unittest.main()
