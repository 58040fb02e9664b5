"""Write minimal pairs in the language of the stories, a line of JSON each.

    python3 make_tasks.py --seed 5 --count 200 --tokenizer tokenizer --output tasks.jsonl

Each task has `count` pairs of a prefix with a good and a bad continuation; `relation` names the Universal Dependencies
relation that decides. Pair i of a task depends on (seed, task, i) alone. Every text joins words that the stories' grammar
keeps apart (a subject with two adjectives, an adjective after this or these, a person's name with another's), so that training never saw it.
"""

import argparse
import json
import pathlib
import random

import lexicon
from gpt2 import Tokenizer
from lexicon import finite, plural
from story_world import PREPOSITIONS, World

NUMBERS = ["Sing", "Plur"]
OTHER = {"Sing": "Plur", "Plur": "Sing"}
COUNTABLE = [noun for noun in lexicon.FURNITURE + [word for entry in lexicon.THINGS for word in lexicon.alternatives(entry)]
             if plural(noun) != noun]
ADJECTIVES = [word for entry in lexicon.QUALITIES for word in lexicon.alternatives(entry)]


def form(noun, number):
    return noun if number == "Sing" else plural(noun)


def setting(rng, tense="Past"):
    """A story's first sentence. Without it the model does not take what follows for a story."""
    trait = rng.choice([word for entry in lexicon.TRAITS for word in lexicon.alternatives(entry)])
    noun = rng.choice(lexicon.MALE_NOUNS + lexicon.FEMALE_NOUNS)
    place = World(rng, "").invented_word(3).capitalize()
    return f"{lexicon.article(trait).capitalize()} {trait} {noun} {finite('live', tense, 'Sing')} in {place}. "


def agreement(rng, index, n_attractor):
    """A verb's number across `n_attractor` nouns of the other number."""
    number = NUMBERS[index % 2]
    subject, *others = rng.sample(COUNTABLE, 1 + n_attractor)
    first, second = rng.sample(ADJECTIVES, 2)
    tense = rng.choice(["Past", "Pres"])
    prefix = setting(rng, tense) + f"The {first} {second} {form(subject, number)}"
    for noun in others:
        prefix += f" {rng.choice(PREPOSITIONS)} the {form(noun, OTHER[number])}"
    return {"prefix": prefix, "good": " " + finite("be", tense, number), "bad": " " + finite("be", tense, OTHER[number]), "relation": "nsubj"}


def pronoun_gender(rng, index):
    """The subject of the sentence before, whose object is of the other gender; a third person opens the story."""
    lists = rng.choice([(lexicon.FEMALE_NAMES, lexicon.MALE_NAMES), (lexicon.FEMALE_NOUNS, lexicon.MALE_NOUNS)])
    people = [word if word[0].isupper() else "the " + word for word in map(rng.choice, lists)]
    pronouns = [" She", " He"]
    if index % 2 == 1:
        people.reverse()
        pronouns.reverse()
    verb = finite(rng.choice([word for entry in lexicon.MEETING for word in lexicon.alternatives(entry)]), "Past", "Sing")
    place = f"{rng.choice(ADJECTIVES)} {rng.choice(lexicon.FURNITURE)}"
    prefix = setting(rng) + f"{people[0][0].upper()}{people[0][1:]} {verb} {people[1]} near the {place}."
    return {"prefix": prefix, "good": pronouns[0], "bad": pronouns[1]}


def recurring_name(rng, index):
    """An invented name said again, against one that was not said; each pair of names comes both ways round."""
    names = [" ".join(World(rng, "").invented_name()) for _ in range(2)]
    noun = rng.choice(lexicon.MALE_NOUNS + lexicon.FEMALE_NOUNS)
    first, second = rng.sample([word for entry in lexicon.TRAITS for word in lexicon.alternatives(entry)], 2)
    verb = rng.choice(["knew", "loved", "thanked", "liked"])
    if index % 2 == 1:
        names.reverse()
    return {"prefix": f"Once upon a time, there was {lexicon.article(first)} {first} {second} {noun} called {names[0]}. Everyone {verb}",
            "good": " " + names[0], "bad": " " + names[1]}


def distinct_nouns(tokenizer):
    """Nouns whose plural is not the tokens of the singular and more: such a pair would compare a token with none."""
    def goes_on(noun):
        singular, more = (tokenizer.encode(" " + form(noun, number)) for number in NUMBERS)
        return more[:len(singular)] == singular
    return [noun for noun in COUNTABLE if not goes_on(noun)]


def determiner_noun(rng, index, nouns):
    """A noun's number after a demonstrative and an adjective."""
    number = NUMBERS[index % 2]
    determiner = rng.choice({"Sing": ["This", "That"], "Plur": ["These", "Those"]}[number])
    noun = rng.choice(nouns)
    name = rng.choice(lexicon.FEMALE_NAMES + lexicon.MALE_NAMES)
    return {"prefix": setting(rng) + f'{name} {rng.choice(["said", "shouted", "whispered"])}, "{determiner} {rng.choice(ADJECTIVES)}',
            "good": " " + form(noun, number), "bad": " " + form(noun, OTHER[number]), "relation": "det"}


def control(rng, index):
    """Two nouns equally right; which is called good is left to chance."""
    first, second = rng.sample(ADJECTIVES, 2)
    good, bad = rng.sample(COUNTABLE, 2)
    finder = rng.choice(lexicon.FEMALE_NAMES + lexicon.MALE_NAMES)
    return {"prefix": setting(rng) + f"{finder} found the {first} {second}", "good": " " + good, "bad": " " + bad}


def tasks(tokenizer):
    """Task -> function of (rng, index) that makes a pair."""
    nouns = distinct_nouns(tokenizer)
    return {
        "agreement_no_attractor": lambda rng, index: agreement(rng, index, 0),
        "agreement_one_attractor": lambda rng, index: agreement(rng, index, 1),
        "agreement_two_attractors": lambda rng, index: agreement(rng, index, 2),
        "pronoun_gender": pronoun_gender,
        "recurring_name": recurring_name,
        "determiner_noun": lambda rng, index: determiner_noun(rng, index, nouns),
        "control": control,
    }


def make_pairs(seed, count, tokenizer):
    """All pairs. Pairs 2k and 2k + 1 of a task are drawn alike and differ in which side is right, but for the control."""
    for task, make in tasks(tokenizer).items():
        for index in range(count):
            draw = index if task == "control" else index // 2
            yield {"task": task} | make(random.Random(f"{seed}/{task}/{draw}"), index)


def read_tokenizer(folder):
    return Tokenizer(*((folder / name).read_text(encoding="utf-8") for name in ("vocab.json", "merges.txt")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--count", type=int, default=200, help="pairs of each task")
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True, help="folder with vocab.json and merges.txt")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    with open(arguments.output, "w", encoding="utf-8", newline="\n") as out:
        for pair in make_pairs(arguments.seed, arguments.count, read_tokenizer(arguments.tokenizer)):
            out.write(json.dumps(pair, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
