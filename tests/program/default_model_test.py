"""The default model has heads of the kinds that data/README.md names, by the classification of its stories.

    default_model_test.py HEADSCOPE_BINARY
"""

import os
import pathlib
import sys
import tempfile
import unittest

import h5py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import children  # noqa: E402

BINARY = sys.argv.pop(1)
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


class DefaultModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            children.run([BINARY, "run", "--analyses", "classification", "--bootstrap", "20", "--explain-documents", "1",
                          "--quiet", "--output", folder], check=True, env=os.environ | {"PATH": "/nonexistent"})  # without gnuplot
            with h5py.File(os.path.join(folder, "results.h5")) as results:
                group = results["classification"]
                kinds = [kind.decode() for kind in group["head_type"][()]]
                cls.n_head = {kind: int(flags.sum()) for kind, flags in zip(kinds, group["type"][()])}
                cls.induction = group["induction"][()]
                cls.types = [(kind, layer, head) for kind, flags in zip(kinds, group["type"][()])
                             for layer, head in zip(*flags.nonzero())]
                cls.examples = []
                examples = {name: [each.decode() if isinstance(each, bytes) else each for each in values[()]]
                            for name, values in group["examples"].items() if name != "example"}
                for i in range(len(examples["text"])):
                    cls.examples.append({name: values[i] for name, values in examples.items()})

    def test_has_heads_of_every_kind_that_its_readme_counts(self):
        for kind, least in {"positional": 1, "syntactic": 2, "delimiter": 1, "induction": 3}.items():
            self.assertGreaterEqual(self.n_head[kind], least, kind)

    def test_shows_where_every_typed_head_finds_and_misses_what_its_type_says(self):
        for kind, layer, head in self.types:
            own = [each for each in self.examples if (each["type"], each["layer"], each["head"]) == (kind, layer, head)]
            self.assertGreaterEqual(sum(each["found"] for each in own), 1, (kind, layer, head))
            for each in own:
                if each["found"]:
                    self.assertEqual(each["attended_start"], each["target_start"], each)
                elif each["target_start"] >= 0:
                    self.assertNotEqual(each["attended_start"], each["target_start"], each)
        for kind in ("syntactic", "induction", "delimiter"):
            self.assertTrue(any(each["type"] == kind and not each["found"] for each in self.examples), kind)

    def test_shows_arcs_of_the_relation_that_a_syntactic_head_claims(self):
        arcs = {}  # document -> (later form, earlier form) -> relation → head, or head → relation
        document = -1
        for sentence in (DATA / "stories.conllu").read_text(encoding="utf-8").split("\n\n"):
            lines = sentence.splitlines()
            document += any(line.startswith("# newdoc") for line in lines)
            words = [line.split("\t") for line in lines if line[:1].isdigit() and line.split("\t")[0].isdigit()]
            for word in words:
                if word[6] == "0":
                    continue
                relation, other = word[7].split(":")[0], words[int(word[6]) - 1]
                is_later = int(word[0]) > int(word[6])
                later, earlier = (word[1], other[1]) if is_later else (other[1], word[1])
                arcs.setdefault(document, []).append((later, earlier, f"{relation} → head" if is_later else f"head → {relation}"))
        shown = [each for each in self.examples if each["type"] == "syntactic"]
        for each in shown:
            query, target = (each["text"][each[name + "_start"]:each[name + "_end"]] for name in ("query", "target"))
            self.assertTrue(any(later.startswith(query) and earlier.startswith(target) and each["about"].startswith(relation)
                                for later, earlier, relation in arcs[each["document"]]), each)

    def test_has_a_clear_induction_head(self):
        self.assertGreater(self.induction.max(), 0.5)


if __name__ == "__main__":
    unittest.main()
