"""The report in headless Chromium, opened from disk and used by pointer alone and by keyboard alone."""

import base64
import json
import os
import re
import shutil
import sys
import unittest

from browser import Browser

REPORT = os.path.join(os.environ["HEADSCOPE_RESULTS_SAMPLE"], "report.html")
EVERY_FIGURE = os.path.join(os.environ["HEADSCOPE_RESULTS_SAMPLE"], "all", "report.html")
THOROUGH = "HEADSCOPE_THOROUGH" in os.environ
ATTENTION = os.path.join(os.environ["HEADSCOPE_RESULTS_SAMPLE"], "attention.html")  # of `headscope attend`
HOSTILE = "<script>alert('x')</script> & \"quoted\" | `tick` é · $x_1$"
L0H0, L0H1, L1H1, L1H2 = 0, 1, 4, 5


def report_of(n_layer, n_head):
    """The report of a large model."""
    return os.path.join(os.path.dirname(REPORT), f"{n_layer}x{n_head}", "report.html")


def setUpModule():
    program = shutil.which("chromium")
    assert program, "the package chromium is needed: tools/setup.sh test"
    InABrowser.browser = Browser(program)


def tearDownModule():
    InABrowser.browser.close()


class InABrowser(unittest.TestCase):
    PAGE = REPORT  # opened before each test, unless None

    def setUp(self):
        self.browser.complaints.clear()
        self.browser.requests.clear()
        self.browser.view(1200, 900)
        if self.PAGE:
            self.browser.open(self.PAGE)

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        for address in self.browser.requests:
            self.assertRegex(address, r"^(file://.*/(report|attention)\.html(#[\w+]+)?$|data:image/|blob:)")

    def text(self, selector):
        return self.texts(selector)[0]

    def texts(self, selector):
        return self.browser.evaluate(
            f"Array.from(document.querySelectorAll({json.dumps(selector)}), (node) => node.textContent)")

    def wait_for(self, condition):
        """Fails if the condition, in JavaScript, is not true within ten seconds."""
        self.assertTrue(self.browser.evaluate(f"""new Promise((done) => {{
            const end = performance.now() + 10000;
            const look = () => (({condition}) ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 5));
            look();
        }})"""), condition)

    def shown_head(self):
        """Name of the head whose panel is open, or None."""
        return self.browser.evaluate("""(() => {
            const panel = document.getElementById("head-panel");
            return panel.checkVisibility() ? panel.querySelector("h2").textContent : null;
        })()""")

    def click_head(self, head_index):
        self.browser.click(f'#head-map [data-head-index="{head_index}"]')

    def choose(self, selector, option):
        """Choose an option of a menu by its text."""
        self.browser.evaluate(f"""(() => {{
            const menu = document.querySelector({json.dumps(selector)});
            const texts = Array.from(menu.options, (each) => each.textContent);
            menu.selectedIndex = texts.indexOf({json.dumps(option)});
            menu.dispatchEvent(new Event("change"));
        }})()""")

    def type_into(self, selector, text):
        self.browser.evaluate(f"""(() => {{
            const input = document.querySelector({json.dumps(selector)});
            input.focus();
            input.value = {json.dumps(text)};
            input.dispatchEvent(new Event("input"));
        }})()""")

    def place(self, selector):
        """[left, top] in the window."""
        return self.browser.evaluate(f"""(() => {{
            const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [box.left, box.top];
        }})()""")

    def point_in_figure(self, name, panel, across, down):
        """Window coordinates of a share of a figure's panel."""
        self.browser.middle_of(f"#figure-{name} svg")
        return self.browser.evaluate(f"""(() => {{
            const svg = document.querySelector("#figure-{name} svg");
            const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
            const [left, top, width, height] = figureData.figures["{name}"].areas[{panel}];
            return [box.left + scale * (left + width * {across}), box.top + scale * (top + height * {down})];
        }})()""")

    def unfold_figures(self):
        self.browser.evaluate("document.querySelectorAll('.more-figures').forEach((each) => { each.open = true; })")

    def unfold(self, variable):
        """Open a variable among the numbers of its section."""
        self.browser.evaluate(f'reveal("variable-{variable}")')

    def focused(self):
        return self.browser.evaluate("document.activeElement.textContent")

    def press(self, *keys):
        for key in keys:
            self.browser.press(key)

    def tab_to(self, selector):
        for _ in range(80):
            if self.browser.evaluate(f"document.activeElement.matches('{selector}')"):
                return
            self.browser.press("Tab")
        self.fail(f"Tab does not lead to {selector}")


class HeadMap(InABrowser):
    def test_types_are_all_marked_and_named(self):
        self.assertEqual(self.texts("#head-map td button"), ["·", "Po", "·", "·", "·", "InPo"])
        self.assertEqual(self.texts("#head-map-legend li"),
                         ["Po positional 2", "In induction 1", "· no type 4"])
        label = self.browser.evaluate(
            f"document.querySelector('#head-map [data-head-index=\"{L1H2}\"]').ariaLabel")
        self.assertEqual(label, "L1H2, induction (not shown to explain its effect), positional (offset 1)")

    def dimmed(self):
        return self.browser.evaluate(
            "Array.from(document.querySelectorAll('#head-map td .dimmed'), (node) => Number(node.dataset.headIndex))")

    def test_labels_that_explain_nothing_are_hatched(self):
        hatched = self.browser.evaluate("""Array.from(document.querySelectorAll("#head-map td .unexplained"), (field) => (
            [Number(field.closest("button").dataset.headIndex), field.textContent]))""")
        self.assertEqual(hatched, [[L1H2, "In"]])
        self.assertIn("hatched: the label is not shown to explain", self.text("#head-map-legend"))

    def test_the_legend_filters(self):
        self.browser.click("#head-map-legend li:nth-child(2) button")
        self.assertEqual(self.dimmed(), [0, 1, 2, 3, 4])
        self.browser.click("#head-map-legend li:nth-child(3) button")
        self.assertEqual(self.dimmed(), [L0H1, L1H2])
        self.browser.click("#head-map-legend li:nth-child(3) button")
        self.assertEqual(self.dimmed(), [])

    def remove(self, head_index):
        self.browser.evaluate(f"headData.removed[{head_index}] = true")

    def test_removed_heads_have_a_mark_and_no_scores(self):
        self.remove(L1H1)
        self.choose("#head-map-score", "type")
        self.assertEqual(self.texts("#head-map td button"), ["·", "Po", "·", "·", "×", "InPo"])
        self.assertEqual(self.texts("#head-map-legend li"),
                         ["Po positional 2", "In induction 1", "· no type 3", "× removed 1"])
        self.type_into("#head-search", "removed")
        self.assertEqual(self.texts("#head-search-results li"), ["Removed from the modelL1H1"])
        self.assertEqual(self.dimmed(), [head for head in range(6) if head != L1H1])
        self.type_into("#head-search", "")
        self.remove(L1H2)
        self.choose("#head-map-score", "loss increase")
        self.choose("#head-map-label", "zero")
        self.assertEqual(self.texts("#head-map td button")[L1H2], "×")
        self.assertEqual(self.browser.evaluate(
            f"document.querySelector('#head-map [data-head-index=\"{L1H2}\"]').ariaLabel"), "L1H2, removed")
        self.assertNotIn("2.5", self.text("#head-map-legend"))

    def test_pictures_of_removed_heads_say_so(self):
        self.remove(L1H1)
        self.assertEqual(self.browser.evaluate(
            "(() => { const place = element('div'); makeModelView(place); "
            "return Array.from(place.querySelectorAll('td button'), (cell) => cell.textContent); })()")[:6],
            ["", "", "", "", "removed", ""])

    def test_colours_by_any_score(self):
        self.choose("#head-map-score", "loss increase")
        self.assertEqual(self.texts("#head-map-label option"), ["zero", "mean"])
        self.choose("#head-map-label", "mean")
        self.assertEqual(self.texts("#head-map td button")[0], "–")
        self.choose("#head-map-label", "zero")
        self.assertEqual(self.texts("#head-map td button")[L1H2], "2.5")
        red, green, blue = self.browser.evaluate(f"""getComputedStyle(
            document.querySelector('#head-map [data-head-index="{L1H2}"]')).backgroundColor
            .match(/\\d+/g).map(Number)""")
        self.assertGreater(red, green + blue, "the largest of a diverging scale is red")

    def test_colours_by_what_heads_attend_by(self):
        self.choose("#head-map-score", "attends by")
        self.assertEqual(self.texts("#head-map td button"), ["·", "Po", "Po", "Wo", "·", "Po"])
        self.assertEqual(self.texts("#head-map-legend li"), ["· none 2", "Po position 3", "Wo word class 1"])
        self.assertIn("The family with the largest gain.", self.text("#head-map-legend"))
        self.assertEqual(self.browser.evaluate(f"document.querySelector('#head-map [data-head-index=\"{L0H1}\"]').title"),
                         "L0H1: attends by position")
        self.browser.click("#head-map-legend li:nth-child(3) button")
        self.assertEqual(self.dimmed(), [0, 1, 2, 4, 5])
        self.choose("#head-map-score", "type")
        self.assertEqual(self.dimmed(), [])

    def test_one_extreme_head_does_not_flatten_the_scale(self):
        high = self.browser.evaluate("""scoreScale({ values: [...Array(99).fill(0).map((_, i) => i / 98), 1000] }).high""")
        self.assertLessEqual(high, 1)  # the 98th of 100 parts

    def test_one_head_below_zero_makes_the_scale_diverging(self):
        def scale(least):
            """[low, high, whether the scale diverges] of 60 heads, of which one has the least value."""
            return self.browser.evaluate(f"""(() => {{
                allHeads.splice(0, Infinity, ...Array(60).keys());
                const {{ low, high, stops }} = scoreScale({{ values: allHeads.map((head) => head === 7 ? {least} : head + 1) }});
                return [low, high, stops === headData.diverging];
            }})()""")

        self.assertEqual(scale(-0.5), [-59, 59, True])
        self.assertEqual(scale(-1e-9), [1, 59, False])  # rounding
        self.assertEqual(scale(0), [1, 59, False])

    def test_of_a_comparison_opens_with_a_run_that_differs(self):
        chosen = self.browser.evaluate("""(() => {
            const score = (name, label, ...values) => ({ name, label, anchor: name, group: "comparison", values });
            Object.assign(headData, { types: null, categories: [], sections: [], scores: [
                score("sink", "a", 1, 2, 3, 4, 5, 6), score("same_difference", "a", 0, 0, 0, 0, 0, 0),
                score("same_difference", "b", 0, null, 0, 0, 0, 0), score("sink_difference", "a", 0, 0, 0, 0, 0, 0),
                score("sink_difference", "b", 0, null, 0.5, 0, 0, 0)] });
            const menu = scoreMenu(), labels = element("select");
            const opening = openingScore(menu);
            fillLabels(labels, opening);
            return [Array.from(menu.options, (option) => option.value), opening, labels.selectedOptions[0].textContent];
        })()""")
        self.assertEqual(chosen, [["0", "1", "4"], "4", "b"])

    def test_black_is_the_ink_of_figures_in_light_and_dark(self):
        for dark, ink, paper in ((False, "rgb(0, 0, 0)", "rgb(255, 255, 255)"), (True, "rgb(244, 246, 248)", "rgb(28, 33, 39)")):
            self.browser.view(1200, 900, dark)
            self.assertEqual(self.browser.evaluate("""(() => {
                const style = getComputedStyle(document.body.appendChild(paint(element("span"), "#000000")));
                return [style.backgroundColor, style.color];
            })()"""), [ink, paper])

    def test_scores_are_grouped_without_auxiliary_ones(self):
        self.assertEqual(self.browser.evaluate(
            "document.querySelector('#head-map-score optgroup').label"), "What pruning it costs")
        self.browser.evaluate("""headData.sections = [];
            headData.scores.forEach((score) => { score.auxiliary = score.name === "sink"; })""")
        listed = self.browser.evaluate("Array.from(scoreMenu().options, (option) => option.text)")
        self.assertIn("loss increase", listed)
        self.assertNotIn("sink", listed)
        self.type_into("#head-search", "sink")
        self.assertFalse([line for line in self.texts("#head-search-results li") if line.startswith("Largest")])


