#!/usr/bin/env python3
"""Writes src/base/canonical_table.inc: Unicode's canonical decompositions, those that compose again, and combining classes.

Without what Hugging Face's tokenizers, whose table is of an older Unicode, do not know: ids are to equal theirs. Hangul syllables
follow a rule and are left out. Made with tokenizers 0.23.3 and Python 3.11 (Unicode 14).
"""

import pathlib
import unicodedata

from tokenizers import normalizers

TABLE = pathlib.Path(__file__).parent.parent / "src/base/canonical_table.inc"
HANGUL = range(0xAC00, 0xD7A4)
NFC = normalizers.NFC().normalize_str


def decompositions():
    """(character, first, second, whether the two compose to it) of each canonical decomposition; second is 0 for one of a single character."""
    for code in range(0x110000):
        text = unicodedata.decomposition(chr(code))
        if not text or text.startswith("<") or code in HANGUL:
            continue
        parts = [int(part, 16) for part in text.split()]
        first, second = parts if len(parts) == 2 else (parts[0], 0)
        if any(NFC(text) != unicodedata.normalize("NFC", text) for text in (chr(code), text_of(parts))):
            continue
        composes = second != 0 and unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(code)
        yield code, first, second, int(composes)


def text_of(codes):
    return "".join(map(chr, codes))


def classes():
    """(first, last, class) of each range of characters with one combining class that is not 0."""
    ranges = []
    for code in range(0x110000):
        combining = unicodedata.combining(chr(code))
        if combining == 0:
            continue
        # A mark that is known changes places with one of another class.
        mark = chr(code)
        out_of_order = f"{mark}\u0334" if combining > 1 else f"\u0301{mark}"
        swapped = NFC("_" + out_of_order) == "_" + out_of_order[::-1]
        if not (swapped or unicodedata.decomposition(mark)):
            continue
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == combining:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, combining])
    return ranges


def array(name, kind, rows):
    lines, line = [], ""
    for row in rows:
        item = "{" + ", ".join(f"0x{value:X}" if value > 9 else str(value) for value in row) + "},"
        if len(line) + len(item) > 98:
            lines.append(line)
            line = ""
        line += " " * (line != "") + item
    return f"constexpr {kind} {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"


def main():
    TABLE.write_text(f"// Written by tools/make_canonical_table.py, Unicode {unicodedata.unidata_version}.\n"
                     + array("decompositions", "Decomposition", decompositions())
                     + array("combining_classes", "ClassRange", classes()))


if __name__ == "__main__":
    main()
