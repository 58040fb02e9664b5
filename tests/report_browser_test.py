"""The report in headless Chromium: tables sort from the keyboard's focus, nothing is complained of."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.environ["HEADSCOPE_RESULTS_SAMPLE"]
CHROMIUM = shutil.which("chromium")

# Sorts the first table, loss_increase, by its value twice and then by its first column.
PROBE = """<script>
const table = document.querySelector("table.sortable");
table.closest("details").open = true;
const header = (i) => table.tHead.rows[0].cells[i];
const column = (i) => Array.from(table.tBodies[0].rows, (row) => row.cells[i].textContent).join(" ");
const outcome = [];
for (const i of [3, 3, 0]) {
  header(i).querySelector("button").focus();
  document.activeElement.click();
  outcome.push(header(i).getAttribute("aria-sort") + ": " + column(i));
}
document.body.insertAdjacentHTML("beforeend", "<pre id='outcome'>" + outcome.join("\\n") + "</pre>");
</script></body>"""


@unittest.skipUnless(CHROMIUM, "chromium is not installed")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(FOLDER, "report.html"), encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "probe.html")
            with open(page, "w", encoding="utf-8") as file:
                file.write(text.replace("</body>", PROBE))
            finished = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                 "--user-data-dir=" + os.path.join(folder, "profile"),
                 "--enable-logging=stderr", "--dump-dom", "file://" + page],
                capture_output=True, text=True, timeout=120, check=True)
        cls.dom, cls.log = finished.stdout, finished.stderr

    def test_console_is_quiet(self):
        self.assertEqual([line for line in self.log.splitlines() if "CONSOLE" in line], [])

    def test_tables_sort_by_value_and_by_word(self):
        outcome = re.search(r'<pre id="outcome">(.*?)</pre>', self.dom, re.S)
        self.assertIsNotNone(outcome, "the probe did not finish")
        first, second, third = outcome.group(1).splitlines()
        order, values = first.split(": ")
        numbers = [float(value) for value in values.split()[:-1]]
        self.assertEqual(order, "ascending")
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(values.split()[-1], "–")
        self.assertEqual(second.split()[:2], ["descending:", "2.5"])
        self.assertEqual(second.split()[-1], "–")
        self.assertEqual(third, "ascending: " + " ".join(["mean"] * 6 + ["zero"] * 6))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