class Tabs(InABrowser):
    def shown(self):
        return self.texts("#tabs > [role='tabpanel']:not([hidden])")

    def test_choose_what_stands_beside_the_map(self):
        self.assertEqual(self.texts("#tabs [role='tab']"), ["Heads", "Patterns", "Tasks and circuits"])
        self.browser.click("#tasks-tab-button")
        self.assertIn("recurring name", self.shown()[0])
        self.assertEqual(len(self.shown()), 1)
        self.press("ArrowLeft")
        self.assertTrue(self.browser.evaluate("document.getElementById('model-view').checkVisibility()"))
        self.assertEqual(self.focused(), "Patterns")

    def test_a_head_of_the_map_opens_beside_it_and_one_of_the_text_over_the_page(self):
        self.browser.view(1440, 900)
        self.browser.click("#tasks-tab-button")
        self.click_head(L1H2)
        self.assertTrue(self.browser.evaluate("document.getElementById('heads-tab').contains(headPanel.node)"))
        self.assertGreater(self.place("#head-panel")[0], self.browser.evaluate(
            "document.getElementById('head-map').getBoundingClientRect().right"))
        self.browser.click("#group-pruning p button.head")
        self.assertTrue(self.browser.evaluate("headPanel.node.parentElement === document.body"))
        self.assertEqual(self.shown_head(), "Head L1H2")

    def test_tasks_of_several_groups_are_one_table(self):
        rows = self.browser.evaluate("Array.from(document.querySelectorAll('#tasks tbody tr'), (row) => Array.from(row.cells, (cell) => cell.textContent))")
        self.assertEqual(rows, [["recurring name", "94\u00a0%", "L1H2 (40\u00a0%)", "12"], ["agreement", "80\u00a0%", "none", "–"]])


class FirstScreen(InABrowser):
    """What is seen without scrolling."""

    def test_has_the_map_the_sentences_and_the_tabs(self):
        self.browser.view(1440, 900)
        for path in (REPORT, report_of(12, 12), report_of(24, 16), report_of(30, 9)):
            self.browser.open(path)
            bottoms = self.browser.evaluate("""["#head-map tbody", ".findings", ".tab-list"].map((part) => (
                document.querySelector(part)?.getBoundingClientRect().bottom ?? 0))""")
            self.assertLessEqual(max(bottoms), 900, path)
            self.assertEqual(self.browser.evaluate("""(() => {
                const box = document.querySelector("#head-map .wide");
                return box.scrollWidth - box.clientWidth;
            })()"""), 0, path)

    def test_of_a_phone_has_the_sentences_then_the_map_then_the_tabs(self):
        self.browser.view(390, 844)
        tops = [self.place(part)[1] for part in (".findings", "#head-map", ".tab-list")]
        self.assertEqual(tops, sorted(tops))

    def test_says_it_in_120_words(self):
        words = " ".join(self.texts(".findings > li")).split()
        self.assertLessEqual(len(words), 120)
        self.assertEqual(self.texts(".findings > li > strong"), ["Model.", "Attention.", "Effect.", "Next."])
        self.assertIn("L0H1 attends by position.", self.text(".findings"), "the last description's sentence")

    def test_nothing_is_built_before_it_is_opened(self):
        self.assertEqual(self.texts(".numbers table, #all-heads table"), [])


class Search(InABrowser):
    def search(self, text):
        self.type_into("#head-search", text)
        return self.texts("#head-search-results li")

    def test_finds_a_head_by_its_name(self):
        self.assertEqual(self.search("l1h2"), ["HeadsL1H2"])
        self.press("Enter")
        self.assertEqual(self.shown_head(), "Head L1H2")

    def test_finds_heads_by_type_relation_and_score(self):
        self.assertEqual(self.search("induction"), ["Type: inductionL1H2"])
        found = self.search("nsubj")
        self.assertRegex(found[0], r"^Relations it finds best: nsubj, dependent to headL0H0 75\s%")
        self.assertRegex(self.search("loss increase, z")[0], "^Largest loss increase, zeroL1H2 2.5")
        self.search("loss increase, m")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#head-map td .dimmed').length"), 1, "one head has no value")
        self.assertEqual(self.search("nothing of the kind"), ["No head, type, relation or score of this name."])

    def test_shows_the_found_on_the_map(self):
        self.search("positional")
        self.assertEqual(self.browser.evaluate(
            "document.querySelectorAll('#head-map td .dimmed').length"), 4)
        self.press("Escape")
        self.assertEqual(self.browser.evaluate(
            "document.querySelectorAll('#head-map td .dimmed').length"), 0)


