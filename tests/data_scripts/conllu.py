"""Read CoNLL-U for the tests, independently of the code that wrote it."""

from dataclasses import dataclass, field


@dataclass
class Token:
    number: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: dict
    head: int
    relation: str
    misc: dict


@dataclass
class Sentence:
    comments: dict
    tokens: list = field(default_factory=list)


def pairs(column):
    return {} if column == "_" else dict(item.split("=", 1) for item in column.split("|"))


def read(path):
    """{document id: [Sentence]}; raises if a line is not a comment, a word of ten columns or empty."""
    documents, current, sentence = {}, None, None
    with open(path, encoding="utf-8", newline="") as file:
        for line in file.read().split("\n")[:-1]:
            if line.startswith("#"):
                key, _, value = line[1:].partition(" = ")
                if key.strip() == "newdoc id":
                    current = documents.setdefault(value, [])
                    continue
                if sentence is None:
                    sentence = Sentence({})
                sentence.comments[key.strip()] = value
            elif line:
                columns = line.split("\t")
                if len(columns) != 10:
                    raise ValueError(f"{len(columns)} columns: {line!r}")
                number, form, lemma, upos, xpos, feats, head, relation, _, misc = columns
                token = Token(int(number), form, lemma, upos, xpos, pairs(feats), int(head), relation, pairs(misc))
                sentence.tokens.append(token)
            else:
                current.append(sentence)
                sentence = None
    return documents
