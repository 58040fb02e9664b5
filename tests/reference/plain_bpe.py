"""GPT-2's byte-level BPE from its vocabulary and merges, in plain Python; shared by the *_check.py scripts."""

import re
import unicodedata

CONTRACTION = re.compile("'(?:s|t|re|ve|m|ll|d)")
# Over one letter per character: L letter, N number, S white space other than " ", O anything else.
PART = re.compile(" ?L+| ?N+| ?O+|[ S]+(?![LNO])|[ S]+")


def character_kind(c):
    if c == " ":
        return " "
    if c.isspace():
        return "S"
    category = unicodedata.category(c)[0]
    return category if category in "LN" else "O"


def byte_alphabet():
    """The printable stand-in of each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (b for b in range(256) if b not in plain)
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


class Tokenizer:
    def __init__(self, vocabulary, merges):
        """`vocabulary` maps tokens to ids; `merges` is the text of merges.txt."""
        self.vocabulary, self.alphabet, self.known = vocabulary, byte_alphabet(), {}
        lines = [line for line in merges.split("\n") if line and not line.startswith("#version")]
        self.ranks = {tuple(line.split(" ")): rank for rank, line in enumerate(lines)}

    def encode(self, text):
        kinds = "".join(map(character_kind, text))
        ids, at = [], 0
        while at < len(text):
            match = CONTRACTION.match(text, at) or PART.match(kinds, at)
            ids += self.encode_part(text[at:match.end()])
            at = match.end()
        return ids

    def encode_part(self, part):
        if part not in self.known:
            symbols = [self.alphabet[b] for b in part.encode()]
            while len(symbols) > 1:
                pairs = list(zip(symbols, symbols[1:]))
                best = min(pairs, key=lambda pair: self.ranks.get(pair, len(self.ranks)))
                if best not in self.ranks:
                    break
                joined, i = [], 0
                while i < len(symbols):
                    both = tuple(symbols[i:i + 2]) == best
                    joined.append("".join(best) if both else symbols[i])
                    i += 2 if both else 1
                symbols = joined
            self.known[part] = [self.vocabulary[symbol] for symbol in symbols]
        return self.known[part]
