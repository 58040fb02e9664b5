"""Words, phrases and sentences as dependency trees, and their CoNLL-U form with CorefUD mentions."""

from dataclasses import dataclass, field


@dataclass(eq=False)
class Word:
    """One word. `head` is None at the root; `glued` words follow the one before without a space."""

    form: str
    lemma: str
    upos: str
    feats: str = ""
    glued: bool = False
    glues_next: bool = False
    head: "Word" = None
    relation: str = "root"


@dataclass
class Mention:
    """A phrase that names an entity, from word `first` to word `last`."""

    entity: "Entity"
    first: Word
    last: Word
    head: Word


@dataclass
class Phrase:
    """Consecutive words with one head; every other word's head lies in the phrase."""

    words: list
    head: Word
    mentions: list = field(default_factory=list)


@dataclass(eq=False)
class Entity:
    """Something the story speaks of. `gender`: Masc, Fem, Neut; `number`: Sing, Plur; `name`: a tuple of words or None."""

    kind: str
    noun: str
    gender: str
    number: str = "Sing"
    name: tuple = None
    adjective: str = None
    introduced: bool = False
    identifier: str = ""


def as_phrase(part):
    return part if isinstance(part, Phrase) else Phrase([part], part)


def attach(head, left=(), right=()):
    """A phrase with `head` (Word or Phrase) in the middle and (relation, part) pairs on either side in reading order."""
    head = as_phrase(head)
    words, mentions = [], []
    for parts, is_left in ((left, True), (right, False)):
        if not is_left:
            words += head.words
            mentions += head.mentions
        for relation, part in parts:
            part = as_phrase(part)
            part.head.head, part.head.relation = head.head, relation
            words += part.words
            mentions += part.mentions
    return Phrase(words, head.head, mentions)


def mention(entity, phrase):
    """`phrase` as a mention of `entity`, from its first word to its last."""
    return Phrase(phrase.words, phrase.head, phrase.mentions + [Mention(entity, phrase.words[0], phrase.words[-1], phrase.head)])


def punctuation(form):
    return Word(form, form, "PUNCT", glued=True)


def opening_quote():
    return Word('"', '"', "PUNCT", glues_next=True)


def sentence(clause, stop="."):
    """The clause as a sentence: final punctuation, a capital at the start."""
    phrase = attach(clause, right=[("punct", punctuation(stop))] if stop else [])
    for word in phrase.words:
        if word.upos != "PUNCT":
            word.form = word.form[0].upper() + word.form[1:]
            break
    phrase.head.head, phrase.head.relation = None, "root"
    return phrase


def capitalise(phrase):
    first = phrase.words[0]
    first.form = first.form[0].upper() + first.form[1:]
    return phrase


def text_of(phrase):
    parts = []
    for i, word in enumerate(phrase.words):
        if i and not word.glued and not phrase.words[i - 1].glues_next:
            parts.append(" ")
        parts.append(word.form)
    return "".join(parts)


def _entity_column(phrase, index):
    """`Entity=` value per word: closings first (inner before outer), then openings (outer before inner)."""
    opening = [[] for _ in phrase.words]
    closing = [[] for _ in phrase.words]
    for order, item in enumerate(phrase.mentions):
        first, last, head = index[item.first], index[item.last], index[item.head]
        label = f"({item.entity.identifier}-{item.entity.kind}-{head - first + 1}-"
        opening[first].append((-(last - first), order, label + (")" if first == last else "")))
        if last > first:
            closing[last].append((last - first, order, item.entity.identifier + ")"))
    return ["".join(text for _, _, text in sorted(closing[i])) + "".join(text for _, _, text in sorted(opening[i]))
            for i in range(len(phrase.words))]


def to_conllu(phrase, sentence_id):
    index = {word: i for i, word in enumerate(phrase.words)}
    entities = _entity_column(phrase, index)
    lines = [f"# sent_id = {sentence_id}", f"# text = {text_of(phrase)}"]
    for i, word in enumerate(phrase.words):
        misc = [f"Entity={entities[i]}"] if entities[i] else []
        following = phrase.words[i + 1] if i + 1 < len(phrase.words) else None
        if following is not None and (following.glued or word.glues_next):
            misc.append("SpaceAfter=No")
        head = 0 if word.head is None else index[word.head] + 1
        lines.append("\t".join([str(i + 1), word.form, word.lemma, word.upos, "_", word.feats or "_", str(head),
                                word.relation, "_", "|".join(misc) or "_"]))
    return "\n".join(lines) + "\n\n"
