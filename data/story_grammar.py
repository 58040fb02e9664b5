"""The grammar: sentence rules that tell a story one after another.

Three rules keep words predictable from what stands before them. A subject pronoun refers to the subject of the sentence
before, or to the only other person there of its gender and number. What a person does and owns, and what others call them, hangs
on who they are, so whom a pronoun stands for decides the words after it. And a sentence that opens with "Indeed" or "In other
words" says the one before again with a synonym.
"""

import lexicon
import story_phrases as p
from dependency_tree import Word, attach, capitalise, mention, punctuation, sentence
from story_world import World

OPENERS = ["then", "soon", "later", "suddenly", "slowly", "again", "now", "often", "sometimes", "quietly", "once more"]
TIMES = [("one", "day"), ("one", "morning"), ("that", "night"), ("the", "next day"), ("that", "evening"), ("that", "afternoon"),
         ("the", "same week"), ("one", "dark night"), ("the", "next morning"), ("that", "cold winter")]


class Story(World):
    """One story; `tell` gives its sentences."""

    def __init__(self, rng, identifier):
        super().__init__(rng, identifier)
        self.sentences = []
        self.trade_things = {}

    def add(self, clause, stop="."):
        self.sentences.append(sentence(clause, stop))
        self.heard = [found.entity for found in clause.mentions]

    def opener(self, share=0.4):
        """An optional opening adverbial, as left dependents of the main verb."""
        if self.rng.random() > share:
            return []
        if self.rng.random() < 0.5:
            *before, adverb = self.rng.choice(OPENERS).split()
            phrase = attach(p.adverb(adverb), left=[("advmod", p.adverb(word)) for word in before])
            return [("advmod", phrase), ("punct", punctuation(","))]
        first, rest = self.rng.choice(TIMES)
        *middle, last = rest.split()
        det = {"one": ("nummod", p.numeral("one")), "that": ("det", p.demonstrative(False, "Sing"))}.get(first, ("det", p.definite()))
        time = attach(p.noun(last), left=[det] + [("amod", p.adjective(word)) for word in middle])
        return [("obl", time), ("punct", punctuation(","))]

    def verb(self, lemma, entity):
        return p.verb(lemma, self.tense, entity.number)

    def clause(self, lemma, who, subject, left=(), right=()):
        """subject + verb, in about half of the clauses with one to three words between: adverbs, a modal, "did not"."""
        rng = self.rng
        between = []
        verb = self.verb(lemma, who)
        kind = rng.random()
        if kind < 0.15:
            between.append(("aux", p.modal(rng.choice(["can", "must", "will"]), self.tense)))
            verb = p.infinitive(lemma)
        elif kind < 0.3:
            between += [("aux", p.verb("do", self.tense, who.number, "AUX")), ("advmod", p.negation())]
            verb = p.infinitive(lemma)
        if rng.random() < 0.4:
            between.append(("advmod", p.adverb(rng.choice(rng.choice([lexicon.FREQUENCY_ADVERBS, lexicon.MANNER_ADVERBS])))))
        return attach(verb, left=[*left, ("nsubj", subject), *between], right=right)

    def described(self, pool):
        """A new thing of the pool with none to two adjectives."""
        rng = self.rng
        number = rng.choice(["Sing", "Sing", "Plur"])
        adjectives = [rng.choice(lexicon.alternatives(entry)) for entry in rng.sample(lexicon.QUALITIES, rng.choice([0, 0, 1, 1, 2]))]
        lemma = self.pick(pool)
        thing = self.entity("place" if pool is lexicon.PLACES else "object", lemma, number=number, introduced=True)
        return mention(thing, p.noun_phrase(lemma, number, rng.choice(["the", "a"]), adjectives))

    def someone(self):
        return self.hero if self.rng.random() < 0.55 else self.friend

    def anyone(self):
        """A person, or the group."""
        return self.rng.choices([self.hero, self.friend, self.group], [0.42, 0.36, 0.22])[0]

    def two_unlike(self):
        """Two of the story's people or its group; different pronouns stand for most such pairs."""
        return self.rng.sample([self.hero, self.friend, self.group], 2)

    def tell(self):
        rng = self.rng
        length = rng.randint(14, 26)
        self.introduction()
        rules = [self.action, self.motion, self.giving, self.speech, self.speech, self.scene, self.scene, self.relative_scene,
                 self.relative_scene, self.feeling, self.restating, self.restating, self.cast_spell, self.amounts, self.demonstratives,
                 self.wish, self.when_clause, self.pair, self.name_talk, self.belongings, self.comparison,
                 self.choice, self.choice, *[self.placing] * 4, *[self.encounter] * 7, *[self.lending] * 4, *[self.work] * 4]
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
        self.about(hero)
        if rng.random() < 0.8:
            subject = self.subject(hero)
            friend = self.introduce(self.friend)
            verb = self.verb(rng.choice(["know", "meet", "like", "visit"]), hero)
            self.add(attach(verb, left=[("nsubj", subject)], right=[("obj", friend)]))
            self.about(self.friend)

    def about(self, who):
        """One or two sentences about someone whom the last one speaks of: what they do or own, what they are called, how they feel."""
        for rule in self.rng.choices([self.deed, self.calling, self.plain_topic], [0.6, 0.2, 0.2], k=self.rng.choice([1, 1, 2])):
            rule(who)

    def trade_thing(self, owner, noun=None):
        """A thing of the owner's trade: the one named, or one that the owner has, by possessive pronoun."""
        own = noun is None
        noun = noun or self.rng.choice(lexicon.TRADES[owner.noun][1])
        thing = self.trade_things.setdefault((owner, noun), self.entity("object", noun))
        new, thing.introduced = not thing.introduced, True
        return mention(thing, self.own(owner, noun) if own else p.noun_phrase(noun, "Sing", "a" if new else "the"))

    def deed(self, who):
        """What someone of this trade does."""
        rng = self.rng
        left = self.opener(0.15)
        subject = self.subject(who, 0.9)
        if rng.random() < 0.35:
            lemma = rng.choice(["hold", "fetch", "clean", "show", "lose", "want", "need", "drop"])
            right = [("obj", self.trade_thing(who))]
        else:
            lemma, thing = rng.choice(lexicon.TRADES[who.noun][0])
            right = [("obj", self.trade_thing(who, thing))] if thing else []
        style = rng.random()
        if style < 0.45:
            right.append(("obl", self.place_phrase(rng.choice(["in", "near", "behind"]))))
        elif style < 0.6:
            right.append(("advmod", p.adverb(rng.choice(["well", "again", "often", "together" if who is self.group else "alone"]))))
        self.add(self.clause(lemma, who, subject, left, right))

    def calling(self, who):
        """'People called her Anna.' The name, or the trade of one without, follows the pronoun."""
        rng = self.rng
        if not self.clear(who):
            return self.deed(who)
        callers = Word("everyone", "everyone", "PRON", "Number=Sing|PronType=Tot") if rng.random() < 0.5 else p.noun("person", "Plur")
        called = p.name(who.name) if who.name else p.noun_phrase(who.noun, who.number, "the")
        number = "Sing" if callers.lemma == "everyone" else "Plur"
        self.topic = None
        self.add(attach(p.verb("call", self.tense, number), left=[("nsubj", callers)],
                        right=[("obj", p.pronoun(who, "Acc")), ("xcomp", called)]))

    def encounter(self):
        """Two people and then one of them: whom the pronoun stands for is not told by the order."""
        rng = self.rng
        first, second = self.two_unlike()
        left = self.opener(0.3)
        subject = self.subject(first, 0.5)
        style = rng.random()
        if style < 0.7:
            lemma = self.pick(lexicon.MEETING)
            right = [("obj", self.full(second))]
        else:
            lemma = self.pick(lexicon.MOVING)
            right = [("obl", p.prepositional(rng.choice(["with", "past", "behind"]), self.full(second)))]
        if rng.random() < 0.75:
            right.append(("obl", self.place_phrase(rng.choice(["in", "near", "behind"]))))
        self.add(self.clause(lemma, first, subject, left, right))
        self.about(rng.choice([first, first, second]))

    def lending(self):
        """'The sailor lends Anna her rope': the owner is the subject, and someone else stands between."""
        rng = self.rng
        owner, other = self.two_unlike()
        left = self.opener(0.3)
        subject = self.subject(owner, 0.6)
        receiver = self.full(other)
        lemma = rng.choice(["give", "lend", "show", "sell", "bring"])
        if rng.random() < 0.7:
            right = [("iobj", receiver), ("obj", self.trade_thing(owner))]
        else:
            right = [("obj", self.trade_thing(owner)), ("obl", p.prepositional("to", receiver))]
        if rng.random() < 0.3:
            right.append(("obl", self.place_phrase(rng.choice(["in", "near"]))))
        self.add(self.clause(lemma, owner, subject, left, right))
        self.about(rng.choice([owner, owner, other]))

    def work(self):
        """Someone at their trade, and often more about them."""
        who = self.anyone()
        self.deed(who)
        if self.rng.random() < 0.6:
            self.about(who)

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
        self.add(self.clause(lemma, who, subject, left, right))

    def placing(self):
        """'She put the small old lamp into a box', 'He laid the drums down': the verb decides what follows its object."""
        rng = self.rng
        who = self.anyone()
        left = self.opener(0.3)
        subject = self.subject(who, 0.8)
        if rng.random() < 0.65:
            lemma, preposition = rng.choice(list(lexicon.GOVERNING.items()))
            pool = rng.choice([lexicon.THINGS, lexicon.FURNITURE, lexicon.PLACES])
            right = [("obj", self.described(lexicon.THINGS)), ("obl", p.prepositional(preposition, self.described(pool)))]
        else:
            lemma, particle = rng.choice(list(lexicon.PARTICLES.items()))
            right = [("obj", self.described(lexicon.THINGS)), ("compound:prt", p.preposition(particle))]
        self.add(self.clause(lemma, who, subject, left, right))
        if rng.random() < 0.5:
            self.about(who)

    def choice(self):
        """'She wanted neither the heavy bells nor a drum.'"""
        rng = self.rng
        who = self.anyone()
        left = self.opener(0.2)
        subject = self.subject(who, 0.8)
        before, conjunction = rng.choice(list(lexicon.CORRELATIVES.items()))
        first = attach(self.described(lexicon.THINGS), left=[("cc:preconj", Word(before, before, "CCONJ"))])
        choices = p.conjoin(first, self.described(lexicon.THINGS), conjunction=conjunction)
        self.add(attach(self.verb(self.pick(lexicon.TAKING), who), left=[*left, ("nsubj", subject)], right=[("obj", choices)]))

    def motion(self):
        who = self.rng.choice([self.hero, self.friend, self.group, self.animal])
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
        giver, taker = self.two_unlike()
        left = self.opener()
        subject = self.subject(giver)
        receiver = self.full(taker)
        gift = self.object(self.thing, giver)
        if self.rng.random() < 0.5 and gift.head.upos != "PRON":
            right = [("iobj", receiver), ("obj", gift)]
        else:
            right = [("obj", gift), ("obl", p.prepositional("to", receiver))]
        self.add(self.clause("give", giver, subject, left, right))
        if self.rng.random() < 0.7:
            self.about(self.rng.choice([giver, taker]))

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

    def plain_topic(self, about=None):
        """A short sentence about the subject of the last one, or someone."""
        topic = about or self.topic or self.hero
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
        if self.rng.random() < 0.6:
            owned = self.trade_thing(who, self.rng.choice(lexicon.TRADES[who.noun][1]))
        else:
            owned = p.noun_phrase(self.pick(lexicon.THINGS), self.rng.choice(["Sing", "Plur"]), "a")
        reason = attach(self.verb("have", who), left=[("nsubj", p.pronoun(who))], right=[("obj", owned)])
        self.add(p.copula(subject, p.adjective(self.pick(lexicon.FEELINGS)), self.tense, who.number, left=left,
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
            if rng.random() < 0.5:
                lemma, thing = rng.choice(lexicon.TRADES[speaker.noun][0])
                wish = attach(p.infinitive(lemma), right=[("obj", p.noun_phrase(thing, "Sing", "the"))] if thing else [])
            else:
                lemma, number = self.pick(lexicon.THINGS), rng.choice(["Sing", "Plur"])
                wish = attach(p.infinitive(rng.choice(["find", "see", "have", "keep"])),
                              right=[("obj", p.noun_phrase(lemma, number, "a", [self.pick(lexicon.QUALITIES)]))])
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
        act = self.rng.choice(["find", "carry", "fix", "hide", "sell", "mend", "bring", "see"])
        first = attach(self.verb("want", who), left=[("nsubj", subject)],
                       right=[("xcomp", p.to_infinitive(attach(p.infinitive(act), right=[("obj", self.full(self.thing))])))])
        self.focus = self.thing
        second = attach(p.infinitive(act),
                        left=[("nsubj", p.pronoun(who)), ("aux", p.modal("can", self.tense)), ("advmod", p.negation(self.tense == "Pres"))],
                        right=[("obj", p.pronoun(self.thing, "Acc"))])
        self.add(p.conjoin(first, second, conjunction="but", comma=True))

    def when_clause(self):
        who = self.anyone()
        number = self.rng.choice(["Sing", "Plur"])
        seen = attach(self.verb("see", who), left=[("nsubj", self.full(who))],
                      right=[("obj", p.noun_phrase(self.pick(lexicon.ANIMALS), number, "the", [self.pick(lexicon.ANIMAL_QUALITIES)]))])
        lemma = self.pick(lexicon.RESTING) if self.rng.random() < 0.5 else self.rng.choice(
            [lemma for lemma, thing in lexicon.TRADES[who.noun][0] if not thing] or ["wait"])
        main = attach(self.verb(lemma, who),
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