class HeadPanel(InABrowser):
    def test_a_click_shows_type_scores_and_closest_heads(self):
        self.assertIsNone(self.shown_head())
        self.click_head(L1H2)
        self.assertEqual(self.shown_head(), "Head L1H2")
        self.assertEqual(self.texts("#head-panel .reason .chip"), ["induction", "positional"])
        rows = self.texts("#head-panel section tbody tr")
        self.assertIn("loss increase, zero nats2.5[2.4, 2.6]1 of 6", rows)
        self.assertIn("nsubj, dependent to head75\u00a0%50\u00a0%29", rows)
        self.assertFalse([row for row in rows if row.startswith(("det", "obj"))])
        edges = [text for text in self.texts("#head-panel dd") if text.startswith(("reads from", "is read by"))]
        closest = [text for text in self.texts("#head-panel dd") if text not in edges]
        self.assertTrue(closest[0].startswith("L0H0 1"), closest)

    def test_says_first_why_the_head_is_of_its_type(self):
        self.click_head(L1H2)
        self.assertEqual(self.browser.evaluate(
            "document.querySelector('#head-panel h3:not(.column-title)').textContent"), "Why induction")
        self.assertEqual(self.texts(".reason p:not(.example-text, .example-legend, .type-sentence)"),
                         [" score 0.75, threshold 0.5, baseline 0.25", HOSTILE,
                          " offset 1: score 0.75, threshold 0.5, baseline 0.25", "rule of positional"])
        self.assertEqual(self.texts(".example .example-text"), ["the cat saw the cat", "é cat, a dog, a cat"])
        self.assertEqual(self.texts(".example mark"), ["cat", "cat", "cat", "dog", "cat"])
        self.assertEqual(self.texts(".example .faint"), ["✓ found", "✗ missed: attends most to “dog”"])
        self.wait_for("document.querySelectorAll('.example .head-of-arrow').length >= 2")
        ends = self.browser.evaluate("""Array.from(document.querySelectorAll(".example"), (node) => {
            const arc = Array.from(node.querySelectorAll("path:not(.head-of-arrow)")).pop();
            const tip = arc.getPointAtLength(arc.getTotalLength());
            const origin = node.querySelector("svg").getBoundingClientRect();
            const mark = node.querySelector("mark.attended") ?? node.querySelector("mark.target");
            const box = mark.getBoundingClientRect();
            return Math.abs(origin.left + tip.x - (box.left + box.width / 2)) + Math.abs(origin.top + tip.y - box.top);
        })""")
        self.assertLess(max(ends), 6, "arcs end where their arrow's head begins, 4 pixels above the words attended to")

    def test_says_that_a_head_is_removed(self):
        self.browser.evaluate(f"headData.removed[{L0H0}] = true")
        self.click_head(L0H0)
        self.assertIn("Was removed from the model: its values are those of a head without output.",
                      self.texts("#head-panel p"))

    def test_opening_a_head_never_moves_the_page(self):
        for width in (1280, 800):
            self.browser.view(width, 900)
            for selector in (f'#head-map [data-head-index="{L1H1}"]', "#group-pruning p button.head"):
                self.browser.middle_of(selector)
                before = self.place(selector), self.browser.evaluate("scrollY")
                x, y = self.browser.middle_of(selector)
                for kind in ("mousePressed", "mouseReleased"):
                    self.browser.mouse(kind, x, y, button="left", clickCount=1)
                self.assertIsNotNone(self.shown_head())
                self.assertEqual((self.place(selector), self.browser.evaluate("scrollY")), before,
                                 (width, selector))
                self.browser.evaluate("headPanel.close()")

    def test_back_and_forward_step_through_heads(self):
        self.click_head(L0H0)
        self.click_head(L0H1)
        self.click_head(L1H1)
        shown = []
        for step in (-1, -1, -1, 1, 1):
            self.browser.evaluate(f"""new Promise((done) => {{
                window.addEventListener("popstate", () => setTimeout(done, 0), {{ once: true }});
                history.go({step});
            }})""")
            shown.append(self.shown_head())
        self.assertEqual(shown, ["Head L0H1", "Head L0H0", None, "Head L0H0", "Head L0H1"])

    def test_the_address_survives_links_to_scores(self):
        self.click_head(L1H2)
        self.browser.click("#head-panel section tbody a")
        self.assertEqual(self.browser.evaluate("location.hash"), "#L1H2")
        self.assertEqual(self.shown_head(), "Head L1H2")
        self.assertTrue(self.browser.evaluate(
            "document.getElementById('variable-pruning.loss_increase').open"))

    def test_the_link_is_copied(self):
        self.click_head(L1H2)
        self.browser.evaluate("""navigator.clipboard.writeText = (text) => {
            window.copied = text;
            return Promise.resolve();
        }""")
        self.browser.click("#head-panel .panel-bar button:nth-of-type(3)")
        self.assertTrue(self.browser.evaluate("window.copied").endswith("report.html#L1H2"))
        self.assertEqual(self.text("#notice"), "Link copied")

    def test_two_heads_side_by_side(self):
        self.click_head(L1H2)
        self.assertRegex(self.text("#head-panel .alike"), r"^Write most alike \(cosine\): L0H0 1 ")
        self.browser.click("#head-panel [data-compare]")
        self.assertEqual(self.shown_head(), "Heads L1H2 and L0H0")
        self.assertEqual(self.browser.evaluate("location.hash"), "#L1H2+L0H0")
        left, right = self.place(".head-column"), self.place(".head-column + .head-column")
        self.assertEqual(left[1], right[1])
        self.assertLess(left[0] + 200, right[0])
        self.browser.hover("#other-pattern-query-2")
        self.assertIn("“The” (1) 64", self.texts("#head-panel .readout")[1])
        self.choose("#head-panel .panel-bar select", "One head only")
        self.assertEqual(self.shown_head(), "Head L1H2")

    def test_all_scores_unfold(self):
        self.click_head(L1H2)
        self.browser.click("#head-panel details summary")
        self.browser.middle_of("#head-panel details tbody tr")
        scores = self.browser.evaluate("headData.scores.length")
        self.assertEqual(len(self.texts("#head-panel details tbody tr")), scores)
        self.assertEqual(len(self.texts("#head-panel details .strip .own")), scores)

    def test_edges_name_what_the_head_reads_and_what_reads_it_with_the_port(self):
        self.click_head(L1H2)
        self.assertEqual(["reads from L0H1 by keys −0.75embed by keys 0.5"], self.edges())
        self.browser.click(f'#head-panel dd [data-head-index="{L0H1}"]')
        self.assertEqual("Head L0H1", self.shown_head())
        self.assertEqual(["is read by L1H2 by keys −0.75logits 0.125"], self.edges())

    def edges(self):
        return self.browser.evaluate("""Array.from(document.querySelectorAll("#head-panel h3"))
            .filter((title) => title.textContent === "What it reads")
            .flatMap((title) => Array.from(title.parentNode.querySelectorAll("dd"), (line) => line.textContent))""")

    def test_closest_heads_lead_to_their_panels(self):
        self.click_head(L1H2)
        self.browser.click("#head-panel section:last-of-type dd button")
        self.assertEqual(self.shown_head(), "Head L0H0")

    def test_heads_named_anywhere_open_it(self):
        for selector in ("#group-pruning p button.head", ".findings button.head"):
            name = self.text(selector)
            self.browser.click(selector)
            self.assertEqual(self.shown_head(), "Head " + name, selector)
            self.press("Escape")

    def test_rows_of_tables_open_it(self):
        self.unfold("pruning.loss_increase")
        self.browser.click("#variable-pruning\\.loss_increase tbody tr:nth-child(5) button")
        self.assertEqual(self.shown_head(), "Head L1H1")
        self.press("Escape")
        self.unfold("correlation.cosine_all")
        self.browser.click("#variable-correlation\\.cosine_all tbody tr:nth-child(6) td + td button")
        self.assertEqual(self.shown_head(), "Head L1H2")

    def test_an_address_names_a_head(self):
        self.browser.open("about:blank")
        self.browser.open(REPORT + "#L1H1")
        self.assertEqual(self.shown_head(), "Head L1H1")
        self.browser.open("about:blank")
        self.browser.open(REPORT + "#L1H1+L9H9")
        self.assertIsNone(self.shown_head())


