"""The report in headless Chromium, opened from disk and used by pointer alone and by keyboard alone."""

import json
import os
import shutil
import sys
import unittest

from browser import Browser

REPORT = os.path.join(os.environ["HEADSCOPE_RESULTS_SAMPLE"], "report.html")
HOSTILE = "<script>alert('x')</script> & \"quoted\" | `tick` é · $x_1$"
L0H0, L0H1, L1H1, L1H2 = 0, 1, 4, 5


class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = shutil.which("chromium")
        assert program, "the package chromium is needed: tools/setup.sh test"
        cls.browser = Browser(program)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.browser.complaints.clear()
        self.browser.requests.clear()
        self.browser.view(1200, 900)
        self.browser.open(REPORT)

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        for address in self.browser.requests:
            self.assertRegex(address, r"^(file://.*/report\.html(#\w+)?$|data:image/png;base64,)")

    def text(self, selector):
        return self.texts(selector)[0]

    def texts(self, selector):
        return self.browser.evaluate(
            f"Array.from(document.querySelectorAll({json.dumps(selector)}), (node) => node.textContent)")

    def shown_head(self):
        """Name of the head whose panel is open, or None."""
        return self.browser.evaluate("""(() => {
            const panel = document.getElementById("head-panel");
            return panel.checkVisibility() ? panel.querySelector("h2").textContent : null;
        })()""")

    def click_head(self, unit):
        self.browser.click(f'#head-map [data-unit="{unit}"]')

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
    def test_types_are_marked_and_named(self):
        self.assertEqual(self.texts("#head-map td button"), ["·", "Po", "·", "·", "·", "In"])
        self.assertEqual(self.texts("#head-map-legend li"),
                         ["Po positional 1", "In induction 1", "· no type 4"])
        label = self.browser.evaluate(
            f"document.querySelector('#head-map [data-unit=\"{L1H2}\"]').ariaLabel")
        self.assertEqual(label, "L1H2, positional, induction")

    def test_colours_by_any_score(self):
        options = self.texts("#head-map-score option")
        index = options.index("loss increase, zero")
        self.browser.evaluate(f"""(() => {{
            const menu = document.getElementById("head-map-score");
            menu.selectedIndex = {index};
            menu.dispatchEvent(new Event("change"));
        }})()""")
        self.assertEqual(self.texts("#head-map td button")[L1H2], "2.5")
        red, green, blue = self.browser.evaluate(f"""getComputedStyle(
            document.querySelector('#head-map [data-unit="{L1H2}"]')).backgroundColor
            .match(/\\d+/g).map(Number)""")
        self.assertGreater(red, green + blue, "the largest of a diverging scale is red")


