"""What a story is about and how its entities are referred to."""

import lexicon
import story_phrases as p
from dependency_tree import Entity, Word, attach, mention

PREPOSITIONS = "near behind beside under by".split()


class World:
    """A story's people, things and places, and how they are named. `rng` is a random.Random.

    `topic` is the subject of the last sentence, `heard` all that the last sentence speaks of: a pronoun may stand for the topic,
    or for a person that no other of its gender and number stands beside. `focus` is the last object.
    """

    def __init__(self, rng, identifier):
        self.rng = rng
        self.identifier = identifier
        self.topic = None
        self.heard = []
        self.focus = None
        self.entity_count = 0
        self.used = set()
        self.tense = "Past" if rng.random() < 0.6 else "Pres"
        self._plan()

    def pick(self, entries):
        """A word of the list that this story has not used; of a synonym pair, either word uses up both."""
        while True:
            entry = self.rng.choice(entries)
            word = self.rng.choice(lexicon.alternatives(entry))
            if word not in self.used or self.rng.random() < 0.02:
                self.used.update(lexicon.alternatives(entry))
                return word

    def entity(self, kind, noun, gender="Neut", number="Sing", **more):
        self.entity_count += 1
        return Entity(kind, noun, gender, number, identifier=f"s{self.identifier}e{self.entity_count}", **more)

    def invented_word(self, syllables):
        rng = self.rng
        while True:
            parts = [rng.choice(lexicon.SYLLABLE_ONSETS) + rng.choice(lexicon.SYLLABLE_VOWELS) + rng.choice(lexicon.SYLLABLE_CODAS)
                     for _ in range(syllables)]
            if parts[0][:2] not in self.used:
                self.used.add(parts[0][:2])
                return "".join(parts)

    def invented_name(self):
        sizes = self.rng.choice([(3,), (3,), (4,), (2, 2), (2, 3)])
        return tuple(self.invented_word(size).capitalize() for size in sizes)

    def person(self, gender):
        gendered = lexicon.FEMALE_NOUNS if gender == "Fem" else lexicon.MALE_NOUNS
        noun = self.pick(lexicon.NEUTRAL_NOUNS if self.rng.random() < 0.6 else gendered)
        style = self.rng.random()
        given = None
        if style < 0.45:
            given = (self.pick(lexicon.FEMALE_NAMES if gender == "Fem" else lexicon.MALE_NAMES),)
        elif style < 0.85:
            given = self.invented_name()
        return self.entity("person", noun, gender, name=given, adjective=self.pick(lexicon.TRAITS))

    def _plan(self):
        rng = self.rng
        self.hero = self.person(rng.choice(["Fem", "Masc"]))
        other = {"Fem": "Masc", "Masc": "Fem"}[self.hero.gender]
        self.friend = self.person(other if rng.random() < 0.85 else self.hero.gender)
        self.group = self.entity("person", self.pick(lexicon.NEUTRAL_NOUNS), number="Plur", adjective=self.pick(lexicon.TRAITS))
        self.thing = self.entity("object", self.pick(lexicon.THINGS), number=rng.choice(["Sing", "Sing", "Plur"]),
                                 adjective=self.pick(lexicon.QUALITIES))
        self.animal = self.entity("animal", self.pick(lexicon.ANIMALS), number=rng.choice(["Sing", "Plur"]),
                                  adjective=self.pick(lexicon.ANIMAL_QUALITIES))
        self.place = self.entity("place", self.pick(lexicon.PLACES))
        self.home = self.entity("place", self.pick(["village", "town", "valley", "castle", "city"]),
                                name=self.invented_name() if rng.random() < 0.6 else None)
        self.spell = [self.invented_word(rng.choice([1, 2])) for _ in range(rng.randint(3, 6))]

    def full(self, entity):
        """Name, or definite noun phrase; indefinite with its adjective where the entity is new."""
        if entity.name and entity.introduced and self.rng.random() < 0.6:
            return mention(entity, p.name(entity.name))
        if entity.introduced:
            return mention(entity, p.noun_phrase(entity.noun, entity.number, "the"))
        return self.introduce(entity)

    def introduce(self, entity):
        """The first mention: "a brave girl called Anna", "two small foxes"."""
        entity.introduced = True
        determiner = "a"
        if entity.number == "Plur" and self.rng.random() < 0.6:
            determiner = ("nummod", p.numeral(self.rng.choice(list(p.NUMERALS))))
        right = []
        if entity.name:
            called = Word(self.rng.choice(["called", "named"]), "call", "VERB", "Tense=Past|VerbForm=Part")
            called.lemma = "call" if called.form == "called" else "name"
            right = [("acl", attach(called, right=[("xcomp", p.name(entity.name))]))]
        adjectives = [entity.adjective] if entity.adjective else []
        return mention(entity, p.noun_phrase(entity.noun, entity.number, determiner, adjectives, right))

    def clear(self, entity):
        """May a pronoun at the start of the next sentence stand for the entity?"""
        if entity is self.topic:
            return True
        rivals = [other for other in (*self.heard, self.topic) if other and other is not entity and p.agreement(other) == p.agreement(entity)]
        return entity.kind == "person" and entity in self.heard and not rivals

    def subject(self, entity, pronoun_share=0.75):
        """The entity as subject: a pronoun only where it is clear what it stands for."""
        if self.clear(entity) and self.rng.random() < pronoun_share:
            phrase = p.pronoun(entity)
        else:
            phrase = self.full(entity)
        self.topic = entity
        return phrase

    def object(self, entity, subject):
        same = p.agreement(entity) == p.agreement(subject)
        if entity is self.focus and not same and self.rng.random() < 0.5:
            return p.pronoun(entity, "Acc")
        self.focus = entity
        return self.full(entity)

    def own(self, owner, lemma, number="Sing", adjectives=()):
        """owner's thing, by possessive pronoun; for sentences whose subject is the owner."""
        return p.noun_phrase(lemma, number, ("nmod:poss", p.pronoun(owner, "Poss")), adjectives)

    def place_phrase(self, preposition):
        """preposition + one of the story's two places."""
        place = self.home if self.home.introduced and self.rng.random() < 0.5 else self.place
        return p.prepositional(preposition, self.full(place))

    def quality(self, noun):
        """An adjective that suits the noun."""
        return self.pick(lexicon.ANIMAL_QUALITIES if noun in lexicon.ANIMALS else lexicon.QUALITIES)

    def paired(self, entries):
        """A word that has a synonym."""
        entry = self.rng.choice([entry for entry in entries if "=" in entry])
        return self.rng.choice(lexicon.alternatives(entry))

    def unlike(self, number):
        """A number, more often the other one, for nouns that stand between a subject and its verb."""
        other = {"Sing": "Plur", "Plur": "Sing"}[number]
        return other if self.rng.random() < 0.65 else number

    def scenery(self, count, subject_number):
        """Nested prepositional phrases with `count` nouns: "near the boxes on the shelf"."""
        number = self.unlike(subject_number)
        pool = self.rng.choice([lexicon.FURNITURE, lexicon.THINGS, lexicon.PLACES])
        right = [("nmod", self.scenery(count - 1, subject_number))] if count > 1 else []
        adjectives = [self.pick(lexicon.QUALITIES)] if self.rng.random() < 0.3 else []
        return p.prepositional(self.rng.choice(PREPOSITIONS), p.noun_phrase(self.pick(pool), number, "the", adjectives, right))

    def scene_subject(self):
        """(entity, phrase): a thing or animal, new or the story's own, with zero to two nouns behind it."""
        rng = self.rng
        known = [entity for entity in (self.thing, self.animal) if entity.introduced]
        seen = rng.choice(known) if known and rng.random() < 0.5 else None
        number = seen.number if seen else rng.choice(["Sing", "Plur"])
        count = rng.choice([0, 1, 1, 2, 2])
        right = [("nmod", self.scenery(count, number))] if count else []
        if seen:
            return seen, mention(seen, p.noun_phrase(seen.noun, number, "the", right=right))
        lemma = self.pick(lexicon.ANIMALS + lexicon.THINGS)
        adjectives = [self.quality(lemma)] if rng.random() < 0.3 else []
        seen = self.entity("animal" if lemma in lexicon.ANIMALS else "object", lemma, number=number, introduced=True)
        return seen, mention(seen, p.noun_phrase(lemma, number, "the", adjectives, right))
