"""The report of a small run of every analysis, read as a user reads it and compared with results.h5."""

import os
import re
import shutil
import unittest

import h5py
import numpy

from browser import Browser

FOLDER = os.environ["HEADSCOPE_RESULTS"]
THOROUGH = "HEADSCOPE_THOROUGH" in os.environ


class RunReport(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = shutil.which("chromium")
        assert program, "the package chromium is needed: tools/setup.sh test"
        cls.browser = Browser(program)
        cls.browser.view(1440, 900)
        cls.browser.open(os.path.join(FOLDER, "report.html"))
        cls.results = h5py.File(os.path.join(FOLDER, "results.h5"))
        cls.sentences = cls.browser.evaluate("""Object.fromEntries(Array.from(document.querySelectorAll(".findings > li"), (line) => (
            [line.querySelector("strong").textContent, line.textContent.replaceAll("\\u00a0", " ")])))""")

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.results.close()

    def setUp(self):
        self.browser.view(1440, 900)

    def head(self, index):
        return "L{}H{}".format(*divmod(int(index), self.results["pruning/loss_increase"].shape[-1]))

    def test_the_first_screen_has_map_sentences_and_tabs(self):
        bottoms = self.browser.evaluate("""["#head-map", ".findings", ".tab-list"].map((part) => (
            document.querySelector(part).getBoundingClientRect().bottom))""")
        self.assertLessEqual(max(bottoms), 900)
        self.assertLessEqual(sum(len(text.split()) for text in self.sentences.values()), 120, self.sentences)
        self.assertEqual(len(self.sentences), 5)

    def test_the_page_is_short_and_light(self):
        self.assertLess(self.browser.evaluate("document.documentElement.scrollHeight"), 15_000)
        self.assertLess(self.browser.evaluate("document.getElementsByTagName('*').length"), 30_000)

    def test_model_sentence(self):
        tokens = re.search(r"read ([\d,]+) tokens in (\d+) documents", self.sentences["Model."])
        self.assertEqual(int(tokens[1].replace(",", "")), self.results.attrs["n_token"])
        self.assertEqual(int(tokens[2]), self.results.attrs["n_document"])
        loss = float(re.search(r"loss is ([\d.]+) nats", self.sentences["Model."])[1])
        self.assertAlmostEqual(loss, self.results["pruning/loss"][()], delta=0.005)

    def test_attention_sentence(self):
        attends_by = self.results["score_model/attends_by"]
        names = dict(zip(attends_by.attrs["flag_meanings"].split(), attends_by.attrs["flag_values"]))
        words = {"no measurable family": "none", "several families": "none", "the two tokens alone": "lexical", "your features": "user",
                 "frequency of the key's token": "word_class", "capital of the key's token": "word_class"}
        counted = re.compile(r"([a-z][a-z' ]*) (\d+)(?=[;.])")
        said = self.browser.evaluate("""Array.from(document.querySelectorAll("#group-score_model li"), (line) => line.textContent)
            .find((text) => text.startsWith("What heads attend by"))""")
        full = counted.findall(said)
        counts = dict.fromkeys(names, 0)
        for name, count in full:
            counts[words.get(name, name.replace(" ", "_"))] += int(count)
        for family, value in names.items():
            self.assertEqual(counts[family], (attends_by[()] == value).sum(), family)
        short = counted.findall(self.sentences["Attention."])
        self.assertLessEqual(len(short), 4)
        self.assertEqual(short[:3], full[:3])
        self.assertEqual(sum(int(count) for _, count in short), attends_by.size)

    def test_the_map_can_be_coloured_by_what_heads_attend_by(self):
        data = self.results["score_model/attends_by"]
        category = self.browser.evaluate("headData.categories.find(({ name }) => name === 'attends_by')")
        self.assertEqual(category["values"], data[()].ravel().tolist())
        words = {"lexical": "the two tokens alone", "user": "your features", "word_class": "word class or frequency"}
        self.assertEqual(category["names"], [words.get(name, name.replace("_", " ")) for name in data.attrs["flag_meanings"].split()])

    def test_effect_sentence(self):
        zero, mean = (increase.ravel() for increase in self.results["pruning/loss_increase"][:2])
        alone = re.search(r"(L\d+H\d+) matters most: without it the loss rises by ([\d.]+) nats", self.sentences["Effect."])
        apart = re.search(r"Set to zero, (L\d+H\d+) costs most \(([\d.]+) nats\); set to its mean, (L\d+H\d+) costs most \(([\d.]+) nats\)",
                          self.sentences["Effect."])
        said = [alone.groups()] if alone else [apart.groups()[:2], apart.groups()[2:]]
        for increase, (head, rise) in zip((zero, mean), said):
            self.assertEqual(head, self.head(numpy.nanargmax(increase)))
            self.assertAlmostEqual(float(rise), numpy.nanmax(increase), delta=0.001)
        if alone:
            self.assertEqual(alone[1], self.head(numpy.nanargmax(mean)))
        low = self.results["pruning/loss_increase_ci_low"][0].ravel()
        harmless, of = map(int, re.search(r"(\d+) of (\d+) heads can each be pruned without measurable", self.sentences["Effect."]).groups())
        self.assertEqual(of, numpy.isfinite(low).sum())
        self.assertEqual(harmless, (low[numpy.isfinite(low)] <= 0).sum())

    def verdicts(self):
        data = self.results["classification/explained_verdict"]
        meanings = dict(zip(data.attrs["flag_meanings"].split(), data.attrs["flag_values"]))
        return data[()].reshape(len(data), -1), meanings

    def test_patterns_are_those_of_the_sharpest_head_of_each_type(self):
        with open(os.path.join(FOLDER, "figures/clark2019_patterns.svg"), encoding="utf-8") as figure:
            shown = re.findall(r"(L\d+H\d+), ([a-z ]+)", figure.read())
        primary = self.results["classification/primary"]
        names = primary.attrs["flag_meanings"].split()
        pattern = self.results["attention/0/pattern"][:, :, :15, :15].astype(float)
        sharpness = pattern[:, :, 1:, 1:].max(axis=3).sum(axis=2).ravel()
        self.assertGreaterEqual(len(shown), 3)
        seen = set()
        for head, kind in shown:
            if kind in seen:
                continue
            seen.add(kind)
            of_type = [i for i, value in enumerate(primary[()].ravel()) if names[value].replace("_", " ") == kind.replace("no type", "none")]
            self.assertEqual(head, self.head(max(of_type, key=lambda i: sharpness[i])), kind)

    def test_documents_of_patterns_know_how_many_tokens_they_have(self):
        documents = self.browser.evaluate("headData.documents.map(({ kept, of }) => [kept, of])")
        self.assertGreater(len(documents), 0)
        for index, counts in enumerate(documents):
            tokens = self.results[f"attention/{index}/tokens"]
            n_token = int(re.search(r"of (\d+) tokens; causal", tokens.attrs["long_name"]).group(1))
            self.assertEqual(counts, [len(tokens), n_token])

    def test_explained_sentence(self):
        verdicts, meanings = self.verdicts()
        said = re.search(r"Of (\d+) labels? on heads with measurable effects, (\d+) (?:is|are) shown to explain part or all of the effect, (\d+) (?:is|are) not\.", self.sentences["Explained."])
        counts = [(verdicts != meanings["not_measured"]).sum(), (verdicts == meanings["explained"]).sum(),
                  (verdicts == meanings["unexplained"]).sum()]
        self.assertEqual([int(each) for each in said.groups()], counts)

    def test_next_sentence(self):
        verdicts, meanings = self.verdicts()
        increase = self.results["pruning/loss_increase"][0].ravel()
        low = self.results["pruning/loss_increase_ci_low"][0].ravel()
        eligible = [i for i in numpy.argsort(-increase) if low[i] > 0 and not (verdicts[:, i] == meanings["explained"]).any()]
        self.assertEqual(re.findall(r"L\d+H\d+", self.sentences["Next."]), [self.head(i) for i in eligible[:3]])

    def test_types_are_counted_and_hatched_as_the_results_have_them(self):
        verdicts, meanings = self.verdicts()
        hatched = self.browser.evaluate("""headData.types.unexplained.flatMap((types, head) => types.map((type) => [type, head]))""")
        self.assertEqual(sorted(map(tuple, hatched)), sorted(map(tuple, numpy.argwhere(verdicts == meanings["unexplained"]))))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#head-map td .unexplained').length"), len(hatched))

    def test_the_table_of_tasks_has_their_accuracy(self):
        rows = self.browser.evaluate("""Array.from(document.querySelectorAll("#tasks tbody tr"), (row) => (
            Array.from(row.cells, (cell) => cell.textContent.replaceAll("\\u00a0", " "))))""")
        names = [name.decode().replace("_", " ") for name in self.results["tasks/task"][()]]
        self.assertEqual([row[0] for row in rows][:len(names)], names)
        for row, accuracy in zip(rows, self.results["tasks/accuracy"][()]):
            self.assertAlmostEqual(float(row[1].split()[0]) / 100, accuracy, delta=0.001)

    def test_every_head_opens_and_nothing_is_wider_than_its_place(self):
        for width in (1920, 1440, 1024, 800, 390) if THOROUGH else (1440, 390):
            self.browser.view(width, 900)
            wide = self.browser.evaluate("""(() => {
                const tooWide = [];
                const look = (what) => {
                    for (const box of [document.documentElement, headPanel.node]) {
                        if (box.scrollWidth > box.clientWidth) tooWide.push([what, box.id, box.scrollWidth, box.clientWidth]);
                    }
                };
                look("page");
                const canStandBeside = window.matchMedia("(min-width: 1001px)").matches;
                for (headPanel.besideMap of canStandBeside ? [true, false] : [true]) {
                    for (let head = 0; head < headCount; ++head) {
                        headPanel.open([head]);
                        look(headPanel.title.textContent);
                    }
                    headPanel.close();
                }
                for (const name of tabs.pages.keys()) { tabs.choose(name); look(name); }
                tabs.choose("heads");
                return tooWide;
            })()""")
            self.assertEqual(wide, [], width)
        # Chromium limits how often a script may change the address; a reader does not open 400 heads a second.
        self.assertEqual([text for text in self.browser.complaints if "Throttling navigation" not in text], [])


if __name__ == "__main__":
    unittest.main()
