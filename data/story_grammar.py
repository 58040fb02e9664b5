"""The grammar: sentence rules that tell a story one after another.

Two rules keep words predictable from what stands before them: a subject pronoun always refers to the subject of the
sentence before, and a sentence that opens with "Indeed" or "In other words" says the one before again with a synonym.
"""

import lexicon
import story_phrases as p
from dependency_tree import Word, attach, capitalise, mention, punctuation, sentence
from story_world import World

OPENERS = ["then", "soon", "later", "suddenly", "slowly"]
TIMES = [("one", "day"), ("one", "morning"), ("that", "night"), ("the", "next day"), ("that", "evening")]


class Story(World):
    """One story; `tell` gives its sentences."""

    def __init__(self, rng, identifier):
        super().__init__(rng, identifier)
        self.sentences = []

    def add(self, clause, stop="."):
        self.sentences.append(sentence(clause, stop))

    def opener(self, share=0.4):
        """An optional opening adverbial, as left dependents of the main verb."""
        if self.rng.random() > share:
            return []
        if self.rng.random() < 0.5:
            return [("advmod", p.adverb(self.rng.choice(OPENERS))), ("punct", punctuation(","))]
        first, rest = self.rng.choice(TIMES)
        *middle, last = rest.split()
        det = {"one": ("nummod", p.numeral("one")), "that": ("det", p.demonstrative(False, "Sing"))}.get(first, ("det", p.definite()))
        time = attach(p.noun(last), left=[det] + [("amod", p.adjective(word)) for word in middle])
        return [("obl", time), ("punct", punctuation(","))]

    def verb(self, lemma, entity):
        return p.verb(lemma, self.tense, entity.number)

    def someone(self):
        return self.hero if self.rng.random() < 0.6 else self.friend

    def tell(self):
        rng = self.rng
        length = rng.randint(4, 12)
        self.introduction()
        rules = [self.action, self.action, self.motion, self.giving, self.speech, self.speech, self.scene, self.scene, self.scene,
                 self.relative_scene, self.relative_scene, self.feeling, self.restating, self.restating, self.cast_spell,
                 self.amounts, self.demonstratives, self.wish, self.when_clause, self.pair, self.name_talk, self.belongings,
                 self.comparison, self.plain_topic, self.plain_topic]
        while len(self.sentences) < length - 1:
            rng.choice(rules)()
        self.ending()
        return self.sentences

    def introduction(self):
        rng, hero = self.rng, self.hero
        style = rng.random()
        if style < 0.5:
            once = [("advmod", p.adverb("once")), ("case", p.preposition("upon")), ("det", p.indefinite("time"))]
            time = attach(p.noun("time"), left=once)
            there = Word("there", "there", "PRON", "PronType=Dem")
            was = p.verb("be", self.tense, "Sing")
            self.add(attach(was, left=[("obl", time), ("expl", there)], right=[("nsubj", self.introduce(hero))]))
        elif style < 0.8:
            home = p.prepositional("in", self.introduce(self.home))
            self.add(attach(self.verb("live", hero), left=[("nsubj", self.introduce(hero))], right=[("obl", home)]))
        else:
            story = p.noun_phrase("story", "Sing", ("det", p.demonstrative(True, "Sing")))
            about = p.prepositional("about", self.introduce(hero))
            self.add(attach(about, left=[("nsubj", story), ("cop", p.verb("be", "Pres", "Sing", "AUX"))]))
        self.topic = hero
        if rng.random() < 0.7:
            subject = self.subject(hero)
            friend = self.introduce(self.friend)
            verb = self.verb(rng.choice(["know", "meet", "like", "visit"]), hero)
            self.add(attach(verb, left=[("nsubj", subject)], right=[("obj", friend)]))

    def action(self):
        who = self.someone()
        left = self.opener()
        subject = self.subject(who)
        taken = self.rng.random() < 0.6
        lemma = self.pick(lexicon.TAKING if taken else lexicon.MEETING)
        target = self.thing if taken else self.rng.choice([self.animal, self.friend if who is self.hero else self.hero])
        right = [("obj", self.object(target, who))]
        if self.rng.random() < 0.4:
            right.append(("obl", self.place_phrase(self.rng.choice(["in", "near", "behind"]))))
        self.add(attach(self.verb(lemma, who), left=left + [("nsubj", subject)], right=right))

    def motion(self):
        who = self.rng.choice([self.hero, self.friend, self.animal])
        left = self.opener()
        subject = self.subject(who)
        first = attach(self.verb(self.pick(lexicon.MOVING), who), left=left + [("nsubj", subject)],
                       right=[("obl", self.place_phrase(self.rng.choice(["to", "into", "past"])))])
        if self.rng.random() < 0.6:
            second = self.verb(self.pick(lexicon.RESTING), who)
            where = p.prepositional(self.rng.choice(["under", "near", "beside"]), p.noun_phrase(self.pick(lexicon.FURNITURE), "Sing", "a"))
            first = p.conjoin(first, attach(second, right=[("obl", where)]))
        self.add(first)

    def giving(self):
        giver, taker = self.rng.choice([(self.hero, self.friend), (self.friend, self.hero)])
        left = self.opener()
        subject = self.subject(giver)
        receiver = self.full(taker)
        gift = self.object(self.thing, giver)
        if self.rng.random() < 0.5 and gift.head.upos != "PRON":
            right = [("iobj", receiver), ("obj", gift)]
        else:
            right = [("obj", gift), ("obl", p.prepositional("to", receiver))]
        self.add(attach(self.verb("give", giver), left=left + [("nsubj", subject)], right=right))
        if self.rng.random() < 0.7:
            self.plain_topic()

    def predicate(self, subject, number):
        """subject + "is old", or a verb that agrees with it."""
        living = subject.head.lemma in lexicon.ANIMALS
        if self.rng.random() < 0.7:
            return p.copula(subject, p.adjective(self.quality(subject.head.lemma)), self.tense, number)
        return attach(p.verb(self.pick(lexicon.RESTING if living else lexicon.SHOWING), self.tense, number), left=[("nsubj", subject)])

    def scene(self):
        seen, subject = self.scene_subject()
        self.topic = seen
        self.add(self.predicate(subject, seen.number))
        if self.rng.random() < 0.4:
            self.add(self.predicate(self.subject(seen, 1.0), seen.number))

    def relative_scene(self):
        """A subject with a relative clause between it and its verb, of subject or object kind."""
        rng = self.rng
        number = rng.choice(["Sing", "Plur"])
        who = rng.choice([self.hero, self.friend])
        lemma = self.pick(lexicon.ANIMALS)
        head = self.entity("animal", lemma, number=number, introduced=True)
        if rng.random() < 0.5:
            others = lexicon.ANIMALS + lexicon.FEMALE_NOUNS[:2] + lexicon.MALE_NOUNS[:2]
            other = p.noun_phrase(self.pick(others), self.unlike(number), "the")
            meets = p.verb(self.pick(lexicon.MEETING), self.tense, number)
            clause = attach(meets, left=[("nsubj", p.relative("that"))], right=[("obj", other)])
        else:
            inner = self.full(who) if who.introduced else p.noun_phrase(self.pick(lexicon.MALE_NOUNS + lexicon.FEMALE_NOUNS), "Plur", "the")
            inner_number = "Sing" if who.introduced and inner.mentions else "Plur"
            clause = attach(p.verb(self.pick(lexicon.MEETING + ["see", "like", "find"]), self.tense, inner_number),
                            left=[("obj", p.relative("that")), ("nsubj", inner)])
        subject = mention(head, p.noun_phrase(lemma, number, "the", right=[("acl:relcl", clause)]))
        self.topic = head
        if rng.random() < 0.6:
            self.add(p.copula(subject, p.adjective(self.pick(lexicon.FEELINGS + lexicon.ANIMAL_QUALITIES)), self.tense, number))
        else:
            self.add(attach(p.verb(self.pick(lexicon.RESTING), self.tense, number), left=[("nsubj", subject)]))

    def plain_topic(self):
        """A short sentence about the subject of the last one."""
        topic = self.topic or self.hero
        subject = self.subject(topic, 0.9)
        if topic.kind == "person" or topic.kind == "animal":
            choice = self.rng.random()
            if choice < 0.4:
                self.add(p.copula(subject, p.adjective(self.pick(lexicon.FEELINGS)), self.tense, topic.number))
            elif choice < 0.7:
                look = attach(self.verb("look", topic), left=[("nsubj", subject)],
                              right=[("obl", p.prepositional("at", p.pronoun(topic, "Reflex"))),
                                     ("obl", p.prepositional("in", p.noun_phrase("water", "Sing", "the")))])
                self.add(look)
            else:
                part = self.rng.choice(list(lexicon.BODY_PARTS))
                number = "Plur" if topic.number == "Plur" else lexicon.BODY_PARTS[part]
                self.add(attach(self.verb(self.rng.choice(["wash", "shake", "touch", "clean"]), topic), left=[("nsubj", subject)],
                                right=[("obj", self.own(topic, part, number))]))
        else:
            self.add(self.predicate(subject, topic.number))

    def feeling(self):
        who = self.someone()
        left = self.opener(0.2)
        subject = self.subject(who)
        reason = attach(self.verb("have", who), left=[("nsubj", p.pronoun(who))],
                        right=[("obj", p.noun_phrase(self.pick(lexicon.THINGS), self.rng.choice(["Sing", "Plur"]), "a"))])
        self.add(p.copula(subject, p.adjective(self.pick(lexicon.FEELINGS)), self.tense, "Sing", left=left,
                          right=[("advcl", p.subordinate("because", reason))]))

    def restating(self):
        """A statement, then the same again with a synonym."""
        rng = self.rng
        who = self.someone()
        restated = [("advmod", p.adverb(rng.choice(["indeed", "truly", "yes"]))), ("punct", punctuation(","))]
        if rng.random() < 0.4:
            restated = [("obl", p.prepositional("in", p.noun_phrase("word", "Plur", None, ["other"]))), ("punct", punctuation(","))]
        subject = self.subject(who)
        kind = rng.random()
        if kind < 0.45:
            word = self.paired(rng.choice([lexicon.FEELINGS, lexicon.TRAITS]))
            self.add(p.copula(subject, attach(p.adjective(word), left=[("advmod", p.adverb("very"))]), self.tense, "Sing"))
            self.add(p.copula(self.subject(who), attach(p.adjective(lexicon.SYNONYM[word]), left=[("advmod", p.adverb("very"))]),
                              self.tense, "Sing", left=restated))
        elif kind < 0.75:
            moving = rng.random() < 0.6
            word = self.paired(lexicon.MOVING if moving else lexicon.RESTING)
            where = rng.choice(["to", "past"] if moving else ["near", "behind"]), self.pick(lexicon.PLACES)
            for lemma, left in ((word, []), (lexicon.SYNONYM[word], restated)):
                phrase = p.prepositional(where[0], p.noun_phrase(where[1], "Sing", "the"))
                self.add(attach(self.verb(lemma, who), left=left + [("nsubj", subject)], right=[("obl", phrase)]))
                subject = self.subject(who)
        else:
            word = self.paired(lexicon.THINGS)
            thing = self.entity("object", word, introduced=True)
            adjective = self.paired(lexicon.QUALITIES)
            found = mention(thing, p.noun_phrase(word, "Sing", "a", [adjective]))
            self.add(attach(self.verb(self.pick(lexicon.TAKING), who), left=[("nsubj", subject)], right=[("obj", found)]))
            again = mention(thing, p.noun_phrase(lexicon.SYNONYM[word], "Sing", "the"))
            self.topic = thing
            self.add(p.copula(again, attach(p.adjective(lexicon.SYNONYM[adjective]), left=[("advmod", p.adverb("very"))]),
                              self.tense, "Sing", left=restated))

    def say(self, speaker, speech, stop):
        """Speech before or after its verb of saying. The speech is the verb's `ccomp`."""
        subject = self.subject(speaker, 0.5)
        lemma = "ask" if stop == "?" else self.rng.choice(["say", "shout", "whisper", "answer", "reply"])
        said = self.verb(lemma, speaker)
        if subject.head.upos == "PRON" or self.rng.random() < 0.5:
            quote = p.quoted(capitalise(speech), stop)
            self.add(attach(said, left=[("nsubj", subject)], right=[("punct", punctuation(",")), ("ccomp", quote)]), stop=None)
        else:
            quote = p.quoted(capitalise(speech), "," if stop == "." else stop)
            self.add(attach(said, left=[("ccomp", quote)], right=[("nsubj", subject)]))

    def speech(self):
        rng = self.rng
        speaker = self.someone()
        kind = rng.random()
        if kind < 0.3:
            number = rng.choice(["Sing", "Plur"])
            target = p.noun_phrase(self.pick(lexicon.THINGS + lexicon.ANIMALS), number, "the")
            where = Word("where", "where", "ADV", "PronType=Int")
            self.say(speaker, attach(where, right=[("cop", p.verb("be", "Pres", number, "AUX")), ("nsubj", target)]), "?")
        elif kind < 0.6:
            seen, subject = self.scene_subject()
            self.say(speaker, p.copula(subject, p.adjective(self.quality(seen.noun)), "Pres", seen.number), rng.choice([".", "!"]))
        elif kind < 0.8:
            verb = p.infinitive(rng.choice(["find", "see", "have", "keep"]))
            lemma, number = self.pick(lexicon.THINGS), rng.choice(["Sing", "Plur"])
            wish = attach(verb, right=[("obj", p.noun_phrase(lemma, number, "a", [self.pick(lexicon.QUALITIES)]))])
            self.say(speaker, attach(p.verb("want", "Pres", "Sing", person=1), left=[("nsubj", p.first_person())],
                                     right=[("xcomp", p.to_infinitive(wish))]), ".")
        else:
            must = attach(p.infinitive(self.pick(lexicon.MOVING)),
                          left=[("nsubj", p.second_person()), ("aux", p.modal(rng.choice(["must", "can"])))],
                          right=[("obl", self.place_phrase("to"))])
            self.say(speaker, must, rng.choice([".", "!"]))

    def spell_words(self):
        words = [Word(word, word, "X") for word in self.spell]
        return attach(words[0], right=[("flat", word) for word in words[1:]])

    def cast_spell(self):
        """Made-up words, spoken, and soon spoken again."""
        for verb in ("sing", self.rng.choice(["sing", "shout", "whisper"])):
            speaker = self.someone()
            quote = p.quoted(capitalise(self.spell_words()), "!")
            subject = self.subject(speaker, 0.4)
            right = [("punct", punctuation(",")), ("ccomp", quote)]
            self.add(attach(self.verb(verb, speaker), left=[("nsubj", subject)], right=right), stop=None)
            if self.rng.random() < 0.5:
                self.plain_topic()

    def amounts(self):
        rng = self.rng
        who = self.someone()
        left = self.opener(0.2)
        subject = self.subject(who)
        many = p.noun_phrase(self.pick(lexicon.THINGS + lexicon.ANIMALS), "Plur", ("amod", p.quantity("many")))
        much = p.noun_phrase(self.pick(lexicon.MASS_NOUNS), "Sing", ("amod", p.quantity("much")))
        first, second = rng.choice([(many, much), (much, many)])
        second = attach(second, left=[("advmod", p.negation())])
        self.add(attach(self.verb(rng.choice(["see", "have", "find"]), who), left=left + [("nsubj", subject)],
                        right=[("obj", p.conjoin(first, second, conjunction="but"))]))
        if rng.random() < 0.4:
            mass = self.pick(lexicon.MASS_NOUNS)
            self.topic = None
            self.add(p.copula(p.noun_phrase(mass, "Sing", "the"), p.adjective(self.pick(lexicon.MASS_QUALITIES)), self.tense, "Sing"))

    def demonstratives(self):
        rng = self.rng
        number = rng.choice(["Sing", "Plur"])
        lemma = self.pick(lexicon.THINGS)
        subject = p.noun_phrase(lemma, number, ("det", p.demonstrative(rng.random() < 0.5, number)))
        self.say(self.someone(), p.copula(subject, p.adjective(self.pick(lexicon.QUALITIES)), "Pres", number), rng.choice([".", "!"]))

    def wish(self):
        who = self.someone()
        subject = self.subject(who)
        act = self.rng.choice(["find", "carry", "fix", "hide", "sell", "mend", "bring", "paint", "draw", "see"])
        first = attach(self.verb("want", who), left=[("nsubj", subject)],
                       right=[("xcomp", p.to_infinitive(attach(p.infinitive(act), right=[("obj", self.full(self.thing))])))])
        self.focus = self.thing
        second = attach(p.infinitive(act),
                        left=[("nsubj", p.pronoun(who)), ("aux", p.modal("can", self.tense)), ("advmod", p.negation(self.tense == "Pres"))],
                        right=[("obj", p.pronoun(self.thing, "Acc"))])
        self.add(p.conjoin(first, second, conjunction="but", comma=True))

    def when_clause(self):
        who = self.rng.choice([self.hero, self.friend])
        number = self.rng.choice(["Sing", "Plur"])
        seen = attach(self.verb("see", who), left=[("nsubj", self.full(who))],
                      right=[("obj", p.noun_phrase(self.pick(lexicon.ANIMALS), number, "the", [self.pick(lexicon.ANIMAL_QUALITIES)]))])
        main = attach(self.verb(self.pick(lexicon.RESTING), who),
                      left=[("advcl", p.subordinate("when", seen)), ("punct", punctuation(",")), ("nsubj", p.pronoun(who))])
        self.topic = who
        self.add(main)

    def pair(self):
        """Hero and friend together; "they" afterwards."""
        both = self.entity("person", "friend", number="Plur", introduced=True)
        first, second = self.rng.sample([self.hero, self.friend], 2)
        left = self.opener(0.3)
        phrase = mention(both, p.conjoin(self.full(first), self.full(second)))
        self.add(p.copula(phrase, p.adjective(self.pick(lexicon.FEELINGS)), self.tense, "Plur", left=left))
        if self.rng.random() < 0.7:
            self.add(attach(p.verb(self.pick(lexicon.MOVING), self.tense, "Plur"), left=[("nsubj", p.pronoun(both))],
                            right=[("obl", self.place_phrase("to"))]))
        self.topic = both

    def name_talk(self):
        """A sentence about a name, so that names recur in full."""
        rng = self.rng
        who = self.someone()
        if not (who.name and who.introduced):
            return self.plain_topic()
        if rng.random() < 0.5:
            everyone = Word("everyone", "everyone", "PRON", "Number=Sing|PronType=Tot")
            phrase = mention(who, p.name(who.name))
            self.topic = None
            return self.add(attach(p.verb(rng.choice(["know", "love", "thank", "like"]), self.tense, "Sing"), left=[("nsubj", everyone)],
                                   right=[("obj", phrase)]))
        speech = p.copula(p.noun_phrase("name", "Sing", ("nmod:poss", p.first_person("Poss"))), p.name(who.name), "Pres", "Sing")
        self.say(who, speech, ".")

    def belongings(self):
        """Possessives with 's and each, all, another."""
        rng = self.rng
        owner = self.someone()
        if not owner.introduced:
            return self.plain_topic()
        number = rng.choice(["Sing", "Plur"])
        lemma = self.pick(lexicon.THINGS)
        if rng.random() < 0.5:
            subject = p.possessed(self.full(owner), p.noun_phrase(lemma, number, None))
        else:
            determiner = ("det", Word("each" if number == "Sing" else "all", "each" if number == "Sing" else "all", "DET", "PronType=Tot"))
            subject = p.noun_phrase(lemma, number, determiner)
        thing = self.entity("object", lemma, number=number, introduced=True)
        self.topic = thing
        self.add(self.predicate(mention(thing, subject), number))

    def comparison(self):
        rng = self.rng
        word = rng.choice(list(lexicon.COMPARATIVES))
        comparative = Word(lexicon.COMPARATIVES[word], word, "ADJ", "Degree=Cmp")
        seen, subject = self.scene_subject()
        pool = lexicon.ANIMALS if seen.noun in lexicon.ANIMALS else lexicon.THINGS
        than = p.prepositional("than", p.noun_phrase(self.pick(pool), rng.choice(["Sing", "Plur"]), "the"))
        self.topic = seen
        self.add(p.copula(subject, comparative, self.tense, seen.number, right=[("obl", than)]))

    def ending(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.4 or not self.friend.introduced:
            who = self.hero
            subject = self.subject(who)
            home = attach(self.verb("go", who), left=[("nsubj", subject)], right=[("advmod", p.adverb("home"))])
            self.add(p.conjoin(home, attach(self.verb("sleep", who), right=[("advmod", p.adverb("well"))])))
        elif kind < 0.7:
            first, second = rng.sample([self.hero, self.friend], 2)
            from_that = [("case", p.preposition("from")), ("det", p.demonstrative(False, "Sing"))]
            day = attach(p.noun("day"), left=from_that, right=[("advmod", p.adverb("on"))])
            both = p.conjoin(self.full(first), self.full(second))
            self.add(p.copula(both, p.noun_phrase("friend", "Plur", None, ["good"]), self.tense, "Plur",
                              left=[("obl", day), ("punct", punctuation(","))]))
        else:
            end = Word("end", "end", "NOUN", "Number=Sing")
            that = Word("that", "that", "PRON", "Number=Sing|PronType=Dem")
            of = p.prepositional("of", p.noun_phrase("story", "Sing", "the", right=[("nmod", p.prepositional("of", self.full(self.hero)))]))
            left = [("nsubj", that), ("cop", p.verb("be", "Pres", "Sing", "AUX")), ("det", p.definite())]
            self.add(attach(end, left=left, right=[("nmod", of)]))