class PatternView(InABrowser):
    def readout(self):
        return self.text("#head-panel .readout").replace("\u00a0", " ")

    def lines(self):
        """[from, to] of each line drawn, in rows."""
        return self.browser.evaluate("""Array.from(document.querySelectorAll("#head-panel .lines path"),
            (path) => path.getAttribute("d").match(/M0 [\\d.]+L100 [\\d.]+/g)).flat()
            .map((d) => d.match(/ [\\d.]+/g).map((y) => Math.floor(y / rowHeight)))""")

    def test_a_token_pointed_at_shows_where_it_attends(self):
        self.click_head(L0H0)
        self.browser.hover("#pattern-query-2")
        self.assertEqual(self.readout(), "“cat” (2) attends to “The” (1) 64 %, “<|endoftext|>” (0) 36 %.")
        self.assertEqual(sorted(self.lines()), [[2, 0], [2, 1]])
        self.click_head(L1H2)
        self.browser.hover("#pattern-query-2")
        self.assertEqual(self.readout(), "“cat” (2) attends to “cat” (2) 100 %.")
        self.browser.hover("#head-panel h2")
        self.assertIn("Point at a token", self.readout())
        self.assertEqual(sorted(self.lines()), [[i, i] for i in range(5)])

    def test_shades_follow_the_weights(self):
        self.click_head(L0H0)
        self.browser.hover("#pattern-query-2")
        shades = [self.browser.evaluate(
            f"document.getElementById('pattern-key-{i}').style.getPropertyValue('--share')")
            for i in range(5)]
        self.assertEqual([float(shade) for shade in shades], [0.6, 0.8, 0, 0, 0])

    def test_a_token_shows_what_attends_to_it(self):
        self.click_head(L0H0)
        self.browser.hover("#pattern-key-2")
        self.assertEqual(self.readout(), "“cat” (2) is attended to by “</script>” (3) 64 %.")
        self.assertEqual(self.lines(), [[3, 2]])

    def test_heads_of_the_layer_add_up_in_their_colours(self):
        self.click_head(L1H2)
        self.browser.click("#head-panel .tiles button:first-child")
        self.browser.hover("#head-panel h2")
        self.assertEqual(len(self.lines()), 5 + 2 + 2 * 3)
        colours = self.browser.evaluate("""new Set(Array.from(
            document.querySelectorAll("#head-panel .lines path"), (path) => path.getAttribute("stroke"))).size""")
        self.assertEqual(colours, 2)

    def test_rollout_and_tokens_switched_off(self):
        self.click_head(L1H2)
        self.choose("#pattern-kind", "rollout")
        self.browser.hover("#pattern-query-2")
        self.assertEqual(self.readout(), "“cat” (2) attends to “<|endoftext|>” (0) 50 %, “cat” (2) 50 %.")
        self.choose("#pattern-kind", "attention")
        self.click_head(L0H0)
        self.browser.click("#pattern-first")
        self.assertEqual(self.texts("#pattern-query-tokens span")[0], "The")
        self.browser.hover("#pattern-query-2")
        self.assertEqual(self.readout(), "“cat” (2) attends to “The” (1) 64 %.")
        self.assertIn("0.64", self.text("#head-panel .scale"), "the scale ends at the largest shown")

    def test_the_matrix_reads_out_the_cell(self):
        self.click_head(L0H0)
        self.browser.middle_of("#head-panel .cells")
        left, top, size = self.browser.evaluate("""(() => {
            const box = document.querySelector("#head-panel .cells").getBoundingClientRect();
            return [box.left, box.top, box.width];
        })()""")
        self.browser.mouse("mouseMoved", left + 1.5 * size / 5, top + 2.5 * size / 5)
        self.assertEqual(self.readout(), "“cat” (2) → “The” (1): 64 %")
        drawn = self.browser.evaluate("""(() => {
            const canvas = document.querySelector("#head-panel .cells");
            const { width } = canvas, cell = width / 5;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, width);
            const at = (key, query) => {
                const pixel = Math.floor((query + 0.5) * cell) * width + Math.floor((key + 0.5) * cell);
                return Array.from(data.slice(4 * pixel, 4 * pixel + 4));
            };
            return [at(3, 4), at(2, 4), at(4, 3)];
        })()""")
        self.assertGreater(sum(drawn[0][:3]), sum(drawn[1][:3]), "more attention is lighter")
        self.assertEqual(drawn[2][3], 0, "later keys are empty")

    def test_the_matrix_zooms(self):
        self.click_head(L0H0)
        width = "document.querySelector('#head-panel .cells').clientWidth"
        before = self.browser.evaluate(width)
        self.assertEqual(before, 5 * 26, "as large as there is room for")
        self.browser.click("#head-panel .matrix [aria-label='Zoom out']")
        self.assertLess(self.browser.evaluate(width), before)
        self.browser.click("#head-panel .matrix .tools button:last-child")
        self.assertEqual(self.browser.evaluate(width), before)

    def test_hostile_tokens_are_only_text(self):
        self.click_head(L0H0)
        self.assertEqual(self.texts("#pattern-query-tokens span")[3:], ["</script>", HOSTILE])

    def test_says_how_many_of_the_tokens_are_shown(self):
        def shown(count, kept, of):
            return self.browser.evaluate(f"shownTokens({{ tokens: Array({count}), kept: {kept}, of: {of} }})")

        self.assertEqual(shown(5, 5, 5), "")
        self.assertEqual(shown(124, 128, 128), "The first 124 of 128 tokens.")
        self.assertEqual(shown(128, 128, 189), "The first 128 of 189 tokens.")
        self.assertEqual(shown(124, 128, 189), "The first 124 of 189 tokens; the results file has the first 128.")


class ModelView(InABrowser):
    def setUp(self):
        super().setUp()
        self.browser.click("#model-view-button")

    def test_pictures_open_their_heads(self):
        self.assertEqual(len(self.texts("#model-view td button")), 6)
        self.browser.click(f'#model-view [data-head-index="{L1H1}"]')
        self.assertEqual(self.shown_head(), "Head L1H1")

    def test_pictures_show_the_patterns(self):
        self.browser.middle_of(f'#model-view [data-head-index="{L1H2}"]')
        brightness = """(headIndex) => {
            const canvas = document.querySelector(`#model-view [data-head-index="${headIndex}"] canvas`);
            const { data } = canvas.getContext("2d").getImageData(0, 0, 5, 5);
            return [[2, 2], [1, 2], [3, 2]].map(([key, query]) => data[4 * (5 * query + key)] + data[4 * (5 * query + key) + 3]);
        }"""
        # A canvas has its default width until it is drawn.
        self.wait_for(f"""[{L1H2}, {L0H0}].every((headIndex) => (
            document.querySelector(`#model-view [data-head-index="${{headIndex}}"] canvas`).width < 300))""")
        own, previous, later = self.browser.evaluate(f"({brightness})({L1H2})")
        self.assertGreater(own, previous)
        self.assertEqual(later, 0)
        own, previous, later = self.browser.evaluate(f"({brightness})({L0H0})")
        self.assertLess(own, previous)


class Figures(InABrowser):
    def setUp(self):
        super().setUp()
        self.unfold_figures()

    def pointed(self, name, panel, across, down):
        self.browser.mouse("mouseMoved", *self.point_in_figure(name, panel, across, down))
        return self.texts("#tooltip:not([hidden]) div")

    def test_cells_tell_their_values_and_open_heads(self):
        self.assertEqual(self.pointed("head_costs", 1, 2.5 / 3, 0.25), ["second: L0H2", "2"])
        x, y = self.point_in_figure("head_costs", 1, 2.5 / 3, 0.25)
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.mouse(kind, x, y, button="left", clickCount=1)
        self.assertEqual(self.shown_head(), "Head L0H2")

    def test_points_and_lines_tell_their_values(self):
        for path, name in ((REPORT, "points"), (EVERY_FIGURE, "lines")):
            self.browser.open(path)
            self.unfold_figures()
            series, x, y = self.browser.evaluate(f"""(({{ x, y, chart }}) => {{
                const series = chart.panels[0].series[0];
                return [series, axisShare(x[0], series.x[1]), 1 - axisShare(y[0], series.y[1])];
            }})(figureData.figures["{name}"])""")
            self.assertEqual(series["style"], name.replace("lines", "line"))
            lines = self.pointed(name, 0, x, y)
            self.assertTrue(any(str(series["y"][1]).replace("-", "−") in line for line in lines), (name, lines))

    def test_saves_pictures_and_data(self):
        self.browser.evaluate("""(() => {
            window.saved = {};
            window.download = (name, content) => { saved[name] = content; };
        })()""")
        for kind in ("SVG", "PNG", "CSV"):
            self.browser.evaluate(f"""Array.from(document.querySelectorAll("#figure-head_costs .tools button"))
                .find((each) => each.textContent === "{kind}").click()""")
        svg = self.browser.evaluate("saved['head_costs.svg']")
        self.assertNotIn("var(", svg)
        self.assertIn("rgb(102,102,102)", svg)
        rows = self.browser.evaluate("saved['head_costs.csv']").splitlines()
        self.assertEqual(rows[:2] + rows[-1:], ["panel,layer,head,value", "first,0,0,0", "second,1,2,5"])
        self.assertTrue(self.browser.evaluate("""new Promise((done) => {
            const look = () => saved["head_costs.png"] ? done(saved["head_costs.png"].size > 1000) : setTimeout(look, 20);
            look();
        })"""))

    def test_are_made_for_print(self):
        """One or two columns wide, text of at least 7 points that stays on the page, and no title: the caption has it."""
        for path in (EVERY_FIGURE, report_of(12, 12), report_of(24, 16)):
            self.browser.open(path)
            figures = self.browser.evaluate("""Array.from(document.querySelectorAll("figure"), (figure) => {
                const svg = figure.querySelector(".card svg"), { width, height } = svg.viewBox.baseVal;
                const page = svg.getBoundingClientRect(), scale = page.width / width;
                const texts = Array.from(svg.querySelectorAll("text")).filter((text) => text.textContent.trim() !== "");
                const outside = texts.filter((text) => {
                    const box = text.getBoundingClientRect();
                    return box.left < page.left || box.right > page.right || box.top < page.top || box.bottom > page.bottom;
                }).map((text) => text.textContent);
                const upright = texts.filter((text) => text.getScreenCTM().b === 0).map((text) => [text.textContent, text.getBoundingClientRect()]);
                const overlapping = upright.flatMap(([name, box], i) => upright.slice(0, i).filter(([, other]) => (
                    Math.min(box.right, other.right) - Math.max(box.left, other.left) > 3 * scale
                    && Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 6 * scale)).map(([other]) => [name, other]));
                return { name: figure.dataset.figure, width, height, outside, overlapping, title: svg.getAttribute("aria-label"),
                    caption: figure.querySelector("figcaption").textContent, texts: texts.map((text) => text.textContent),
                    smallest: Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize))) };
            })""")
            self.assertGreater(len(figures), 0)
            for figure in figures:
                with self.subTest(figure["name"], report=path):
                    self.assertIn(figure["width"], (312, 648))
                    self.assertLessEqual(figure["height"], 9 * 96)
                    self.assertGreaterEqual(figure["smallest"], 7 / 72 * 96)
                    self.assertEqual(figure["outside"], [])
                    self.assertEqual(figure["overlapping"], [])
                    self.assertNotIn(figure["title"], figure["texts"])
                    self.assertIn(figure["title"], figure["caption"].replace("\u00a0", " "))

    def test_a_citation_names_figure_version_and_model(self):
        self.assertRegex(self.browser.evaluate("citation(figureData.figures.head_costs)"),
                         r"^head_costs\. Headscope \d+\.\d+\.\d+, tiny <b>\.h5, 2024-02-29\.$")

    def test_dark_pages_have_dark_figures(self):
        colours = {}
        for dark in (False, True):
            self.browser.view(1200, 900, dark)
            colours[dark] = self.browser.evaluate("""(() => {
                const svg = document.querySelector("#figure-head_costs svg");
                const grey = (node, name) => getComputedStyle(node)[name].match(/[\\d.]+/g).slice(0, 3)
                    .map(Number).reduce((a, b) => a + b);
                return [grey(svg.querySelector("rect"), "fill"), grey(svg.querySelector("text"), "fill")];
            })()""")
        self.assertGreater(colours[False][0], colours[False][1], "dark ink on light paper")
        self.assertLess(colours[True][0], colours[True][1], "light ink on dark paper")