class HeadPanel(InABrowser):
    def test_a_click_shows_type_scores_and_closest_heads(self):
        self.assertIsNone(self.shown_head())
        self.click_head(L1H2)
        self.assertEqual(self.shown_head(), "Head L1H2")
        self.assertEqual(self.texts("#head-panel .chips li"), ["positional", "induction"])
        rows = self.texts("#head-panel section tbody tr")
        self.assertIn("loss increase, zero nats2.5[2.4, 2.6]1 of 6", rows)
        self.assertIn("nsubj, dependent to head75\u00a0%50\u00a0%29", rows)
        self.assertFalse([row for row in rows if row.startswith(("det", "obj"))])
        self.assertTrue(self.texts("#head-panel dd")[0].startswith("L0H0 1"))

    def test_all_scores_unfold(self):
        self.click_head(L1H2)
        self.browser.click("#head-panel details summary")
        self.browser.middle_of("#head-panel details tbody tr")
        scores = self.browser.evaluate("headData.scores.length")
        self.assertEqual(len(self.texts("#head-panel details tbody tr")), scores)
        self.assertEqual(len(self.texts("#head-panel details .strip .own")), scores)

    def test_closest_heads_lead_to_their_panels(self):
        self.click_head(L1H2)
        self.browser.click("#head-panel dd button")
        self.assertEqual(self.shown_head(), "Head L0H0")

    def test_heads_named_anywhere_open_it(self):
        for selector in ("#group-pruning p button.head", ".findings button.head"):
            name = self.text(selector)
            self.browser.click(selector)
            self.assertEqual(self.shown_head(), "Head " + name, selector)
            self.press("Escape")

    def test_rows_of_tables_open_it(self):
        self.browser.click("#variable-pruning\\.loss_increase summary")
        self.browser.click("#variable-pruning\\.loss_increase tbody tr:nth-child(5) button")
        self.assertEqual(self.shown_head(), "Head L1H1")
        self.press("Escape")
        self.browser.click("#variable-correlation\\.cosine_all summary")
        self.browser.click("#variable-correlation\\.cosine_all tbody tr:nth-child(6) td + td button")
        self.assertEqual(self.shown_head(), "Head L1H2")

    def test_cells_of_figures_open_it(self):
        left, top, width, height = map(float, self.browser.evaluate(
            'document.querySelector("#figure-head_costs .card").dataset.maps.split(";")[1]').split())
        self.browser.middle_of("#figure-head_costs svg")
        box = self.browser.evaluate("""(() => {
            const svg = document.querySelector("#figure-head_costs svg");
            const box = svg.getBoundingClientRect();
            return [box.left, box.top, box.width / svg.viewBox.baseVal.width];
        })()""")
        x = box[0] + box[2] * (left + width * 2.5 / 3)
        y = box[1] + box[2] * (top + height * 0.5 / 2)
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.mouse(kind, x, y, button="left", clickCount=1)
        self.assertEqual(self.shown_head(), "Head L0H2")

    def test_an_address_names_a_head(self):
        self.browser.open("about:blank")
        self.browser.open(REPORT + "#L1H1")
        self.assertEqual(self.shown_head(), "Head L1H1")


