"""The report's HTML is well-formed, self-contained, and shows hostile text as text."""

import base64
import html.parser
import json
import os
import re
import sys
import unittest

FOLDER = os.environ["HEADSCOPE_RESULTS_SAMPLE"]
HOSTILE = "<script>alert('x')</script> & \"quoted\" | `tick` é · $x_1$"
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """Check that tags nest, and collect elements, ids, links and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.elements, self.words = [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"never closed: {tag}" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if len(dict(attributes)) != len(attributes):
            self.faults.append(f"attribute twice in {tag} at {self.getpos()}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"unexpected </{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(FOLDER, "all", "report.html"), encoding="utf-8") as file:
            cls.text = file.read()
        cls.page = Page(cls.text)

    def test_tags_nest(self):
        self.assertEqual(self.page.faults, [])

    def test_nothing_is_fetched(self):
        for tag, attributes in self.page.elements:
            for name, value in attributes.items():
                if name in ("src", "href", "xlink:href", "action", "data", "poster"):
                    self.assertRegex(value, r"^(#|data:image/png;base64,)", (tag, name))
        styles = "".join(re.findall(r"<style>(.*?)</style>", self.text, re.S))
        self.assertNotRegex(styles, r"@import|url\(")
        self.assertIn("default-src 'none'", self.text)

    def test_no_script_but_our_own(self):
        rows = {"type": "application/json", "class": "rows"}
        scripts = [attributes for tag, attributes in self.page.elements if tag == "script" and attributes != rows]
        self.assertEqual(scripts, [{"type": "application/json", "id": "head-data"},
                                   {"type": "application/json", "id": "figure-data"}, {}])
        for tag, attributes in self.page.elements:
            self.assertFalse([name for name in attributes if name.startswith("on")], tag)

    def test_hostile_text_is_shown_as_text(self):
        words = "".join(self.page.words)
        self.assertIn("Caption of " + HOSTILE.replace("`", ""), words)
        self.assertIn(HOSTILE, words)
        self.assertGreaterEqual(words.count(HOSTILE.replace("`", "")), 5)
        self.assertNotIn("alert('x')</script>", self.text)

    def test_head_data_hold_hostile_tokens_and_exact_patterns(self):
        block = re.search(r'id="head-data">(.*?)</script>', self.text, re.S).group(1)
        self.assertNotRegex(block, "[<>&]")
        data = json.loads(block)
        document = data["documents"][0]
        self.assertEqual([kind["title"] for kind in document["kinds"]], ["attention", "rollout"])
        self.assertEqual(document["tokens"][3:], ["</script>", " " + HOSTILE])
        weights = [(byte / 255) ** 2 for byte in base64.b64decode(document["kinds"][0]["bytes"])]
        self.assertEqual(len(weights), 6 * 15)
        rollout = document["kinds"][1]
        self.assertTrue(rollout["shared"])
        self.assertEqual(len(base64.b64decode(rollout["bytes"])), 2 * 15)
        self.assertEqual([round(w, 9) for w in weights[:10]],
                         [1, 1, 0, 0.36, 0.64, 0, 0.36, 0, 0.64, 0])
        self.assertEqual(weights[5 * 15:5 * 15 + 6], [1, 0, 1, 0, 0, 1])

    def test_summary_comes_first_and_findings_stand_in_their_sections(self):
        sections = [a["id"] for tag, a in self.page.elements if tag == "section"]
        self.assertEqual(sections[:2], ["summary", "claims"])
        first = re.search(r'<ul class="findings">(.*?)</ul>\n<', self.text, re.S).group(1)
        self.assertNotIn("parks the most", first)
        section = re.search(r'<section id="group-classification">(.*?)</section>', self.text, re.S).group(1)
        self.assertIn('<p class="found">Two heads have a job.</p>', section)
        self.assertRegex(section, r"(?s)parks the most.\n<ul>\n<li>L0H1: 40\s%.</li>\n<li>Text: ")
        self.assertIn("2 of 6 heads have a job that passes its threshold", section)

    def test_ids_are_unique_and_links_lead_somewhere(self):
        ids = [a["id"] for _, a in self.page.elements if "id" in a]
        self.assertEqual(len(ids), len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)[:5])
        for tag, attributes in self.page.elements:
            for name in ("href", "xlink:href"):
                if attributes.get(name, "").startswith("#"):
                    self.assertIn(attributes[name][1:], ids, tag)
            for value in attributes.values():
                for target in re.findall(r"url\(#([^)]*)\)", value or ""):
                    self.assertIn(target, ids)

    def test_every_figure_is_inline_and_named(self):
        pictures = [a for tag, a in self.page.elements if tag == "svg"]
        self.assertEqual(len(pictures), len([f for f in os.listdir(os.path.join(FOLDER, "all", "figures"))
                                             if f.endswith(".svg")]))
        for attributes in pictures:
            self.assertTrue(attributes.get("aria-label"))

    def test_claims_stand_in_order_with_verdicts(self):
        claims = re.findall(r'<span class="badge (\w+)">.*?<span class="claim-number">(\d+\w?)</span>', self.text)
        self.assertEqual(claims, [("open", "6"), ("holds", "9a"), ("open", "9b"), ("fails", "2")])
        self.assertLess(self.text.index("by arithmetic"), self.text.index("4d² = 2,359,296"))

    def test_large_tables_show_the_largest_rows(self):
        data = re.search(r'id="variable-control-pruning.cosine_all".*?class="rows">(.*?)</script>', self.text, re.S)
        table = json.loads(data.group(1))
        self.assertEqual((table["of"], len(table["rows"])), (900, 50))
        sizes = [abs(row[-1]) for row in table["rows"]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertIn("tables/control.pruning.cosine_all.csv", self.text)

    def test_sizes_are_sane(self):
        self.assertLess(len(self.text.encode()), 3_000_000)


class Markdown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(FOLDER, "report.md"), encoding="utf-8") as file:
            cls.text = file.read()

    def test_tables_are_linked(self):
        targets = re.findall(r"\]\(<(tables/.*?)>\)", self.text)
        self.assertGreater(len(targets), 5)
        for target in targets:
            self.assertTrue(os.path.exists(os.path.join(FOLDER, target.replace("\\", ""))), target)
        self.assertLess(len(self.text.splitlines()), 220)

    def test_no_raw_html_and_tables_keep_their_columns(self):
        text = self.text
        self.assertNotRegex(text, r"(?<!\\)<script")
        width = 0
        for line in text.splitlines():
            columns = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            if width and columns:
                self.assertEqual(columns, width, line)
            width = columns


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