class Graphs(InABrowser):
    CIRCUIT = "#figure-graph"

    def setUp(self):
        super().setUp()
        self.unfold_figures()

    def circle(self, node):
        return f'{self.CIRCUIT} .overlay .node[aria-label^="{node},"]'

    def shown(self):
        """Names of the ends of the edges shown, and their widths."""
        return (self.texts(f"{self.CIRCUIT} .shown text"), self.browser.evaluate(
            f"""Array.from(document.querySelectorAll("{self.CIRCUIT} .shown path"), (edge) => Number(edge.getAttribute("stroke-width")))"""))

    def test_a_node_shows_what_it_reads_and_what_reads_it(self):
        self.browser.hover(self.circle("L1H2"))
        self.assertEqual(self.texts("#tooltip:not([hidden]) div"), [
            "L1H2, copy suppression head", "reads L0H1 by keys −2, embed by values −1.2, L0H2 by queries 0.3",
            "is read by logits −3", "nats per pair"])
        names, widths = self.shown()
        self.assertCountEqual(names, ["embed", "L0H1", "L0H2", "L1H2", "logits"])
        self.assertEqual(widths, [4.3, 3, 1.5, 6], "an edge is as wide as its value")
        self.browser.hover("h1")
        self.assertEqual(self.shown(), ([], []))
        self.assertEqual(self.texts("#tooltip:not([hidden]) div"), [])

    def test_nodes_and_edges_lie_where_the_picture_has_them(self):
        """The picture's circles are under the overlay's, and its curves under the overlay's."""
        found = self.browser.evaluate(f"""(() => {{
            const figure = document.querySelector("{self.CIRCUIT}");
            const middle = (node) => {{
                const {{ left, top, width, height }} = node.getBoundingClientRect();
                return [left + width / 2, top + height / 2];
            }};
            const marks = Array.from(figure.querySelectorAll(".graph > svg:first-child text"));
            return Array.from(figure.querySelectorAll(".overlay .node"), (node) => {{
                const [x, y] = middle(node);
                const away = marks.map((mark) => {{ const [a, b] = middle(mark); return [Math.hypot(a - x, b - y), mark.textContent.trim()]; }});
                return away.sort((a, b) => a[0] - b[0])[0];
            }});
        }})()""")
        self.assertEqual([mark for _, mark in found], ["E", "1", "2", "M", "2", "U"])
        self.assertLess(max(away for away, _ in found), 4)  # pixels that the middle of a letter's box is off the letter's

    def test_an_edge_tells_its_ends_and_its_value(self):
        self.browser.hover(self.circle("embed"))  # scrolls there
        x, y = self.browser.evaluate(f"""(() => {{
            const edge = document.querySelectorAll("{self.CIRCUIT} .overlay .edge")[2];
            const {{ x, y }} = edge.getPointAtLength(0.35 * edge.getTotalLength()).matrixTransform(edge.getScreenCTM());
            return [x, y];
        }})()""")
        self.browser.mouse("mouseMoved", x, y)
        self.assertEqual(self.texts("#tooltip:not([hidden]) div"), ["embed → L1H2 by values", "−1.2 nats per pair"])
        self.assertCountEqual(self.shown()[0], ["embed", "L1H2"])

    def test_a_head_opens_by_pointer_and_by_keyboard(self):
        self.browser.click(self.circle("L0H1"))
        self.assertEqual(self.shown_head(), "Head L0H1")
        self.browser.press("Escape")
        self.browser.evaluate(f"""document.querySelector('{self.CIRCUIT} .overlay .node[tabindex="0"]').focus()""")
        self.press("ArrowDown", "ArrowRight")
        self.assertIn("L1H2", self.shown()[0])
        self.press("Enter")
        self.assertEqual(self.shown_head(), "Head L1H2")

    def test_the_keyboard_steps_through_the_nodes_that_are_shown_from_the_top(self):
        bands = "#figure-graph_bands"

        def at():
            """Nodes that Tab leads to, and the node that has the focus."""
            name = "(node) => node.ariaLabel?.split(',')[0]"
            return self.browser.evaluate(
                f"""[Array.from(document.querySelectorAll('{bands} .overlay [tabindex="0"]'), {name}), ({name})(document.activeElement)]""")

        def switch():
            self.browser.click(f"{bands} button[aria-pressed]")
            self.browser.evaluate(f"""document.querySelector('{bands} .overlay [tabindex="0"]').focus()""")

        self.browser.evaluate(f"""document.querySelector('{bands} .overlay [tabindex="0"]').focus()""")
        self.assertEqual(at(), [["L1H2"], "L1H2"])
        for keys, node in ((("ArrowDown",), "L0H0"), (4 * ("ArrowDown",), "L0H1"), (("ArrowLeft",), "L0H0"),
                           (("End",), "L0H1"), (("Home",), "L1H2"), (("ArrowUp",), "L1H2")):
            self.press(*keys)
            self.assertEqual(at(), [[node], node], keys)
        switch()
        self.assertEqual(at(), [["logits"], "logits"])
        self.press("End")
        self.assertEqual(at(), [["embed"], "embed"])
        switch()
        self.assertEqual(at(), [["L1H2"], "L1H2"])

    def test_a_switch_shows_embeddings_mlps_and_logits(self):
        """Widths go by the largest edge between heads, to which others are capped; the picture has none of the others."""
        bands = "#figure-graph_bands"

        def seen(kind):
            return self.browser.evaluate(
                f"""Array.from(document.querySelectorAll("{bands} .overlay .{kind}"), (each) => each.style.display !== "none")""")

        def others():
            return self.browser.evaluate(f"""Array.from(document.querySelectorAll("{bands} .others path"),
                                         (edge) => Number(edge.getAttribute("stroke-width")))""")

        picture = self.texts(f"{bands} .graph > svg:first-child text")
        self.assertNotIn("embeddings, MLPs, logits", " ".join(picture))
        self.assertIn("widest: 2 nats per pair", picture)
        self.assertFalse({"−0.5", "0.5", "1.5"} & {text.strip() for text in picture}, "places in a band have no numbers")
        self.assertEqual(seen("node"), [True, True, True, False, False])
        self.assertEqual(seen("edge"), [True, True, False, False])
        self.assertEqual(others(), [])
        node = f'{bands} .overlay .node[aria-label^="L0H0,"]'
        self.browser.hover(node)
        self.assertEqual(self.texts("#tooltip:not([hidden]) div"), ["L0H0, other head", "is read by L1H2 by keys −2", "nats per pair"])
        self.browser.click(f"{bands} button[aria-pressed]")
        self.assertEqual(seen("node") + seen("edge"), 9 * [True])
        self.assertEqual(others(), [6, 3.5], "−30 nats are as wide as the widest between heads, −1 by its size")
        self.browser.hover(node)
        self.assertEqual(self.texts("#tooltip:not([hidden]) div"), [
            "L0H0, other head", "reads embed by keys −30", "is read by L1H2 by keys −2", "nats per pair"])
        self.browser.click(f"{bands} button[aria-pressed]")
        self.assertEqual(others(), [])
        self.assertEqual(seen("node"), [True, True, True, False, False])

    def test_saves_its_edges(self):
        rows = self.browser.evaluate("graphCsv(figureData.figures.graph.graph)").splitlines()
        self.assertEqual(rows[:2], ["from,to,kind,nats per pair", "L1H2,logits,read by the logits,-3"])
        self.assertEqual(len(rows), 7)