class PatternView(InABrowser):
    def readout(self):
        return self.text("#pattern-readout").replace("\u00a0", " ")

    def test_a_token_pointed_at_shows_where_it_attends(self):
        self.click_head(L0H0)
        self.browser.hover("#token-2")
        self.assertEqual(self.readout(), "“cat” (2) attends to “The” (1) 64 %, “<|endoftext|>” (0) 36 %.")
        self.click_head(L1H2)
        self.browser.hover("#token-2")
        self.assertEqual(self.readout(), "“cat” (2) attends to “cat” (2) 100 %.")
        self.browser.hover("#head-panel h2")
        self.assertIn("Point at a token", self.readout())

    def test_shades_follow_the_weights(self):
        self.click_head(L0H0)
        self.browser.hover("#token-2")
        shades = [self.browser.evaluate(
            f"document.getElementById('token-{i}').style.getPropertyValue('--share')")
            for i in range(5)]
        self.assertEqual([float(shade) for shade in shades], [0.6, 0.8, 0, 0, 0])

    def test_a_token_shows_what_attends_to_it(self):
        self.click_head(L0H0)
        self.browser.click("#pattern-receiving")
        self.browser.hover("#token-2")
        self.assertEqual(self.readout(), "“cat” (2) is attended to by “</script>” (3) 64 %.")

    def test_the_matrix_follows_the_pointer(self):
        self.click_head(L0H0)
        self.browser.hover("#head-panel canvas")
        self.assertIn("“cat” (2) attends to", self.readout())
        drawn = self.browser.evaluate("""(() => {
            const canvas = document.querySelector("#head-panel canvas");
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

    def test_hostile_tokens_are_only_text(self):
        self.click_head(L0H0)
        self.assertEqual(self.texts("#head-panel .tokens span")[3:], ["</script>", " " + HOSTILE])


class Keyboard(InABrowser):
    def test_alone_finds_a_head_and_reads_its_pattern(self):
        self.tab_to("#head-map td button")
        self.press("ArrowDown", "ArrowRight", "ArrowDown")
        self.press("Enter")
        self.assertEqual(self.shown_head(), "Head L1H1")
        self.assertEqual(self.focused(), "Head L1H1")
        self.tab_to(".tokens")
        self.press("ArrowRight", "ArrowRight", "ArrowRight")
        self.assertIn("“cat” (2) attends to “The” (1)", self.text("#pattern-readout"))
        self.assertEqual(self.browser.evaluate(
            "document.querySelector('.tokens').getAttribute('aria-activedescendant')"), "token-2")
        self.press("Escape")
        self.assertEqual(self.shown_head(), "Head L1H1", "the first Escape lets go of the token")
        self.press("Escape")
        self.assertIsNone(self.shown_head())
        self.assertEqual(self.browser.evaluate("document.activeElement.dataset.unit"), str(L1H1))

    def test_the_map_is_one_stop(self):
        self.tab_to("#head-map td button")
        self.press("End", "Tab")
        self.assertFalse(self.browser.evaluate("document.activeElement.matches('#head-map td button')"))


class Tables(InABrowser):
    def test_sort_by_value_and_by_word(self):
        table = "#variable-pruning\\.loss_increase"
        self.browser.click(table + " summary")

        def sort(column):
            self.browser.click(f"{table} thead th:nth-child({column}) button")
            order = self.browser.evaluate(
                f"document.querySelector({json.dumps(f'{table} thead th:nth-child({column})')}).ariaSort")
            return order, self.texts(f"{table} tbody td:nth-child({column})")

        order, values = sort(4)
        self.assertEqual(order, "ascending")
        self.assertEqual([float(value) for value in values[:-1]], sorted(map(float, values[:-1])))
        self.assertEqual(values[-1], "–")
        order, values = sort(4)
        self.assertEqual((order, values[0], values[-1]), ("descending", "2.5", "–"))
        self.assertEqual(sort(1), ("ascending", ["mean"] * 6 + ["zero"] * 6))


    def test_missing_numbers_stay_last_either_way(self):
        orders = self.browser.evaluate("""(() => {
            const button = element("button", {}, "value");
            const rows = ["–", "3", "–", "1", "−2", "1e-7", "–", "0", "10"].map(
                (text) => element("tr", {}, element("td", {}, text)));
            const table = element("table", {},
                element("thead", {}, element("tr", {}, element("th", { class: "number" }, button))),
                element("tbody", {}, ...rows));
            makeSortable(table);
            return [0, 1].map(() => {
                button.click();
                return Array.from(table.tBodies[0].rows, (row) => row.textContent).join(" ");
            });
        })()""")
        self.assertEqual(orders, ["−2 0 1e-7 1 3 10 – – –", "10 3 1 1e-7 0 −2 – – –"])


class Everyone(InABrowser):
    def test_whatever_can_be_used_has_a_name(self):
        self.click_head(L1H2)
        nodes = self.browser.command("Accessibility.getFullAXTree")["nodes"]
        used = [node for node in nodes if not node["ignored"] and node["role"]["value"] in
                ("button", "link", "combobox", "checkbox", "listbox", "dialog", "table", "image")]
        self.assertGreater(len(used), 20)
        for node in used:
            if node["role"]["value"] != "table":
                self.assertTrue(node["name"]["value"], node)

    def test_nothing_scrolls_sideways(self):
        for width in (1200, 800, 400):
            self.browser.view(width, 900)
            for unit in (None, L0H1):
                if unit is not None:
                    self.browser.evaluate(f"headPanel.open({unit})")
                for box in ("document.documentElement", "document.getElementById('head-panel')"):
                    self.assertLessEqual(
                        self.browser.evaluate(f"{box}.scrollWidth - {box}.clientWidth"), 0,
                        (width, unit, box))
            self.browser.evaluate("headPanel.close()")

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
