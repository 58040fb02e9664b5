"""Training steps of the study against PyTorch in double precision; test_study.py runs it in a Python with PyTorch."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import torch

STUDY = pathlib.Path(__file__).resolve().parents[2] / "data" / "study"

sys.path.insert(0, str(STUDY))
import train_family  # noqa: E402

VOCABULARY = 64


def rows(count, seed=0):
    drawn = torch.randint(0, VOCABULARY - 1, (count, 129), generator=torch.Generator().manual_seed(seed))
    return drawn[:, :-1].contiguous(), drawn[:, 1:].contiguous()


def started(seed=0, large=1.0):
    weights = train_family.initial_weights(VOCABULARY, seed)
    for name in weights:
        if name.endswith("c_attn.weight"):
            weights[name] *= large
    return weights


class Steps(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)

    def test_kernels_compute_what_pytorch_does(self):
        tokens, targets = rows(2)
        for n_head in (1, 2, 4, 8, 16, 32, 128):
            exact = {name: value.double().requires_grad_() for name, value in started(large=6).items()}
            fast = {name: value.requires_grad_() for name, value in started(large=6).items()}
            expected = train_family.loss_of(exact, n_head, tokens, targets, train_family.Plain)
            loss = train_family.loss_of(fast, n_head, tokens, targets, train_family.Fast)
            expected.backward()
            loss.backward()
            # float32 has seven digits; sums over 256 tokens and 4 layers lose one or two.
            self.assertAlmostEqual(loss.item(), expected.item(), delta=2e-6)
            for name, value in fast.items():
                if not name.endswith("c_attn.bias"):  # of keys it is zero but for rounding
                    error = (value.grad - exact[name].grad).norm() / exact[name].grad.norm()
                    self.assertLess(error.item(), 2e-5, (n_head, name))

    def test_attention_of_large_scores_is_finite(self):
        qkv = 40 * torch.randn(1, 128, 384, generator=torch.Generator().manual_seed(1))
        qkv.requires_grad_()
        z = train_family.Fast.attention(qkv, 8)
        z.sum().backward()
        np.testing.assert_allclose(z.detach(), train_family.Plain.attention(qkv.detach(), 8), atol=2e-3)  # scores of 6,000 in float32 are known to 5e-4
        self.assertTrue(torch.isfinite(qkv.grad).all())

    def test_heads_that_start_equal_stay_equal_and_others_do_not(self):
        for noise, expected in ((0.0, True), (1e-6, False)):
            weights = started()
            train_family.make_heads_equal(weights, 8, noise, 0)
            self.assertEqual(train_family.heads_are_equal(weights, 8), expected)
            distance = train_family.head_distance(weights, 8)
            # Noise of s standard deviations puts eight heads s * sqrt(1 - 1/8) apart; a percent of its sampling.
            self.assertAlmostEqual(distance, noise * 0.875**0.5, delta=max(1e-9, 0.05 * noise))
            for value in weights.values():
                value.requires_grad_()
            optimizer = train_family.Optimizer(weights, 0.01)
            for step in range(3):
                optimizer.step(train_family.loss_of(weights, 8, *rows(2, step)), 1.0)
            self.assertEqual(train_family.heads_are_equal(weights, 8), expected)

    def test_distance_of_unrelated_heads(self):
        self.assertAlmostEqual(train_family.head_distance(started(), 8), 0.875**0.5, delta=0.01)  # 65,536 weights: their spread is 0.004

    def test_the_gradient_is_clipped_at_one(self):
        weights = {name: value.requires_grad_() for name, value in started().items()}
        before = {name: value.detach().clone() for name, value in weights.items()}
        optimizer = train_family.Optimizer(weights, 0.0)
        norm = optimizer.step(1000 * train_family.loss_of(weights, 8, *rows(1)), 1.0)
        self.assertGreater(norm, 1)
        # With a rate of zero nothing moves; Adam's first moment is a tenth of the clipped gradient, known to float32's rounding.
        moment = torch.cat([optimizer.adam.state[value]["exp_avg"].flatten() for value in weights.values()]).norm().item()
        self.assertAlmostEqual(moment, 0.1, delta=1e-5)
        self.assertTrue(all(torch.equal(before[name], weights[name]) for name in weights))

    def test_documents_are_scored_without_what_fills_the_row(self):
        weights = started(large=6)
        documents = [np.concatenate([[VOCABULARY - 1], np.arange(length) % 50]) for length in (5, 60, 127)]
        # Mean losses of about 10 in float32.
        total = sum(train_family.loss_of(weights, 8, torch.tensor(document[None, :-1]), torch.tensor(document[None, 1:]), train_family.Plain).item() * (len(document) - 1)
                    for document in documents)
        self.assertAlmostEqual(train_family.document_loss(weights, 8, documents, batch=2), total / (5 + 60 + 127), delta=1e-5)

    def test_the_rate_rises_and_falls(self):
        shares = [train_family.rate(step, 3000) for step in range(3000)]
        self.assertEqual(train_family.warm_up(3000), 150)
        self.assertEqual(train_family.warm_up(750), 60)
        self.assertEqual(int(np.argmax(shares)), 149)
        self.assertTrue(0 < shares[0] < 0.01 and 0 < shares[-1] < 1e-5)


class Trainings(unittest.TestCase):
    def train(self, folder, name, seed=0, *options):
        command = [sys.executable, STUDY / "train_family.py", "--stories", folder / "stories.npy", "--n-head", 8, "--seed", seed, "--rate", 0.01, "--steps", 8, "--rows", 1,
                   "--save-every", 2, "--output", folder / name, *options]
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)

    def test_a_killed_training_goes_on_and_the_seed_decides(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            # The last of the tokenizer's ids is <|endoftext|>.
            rng = np.random.default_rng(0)
            np.save(folder / "stories.npy", np.concatenate([[2559, *rng.integers(0, 2559, 140)] for _ in range(20)]).astype(np.uint16))
            killed = self.train(folder, "killed")
            for line in killed.stdout:
                if "step 6" in line:
                    break
            killed.kill()
            killed.wait()
            killed.stdout.close()
            self.assertFalse((folder / "killed" / "record.h5").exists())
            self.assertTrue((folder / "killed" / "checkpoint.pt").exists())
            for model, seed in (("killed", 0), ("whole", 0), ("other", 1)):
                process = self.train(folder, model, seed)
                process.communicate()
                self.assertEqual(process.returncode, 0)
            models = {}
            for model in ("killed", "whole", "other"):
                with h5py.File(folder / model / "100.h5") as file, h5py.File(folder / model / "record.h5") as record:
                    models[model] = file["h.0.mlp.c_fc.weight"][()], record["loss"][()]
            for killed_part, whole in zip(models["killed"], models["whole"]):
                np.testing.assert_array_equal(killed_part, whole)
            self.assertFalse(np.array_equal(models["whole"][1], models["other"][1]))

    def test_every_story_comes_once_before_any_comes_again(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "stories.npy"
            np.save(path, np.concatenate([[2559, *[number] * 140] for number in range(30)]).astype(np.uint16))
            orders = []
            for seed in (0, 1):
                stories = train_family.Stories(path, seed, rows=4)
                drawn = np.concatenate([stories.batch(step, "cpu")[0][:, 1] for step in range(15)])
                count = len(stories.starts)
                self.assertEqual(len(set(drawn[:count])), count)
                self.assertEqual(sorted(drawn[:count]), sorted(drawn[count : 2 * count]))
                orders.append(drawn.tolist())
            self.assertNotEqual(orders[0], orders[1])


if __name__ == "__main__":
    unittest.main()