class Keyboard(InABrowser):
    def test_alone_finds_a_head_and_reads_its_pattern(self):
        self.tab_to("#head-map td button")
        self.press("ArrowDown", "ArrowRight", "ArrowDown")
        self.press("Enter")
        self.assertEqual(self.shown_head(), "Head L1H1")
        self.assertEqual(self.focused(), "Head L1H1")
        self.tab_to(".tokens")
        self.press("ArrowDown", "ArrowDown", "ArrowDown")
        self.assertIn("“cat” (2) attends to “The” (1)", self.text("#head-panel .readout"))
        self.assertEqual(self.browser.evaluate(
            "document.querySelector('.tokens').getAttribute('aria-activedescendant')"), "pattern-query-2")
        self.press("Escape")
        self.assertEqual(self.shown_head(), "Head L1H1", "the first Escape lets go of the token")
        self.press("Escape")
        self.assertIsNone(self.shown_head())
        self.assertEqual(self.browser.evaluate("document.activeElement.dataset.headIndex"), str(L1H1))

    def test_the_map_is_one_stop(self):
        self.tab_to("#head-map td button")
        self.press("End", "Tab")
        self.assertFalse(self.browser.evaluate("document.activeElement.matches('#head-map td button')"))


class Tables(InABrowser):
    def test_sort_by_value_and_by_word(self):
        table = "#variable-pruning\\.loss_increase"
        self.unfold("pruning.loss_increase")

        def sort(column):
            self.browser.click(f"{table} thead th:nth-child({column}) button")
            order = self.browser.evaluate(
                f"document.querySelector({json.dumps(f'{table} thead th:nth-child({column})')}).ariaSort")
            return order, self.texts(f"{table} tbody td:nth-child({column})")

        order, values = sort(4)
        self.assertEqual((order, values[0], values[-1]), ("descending", "2.5", "–"))
        order, values = sort(4)
        self.assertEqual(order, "ascending")
        numbers = [float(value.replace("−", "-")) for value in values[:-1]]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(values[-1], "–")
        self.assertEqual(sort(1), ("ascending", ["mean"] * 6 + ["zero"] * 6))

    def test_missing_numbers_stay_last_either_way(self):
        orders = self.browser.evaluate("""(() => {
            const head = element("button", {}, "value");
            const rows = ["–", "3", "–", "1", "−2", "1e−7", "–", "0", "10"].map(
                (text) => element("tr", {}, element("td", {}, text)));
            const table = element("table", {},
                element("thead", {}, element("tr", {}, element("th", { class: "number" }, head))),
                element("tbody", {}, ...rows));
            makeSortable(table);
            return [0, 1].map(() => {
                head.click();
                return Array.from(table.tBodies[0].rows, (row) => row.textContent).join(" ");
            });
        })()""")
        self.assertEqual(orders, ["10 3 1 1e−7 0 −2 – – –", "−2 0 1e−7 1 3 10 – – –"])

    def test_the_table_of_heads_filters_and_saves(self):
        self.browser.click("#all-heads summary")
        self.browser.middle_of("#all-heads tbody tr")
        self.type_into("#all-heads input", "induction")
        self.assertEqual(self.browser.evaluate(
            "Array.from(document.querySelectorAll('#all-heads tbody tr:not([hidden]) th'), (cell) => cell.textContent)"),
            ["L1H2"])
        csv = self.browser.evaluate("tableCsv(document.querySelector('#all-heads table'))").splitlines()
        self.assertTrue(csv[0].startswith("head,types,"))
        self.assertTrue(csv[1].startswith('L1H2,"positional, induction",'))
        self.assertEqual(len(csv), 2)

    def test_the_table_of_heads_has_no_values_of_removed_heads(self):
        self.browser.evaluate(f"headData.removed[{L1H2}] = true")
        row = self.browser.evaluate(f"Array.from(headTable().tBodies[0].rows[{L1H2}].cells, (cell) => cell.textContent)")
        self.assertEqual(row[:2], ["L1H2", "removed"])
        self.assertEqual(set(row[2:]), {"–"})

    def test_the_heads_stay_in_sight_of_a_wide_table(self):
        self.browser.view(400, 900)
        self.browser.click("#all-heads summary")
        self.browser.middle_of("#all-heads tbody tr")
        moved = self.browser.evaluate("""(() => {
            const cell = document.querySelector("#all-heads tbody th");
            const before = cell.getBoundingClientRect().left;
            document.querySelector("#all-heads .wide").scrollLeft = 200;
            return [document.querySelector("#all-heads .wide").scrollLeft, cell.getBoundingClientRect().left - before];
        })()""")
        self.assertGreater(moved[0], 0)
        self.assertEqual(moved[1], 0)


class Contents(InABrowser):
    def marked(self):
        return self.texts("#contents a[aria-current]")

    def test_stay_in_view(self):
        self.browser.middle_of("#provenance h2")
        self.assertEqual(self.place("#contents")[1], 0)

    def test_show_all_sections_and_mark_the_present_one(self):
        self.assertEqual(self.marked(), ["Summary"])
        hidden = self.browser.evaluate("""Array.from(document.querySelectorAll("#contents a"), (link) => {
            const box = link.getBoundingClientRect();
            return document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2) === link ? null : link.textContent;
        }).filter(Boolean)""")
        self.assertEqual(hidden, [])
        self.browser.evaluate("document.getElementById('claims').scrollIntoView()")
        self.wait_for("document.querySelector('#contents [aria-current]')?.textContent === 'Claims'")
        self.assertEqual(self.marked(), ["Claims"])

    def test_numbers_are_folded_until_a_link_leads_to_one(self):
        self.assertEqual(self.texts(".numbers[open]"), [])
        self.click_head(L1H2)
        self.browser.click("#head-panel section tbody a")
        self.assertTrue(self.browser.evaluate("document.getElementById('variable-pruning.loss_increase').checkVisibility()"))

    def test_words_of_the_field_are_explained_where_they_first_stand(self):
        self.assertGreaterEqual(len(self.texts("#glossary dt")), 12)
        links = self.browser.evaluate("""Array.from(document.querySelectorAll("a.term"), (link) => link.hash)""")
        self.assertGreater(len(links), 1)
        self.assertEqual(len(links), len(set(links)))


