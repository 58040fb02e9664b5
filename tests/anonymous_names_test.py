"""Names in anonymous namespaces are unique in their folder, whose files most presets compile as one (cmake/compile_by_folder.cmake).

Reads the column at which clang-format puts declarations, not C++: functions count as equal if their parameters' types are.
"""

import re
import unittest
from collections import defaultdict
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "analysis", "cli", "tests")

TYPE = re.compile(r"(?:class|struct|enum class|enum|union) (\w+)\b[^;(]*\{")
FUNCTION = re.compile(r"[\w:<>,&*\s\[\]]*?[\s&*>](\w+)\(((?:[^()]|\([^()]*\))*)\)(?: const| noexcept)* \{")
VARIABLE = re.compile(r"(?:constexpr|const|static|inline|thread_local|std::|[\w:<>, ]+ )[\w:<>,&*\s]*?\b(\w+)(?:\[[^\]]*\])*(?: =|\{|;)")


def declarations(text):
    """Pieces of an anonymous namespace's text, each up to its opening brace or its end, with the namespaces it lies in."""
    spaces, piece, depth = [], "", 0
    for line in text.splitlines():
        opened = re.fullmatch(r"namespace(?: ([\w:]+))? \{", line)
        if opened:
            spaces.append(opened[1] or "")
            continue
        if re.match(r"\}  // namespace", line):
            spaces.pop()
            continue
        if "" not in spaces or not line or re.match(r"\s*(//|#|\[\[)", line):
            continue
        if depth == 0:
            piece += " " + line
        depth += line.count("{") - line.count("}")
        if piece and (line.endswith(("{", ";", "}"))):
            yield "::".join(space for space in spaces if space), re.sub(r"\s+", " ", piece).strip()
            piece = ""


def types_of(parameters):
    """Parameters without names and defaults."""
    found = []
    for parameter in re.split(r",(?![^<]*>)", re.sub(r" = [^,]*", "", parameters)):
        words = parameter.strip()
        found.append(re.sub(r"(?<=[\w>&*]) ?\b\w+$", "", words) if re.search(r"[ &*]\w+$", words) else words)
    return ", ".join(found)


def name_of(piece):
    """The name that a piece defines, and what another must differ in to have the same name; None if it defines none."""
    piece = re.sub(r"^template <.*?> (?=\w)", "", piece)
    if found := TYPE.match(piece):
        return found[1], ""
    if re.match(r"(using|namespace|typedef|friend|return) |\w+\(", piece):
        return None  # the same alias may be given again; a macro
    if found := FUNCTION.match(piece):
        return found[1], types_of(found[2])
    if found := VARIABLE.match(piece):
        return found[1], ""
    return None


def clashes(files):
    """Texts of the names that two files of a folder define."""
    places = defaultdict(set)
    for path, text in files:
        for space, piece in declarations(text):
            if named := name_of(piece):
                places[space, *named].add(path)
    return [f"{name}({types}) in {', '.join(sorted(paths))}" for (_, name, types), paths in sorted(places.items()) if len(paths) > 1]


class AnonymousNames(unittest.TestCase):
    def test_are_unique_in_their_folder(self):
        folders = defaultdict(list)
        for top in FOLDERS:
            for path in sorted((PROJECT / top).rglob("*.cpp")):
                if "fuzz" not in path.parts and "preload" not in path.parts and not path.name.startswith("write_"):
                    folders[path.parent].append((path.name, path.read_text(encoding="utf-8")))
        for folder, files in folders.items():
            with self.subTest(folder=str(folder.relative_to(PROJECT))):
                self.assertEqual(clashes(files), [])

    def test_a_clash_is_found(self):
        def file(body):
            return f"namespace headscope {{\nnamespace {{\n\n{body}\n\n}}  // namespace\n}}  // namespace headscope\n"

        function = "const json& at(const json& parent, const char* key) {\n  return parent;\n}"
        self.assertEqual(len(clashes([("a", file(function)), ("b", file(function.replace("parent", "from")))])), 1)
        self.assertEqual(clashes([("a", file(function)), ("b", file(function.replace("char* key", "std::string& key")))]), [])
        self.assertEqual(len(clashes([("a", file("constexpr int most = 3;")), ("b", file("constexpr Index most = 4;"))])), 1)
        self.assertEqual(len(clashes([("a", file("struct Part {\n  int n;\n};")), ("b", file("class Part : public X {\n};"))])), 1)
        self.assertEqual(clashes([("a", file("using json = X;")), ("b", file("using json = X;"))]), [])
        self.assertEqual(clashes([("a", "namespace x {\n" + function + "\n}  // namespace x\n"), ("b", file(function))]), [])


if __name__ == "__main__":
    unittest.main()