class Reading(InABrowser):
    def test_on_a_wide_screen_one_head_or_two_stand_beside_the_text(self):
        for width in (1920, 1720):
            self.browser.view(width, 1000)
            for heads in ([L1H2], [L1H2, L0H0]):
                self.browser.evaluate(f"headPanel.besideMap = false; headPanel.open({heads})")
                right, left, text = self.browser.evaluate("""[document.getElementById("main").getBoundingClientRect().right,
                    document.getElementById("head-panel").getBoundingClientRect().left,
                    document.getElementById("main").getBoundingClientRect().width]""")
                self.assertLessEqual(right, left, (width, heads))
                self.assertGreater(text, 600, (width, heads))

    def test_a_type_is_said_in_plain_words(self):
        self.click_head(L1H2)
        self.assertIn("On repeated text it attends to what followed the last time.", self.text("#head-panel .reason"))

    def test_examples_have_arrows_and_a_legend(self):
        head_index = self.browser.evaluate("headData.examples.findIndex((list) => list.length > 0)")
        self.click_head(head_index)
        self.assertIn("should be attended to", self.text("#head-panel .example-legend"))
        self.wait_for("document.querySelector('#head-panel .head-of-arrow')")

    def test_the_chosen_head_lies_in_front(self):
        self.click_head(L1H2)
        self.browser.click("#head-panel .tiles button:first-child")
        self.browser.hover("#head-panel h2")
        last, chosen = self.browser.evaluate("""[Array.from(document.querySelectorAll("#head-panel .lines path")).pop().getAttribute("stroke"),
            lineColours[2]]""")
        self.assertEqual(last, chosen)

    def test_subwords_are_joined_visibly(self):
        labels, tokens = self.browser.evaluate("[headData.documents[0].labels, headData.documents[0].tokens]")
        self.assertEqual(labels[:3], ["<|endoftext|>", "The", "cat"])
        self.assertEqual(len(labels), len(tokens))

    def test_documents_are_named_by_their_first_words(self):
        self.click_head(L0H0)
        self.assertRegex(self.browser.evaluate("headData.documents[0].title"), "^“The cat")

    def test_small_scores_are_not_shown_as_zero(self):
        shown = self.browser.evaluate("""(() => {
            const cell = element("button");
            const score = { name: "x", label: "", values: [0.0004, 0.0002] };
            return [0, 1].map((headIndex) => { paintScore(cell, headIndex, score, scoreScale(score)); return cell.textContent; });
        })()""")
        self.assertEqual(shown, ["4.0", "2.0"])
        self.assertEqual(self.browser.evaluate("[0, 0.0001, -0.0001].map(shortNumber)"), ["0", "~0", "~0"])

    def test_a_phone_shows_two_heads_one_below_the_other_and_verdicts_whole(self):
        self.browser.view(400, 900)
        self.browser.evaluate(f"headPanel.open([{L1H2}, {L0H0}])")
        left, right = self.place(".head-column"), self.place(".head-column + .head-column")
        self.assertEqual(left[0], right[0])
        self.assertLess(left[1], right[1])
        self.browser.evaluate("headPanel.close()")
        beyond = self.browser.evaluate("""Array.from(document.querySelectorAll(".claims .badge"), (badge) => badge.getBoundingClientRect())
            .filter(({ left, right }) => left < 0 || right > 400).length""")
        self.assertEqual(beyond, 0)

    def test_parts_of_two_heads_stand_at_the_same_height(self):
        self.browser.evaluate(f"headPanel.open([{L1H2}, {L0H0}])")
        tops = self.browser.evaluate("""Array.from(document.querySelectorAll(".head-column"), (column) => (
            Array.from(column.children, (part) => part.getBoundingClientRect().top)))""")
        self.assertEqual(tops[0], tops[1])

    def test_prints_in_few_pages_with_its_head_map(self):
        for path in (EVERY_FIGURE, report_of(12, 12)):
            self.browser.open(path)
            pdf = base64.b64decode(self.browser.command("Page.printToPDF", preferCSSPageSize=True)["data"])
            self.assertLess(len(re.findall(rb"/Type\s*/Page\b", pdf)), 15, path)
        self.browser.view(703, 1000)
        self.browser.open(EVERY_FIGURE)
        self.browser.command("Emulation.setEmulatedMedia", media="print")
        self.assertTrue(self.browser.evaluate("document.querySelector('#head-map td button').checkVisibility()"))
        # Chromium shrinks the pages where something is wider than they are.
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 703, "A4")
        tops = self.browser.evaluate("""Array.from(document.querySelectorAll('figure:has(svg[viewBox^="0 0 648"])'), (figure) => (
            Math.round(figure.getBoundingClientRect().top)))""")
        self.assertLess(len(set(tops)), len(tops), "figures of two columns stand beside each other")
        self.browser.command("Emulation.setEmulatedMedia", media="")

    def test_a_dark_page_prints_in_the_colours_of_a_light_one(self):
        def colours(dark):
            self.browser.view(1200, 900, dark)
            self.browser.command("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
            return self.browser.evaluate("""Array.from(document.querySelectorAll("body, a, .badge, .card, #head-map td button"), (node) => {
                const { color, backgroundColor } = getComputedStyle(node);
                return [color, backgroundColor];
            })""")

        self.assertEqual(colours(dark=True), colours(dark=False))
        self.browser.command("Emulation.setEmulatedMedia", media="")

    def test_prints_captions_and_evidence_without_controls_and_folds_them_again(self):
        def seen(what):
            return self.browser.evaluate(f"Array.from(document.querySelectorAll({json.dumps(what)}), (node) => node.checkVisibility())")

        folded = ".claim p, figcaption code, #glossary dl, #provenance table"
        self.assertEqual(set(seen(folded)), {False})
        self.browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.browser.command("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(set(seen(folded)), {True})
        self.assertEqual(set(seen(".numbers, #head-map select, #head-map caption, button[aria-pressed]:has(+ .graph)")), {False})
        self.browser.command("Emulation.setEmulatedMedia", media="")
        self.browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(set(seen(folded)), {False})


class LargeModels(InABrowser):
    PAGE = None
    SHAPES = ((12, 12), (24, 16), *([(30, 9)] if THOROUGH else []))

    def test_show_every_head_and_stay_small(self):
        for layers, heads in self.SHAPES:
            path = report_of(layers, heads)
            self.assertLess(os.path.getsize(path), 10_000_000)
            self.browser.open(path)
            count = layers * heads
            for width in (1280, 800):
                self.browser.view(width, 900, dark=width == 800)
                for place in ("#head-map", "#model-view"):
                    self.assertEqual(len(self.texts(f"{place} td button")), count)
                self.click_head(count - 1)
                self.assertEqual(self.shown_head(), f"Head L{layers - 1}H{heads - 1}")
                for box in ("document.documentElement", "document.getElementById('head-panel')"):
                    self.assertLessEqual(
                        self.browser.evaluate(f"{box}.scrollWidth - {box}.clientWidth"), 0, (width, box))
                self.assertGreater(self.browser.evaluate(
                    "document.querySelectorAll('#head-panel .lines path').length"), 0)
                self.browser.evaluate("headPanel.close()")
            self.browser.view(390, 844)
            self.assertLessEqual(self.browser.evaluate(
                "document.querySelector('#head-map tr:last-child td:last-child button').getBoundingClientRect().right"), 390)
            self.assertEqual(self.browser.evaluate(
                "[document.querySelector('#figure-units svg').getBoundingClientRect().width, document.documentElement.scrollWidth]"), [648, 390],
                "a wide figure scrolls in its card")
            self.browser.view(1280, 900)
            self.browser.mouse("mouseMoved", *self.point_in_figure(
                "units", 0, (heads + 0.5) / count, (count - 0.5) / count))
            self.assertEqual(self.texts("#tooltip div")[0], f"L{layers - 1}H{heads - 1}, L1H0")

    def test_show_the_patterns_of_a_layer_beside_each_other(self):
        for layers, heads in self.SHAPES:
            self.browser.open(report_of(layers, heads))
            self.browser.evaluate('tabs.choose("patterns")')
            for width in (1920, 1440) if heads > 12 else (1920, 1440, 390):
                self.browser.view(width, 900)
                self.assertEqual(self.browser.evaluate("""(() => {
                    const box = document.querySelector("#model-view .wide");
                    return box.scrollWidth - box.clientWidth;
                })()"""), 0, (heads, width))

    def test_zoom_maps_of_all_pairs_of_heads(self):
        for layers, heads in self.SHAPES if THOROUGH else self.SHAPES[:1]:
            self.browser.view(1280, 900)
            self.browser.open(report_of(layers, heads))
            measure = """(() => {
                const card = document.querySelector("#figure-units .card"), picture = card.querySelector("svg").getBoundingClientRect();
                return [picture.width, card.offsetWidth, card.offsetHeight];
            })()"""
            width, *card = self.browser.evaluate(measure)
            while True:
                self.browser.click('#figure-units button[aria-label="Zoom in"]')
                zoomed, *frame = self.browser.evaluate(measure)
                self.assertEqual(frame, card, "the card keeps its size")
                if zoomed == width:
                    break
                self.assertAlmostEqual(zoomed, 2 * width, delta=1)
                width = zoomed
            cell = self.browser.evaluate("""(({ heatmap, areas }, svg) => (
                areas[0][2] / heatmap.columns * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width
            ))(figureData.figures.units, document.querySelector("#figure-units svg"))""")
            self.assertGreaterEqual(cell, 16)
            self.browser.evaluate("""(() => {
                const card = document.querySelector("#figure-units .card");
                const [left, top, width, height] = figureData.figures.units.areas[0];
                const svg = card.querySelector("svg"), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                card.scrollTo(scale * left - 20, scale * (top + height) - 200);
            })()""")
            count = layers * heads
            self.browser.mouse("mouseMoved", *self.browser.evaluate(f"""(({{ areas }}, svg) => {{
                const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width, [left, top, width, height] = areas[0];
                return [box.left + scale * (left + width * 1.5 / {count}), box.top + scale * (top + height * (1 - 0.5 / {count}))];
            }})(figureData.figures.units, document.querySelector("#figure-units svg"))"""))
            self.assertEqual(self.texts("#tooltip:not([hidden]) div")[0], f"L{layers - 1}H{heads - 1}, L0H1")
            self.assertEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 1280)
            self.browser.click("#figure-units .tools button:nth-child(3)")
            self.assertLess(self.browser.evaluate(measure)[0], 1280)


class Attention(InABrowser):
    PAGE = ATTENTION

    def opened(self):
        layer, head = divmod(*self.browser.evaluate("[headData.opened, headData.heads]"))
        return f"Head L{layer}H{head}"

    def test_a_head_is_open_beside_the_sentence(self):
        self.assertEqual(self.text("h1"), "“The cat sat on the mat. The cat sat”")
        self.assertEqual(self.shown_head(), self.opened())
        weights = self.browser.evaluate("headData.scores.find((score) => score.name === 'last_token_weight').values")
        self.assertEqual(self.browser.evaluate("headData.opened"), weights.index(max(weights)))
        self.assertEqual(self.texts("#pattern-query-tokens span")[:4], ["<|endoftext|>", "The", "cat", "sat"])
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('#head-panel .lines path').length"), 0)

    def test_the_panel_covers_nothing(self):
        for width in (1280, 1001):
            self.browser.view(width, 900)
            right, left = self.browser.evaluate("""[document.getElementById("main").getBoundingClientRect().right,
                document.getElementById("head-panel").getBoundingClientRect().left]""")
            self.assertLessEqual(right, left, width)

    def test_reads_out_a_cell(self):
        self.browser.middle_of("#head-panel .cells")
        left, top, size, count = self.browser.evaluate("""(() => {
            const box = document.querySelector("#head-panel .cells").getBoundingClientRect();
            return [box.left, box.top, box.width, patternChoice.data().tokens.length];
        })()""")
        self.browser.mouse("mouseMoved", left + 2.5 * size / count, top + 3.5 * size / count)
        weight = self.browser.evaluate("patternChoice.pattern(headData.opened).weight(3, 2)")
        self.assertEqual(self.text("#head-panel .readout"),
                         f"“sat” (3) → “cat” (2): " + self.browser.evaluate(f"percentText({weight})"))

    def test_says_what_comes_next(self):
        self.assertEqual(self.texts("#next-tokens .text-tokens button")[-1], "sat")
        shares = self.browser.evaluate("""Array.from({ length: 5 }, (_, i) => (
            headData.predictions.probability[nextTokens.index(i)]))""")
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertLessEqual(sum(shares), 1)
        tokens = self.texts("#next-tokens .candidate-token")
        self.assertEqual(len(tokens), 5)
        self.browser.click("#next-tokens .text-tokens button:nth-child(2)")
        self.assertNotEqual(self.texts("#next-tokens .candidate-token"), tokens)
        self.assertIn("follows", "".join(self.texts("#next-tokens .candidate")))

    def test_says_which_heads_raise_and_lower_a_candidate(self):
        raised, lowered = self.texts("#next-tokens .pushing h4")
        self.assertRegex(raised + lowered, "^Raise “.+”Lower “.+”$")
        values = self.texts("#next-tokens .pushing > div:first-child .number")
        self.assertTrue(values and all(value.startswith("+") for value in values), values)
        first = self.browser.evaluate("Number(document.querySelector('#next-tokens .pushing [data-head-index]').dataset.headIndex)")
        effects = self.browser.evaluate("nextTokens.effects.slice(nextTokens.index(0) * headCount, (nextTokens.index(0) + 1) * headCount)")
        self.assertEqual(first, max(range(len(effects)), key=effects.__getitem__))
        before = self.texts("#next-tokens .pushing h4")
        self.browser.click("#next-tokens .candidate:nth-of-type(3)")
        self.assertNotEqual(self.texts("#next-tokens .pushing h4"), before)

    def test_no_token_is_an_empty_matrix(self):
        self.assertEqual(self.browser.evaluate("""(() => {
            const matrix = new PatternMatrix(() => {}, () => {});
            matrix.draw(patternChoice.pattern(0), [], 1, "probability");
            return matrix.node.querySelector(".cells").width;
        })()"""), 0)

    def test_shows_more_products_than_a_call_takes_arguments(self):
        count = self.browser.evaluate("""(() => {
            const { neurons } = headData, count = neurons.tokens * 13000;
            neurons.size = 13000;
            NeuronView.unpacked = { query: Array(count).fill(0.001), key: Array(count).fill(0.001) };
            return count;
        })()""")
        self.assertGreater(count, 125000)
        self.click_head(L0H0)
        self.browser.click("#head-panel .neuron-view summary")
        self.assertEqual(self.texts("#head-panel .neuron-table tbody .number")[0], "0.013")

    def test_queries_times_keys_make_the_attention(self):
        self.browser.click("#head-panel .neuron-view summary")
        rows = self.browser.evaluate("""Array.from(document.querySelectorAll("#head-panel .neuron-table tbody tr"),
            (row) => [row.cells[3].textContent, row.cells[4].textContent])""")
        count = self.browser.evaluate("headData.documents[0].tokens.length")
        self.assertEqual(len(rows), count)
        for key, (_, share) in enumerate(rows):
            weight = self.browser.evaluate(f"patternChoice.pattern(headData.opened).weight({count - 1}, {key})")
            # A pattern is kept in steps of 1/255 of a square root, a share is shown as whole per cent.
            self.assertAlmostEqual(float(re.sub("[^0-9.]", "", share)) / 100, weight, delta=0.015)
        self.choose("#pattern-neuron-query", "cat (2)")
        self.assertEqual(len(self.texts("#head-panel .neuron-table tbody tr")), 3)

    def test_other_heads_open_and_back_returns_to_the_first(self):
        head_index = 0 if self.opened() != "Head L0H0" else 1
        self.click_head(head_index)
        self.assertEqual(self.shown_head(), f"Head L0H{head_index}")
        opened = self.opened()
        self.browser.evaluate("history.back()")
        self.wait_for(f"document.querySelector('#head-panel h2').textContent === {json.dumps(opened)}")
        self.assertEqual(self.shown_head(), opened)

    def test_the_map_is_coloured_by_the_scores_of_the_sentence(self):
        options = self.texts("#head-map-score optgroup:first-child option")
        self.assertEqual(options[:2], ["previous token", "current token"])
        self.assertRegex("".join(self.texts("#head-map td button")), r"^[\d.–~]+$")


class Everyone(InABrowser):
    def test_whatever_can_be_used_has_a_name(self):
        self.click_head(L1H2)
        nodes = self.browser.command("Accessibility.getFullAXTree")["nodes"]
        used = [node for node in nodes if not node["ignored"] and node["role"]["value"] in
                ("button", "link", "combobox", "checkbox", "listbox", "dialog", "table", "image", "searchbox")]
        self.assertGreater(len(used), 20)
        for node in used:
            if node["role"]["value"] != "table":
                self.assertTrue(node["name"]["value"], node)

    def test_nothing_scrolls_sideways(self):
        for width in (1920, 1440, 1024, 800, 390):
            self.browser.view(width, 900)
            wide = self.browser.evaluate(f"""(() => {{
                const tooWide = [];
                const look = (what) => {{
                    for (const box of [document.documentElement, document.getElementById("head-panel")]) {{
                        if (box.scrollWidth > box.clientWidth) tooWide.push([what, box.id, box.scrollWidth, box.clientWidth]);
                    }}
                }};
                look("page");
                for (headPanel.besideMap of [true, false]) {{
                    for (const head of {[L0H0, L0H1, L1H1, L1H2]}) {{
                        headPanel.open([head]);
                        look([head, headPanel.besideMap]);
                    }}
                    headPanel.close();
                }}
                return tooWide;
            }})()""")
            self.assertEqual(wide, [], width)

    def test_the_triangles_of_claims_are_whole_on_a_phone(self):
        self.browser.view(380, 800)
        self.assertGreaterEqual(self.place(".claim > summary")[0], 24)  # a triangle's 16 pixels and room beside it

    def test_dark_and_light_are_readable(self):
        for dark in (False, True):
            self.browser.view(1200, 900, dark)
            ink, paper = self.browser.evaluate("""(() => {
                const style = getComputedStyle(document.body);
                return [style.color, style.backgroundColor].map(
                    (colour) => colour.match(/\\d+/g).slice(0, 3).map(Number));
            })()""")
            self.assertEqual(sum(paper) < 200, dark)
            self.assertGreater(abs(sum(ink) - sum(paper)), 500)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
