"""The words of the stories: a few hundred lemmas, their classes and their forms.

A synonym pair is written "a=b"; both words take part in the grammar, and a later sentence may restate one by the other.
"""

FEMALE_NAMES = "Anna Lucy Emma Mary Alice Clara Rose Nora Ella Ivy Grace Lily Jane Kate Fanny Amy Beth Meg Agnes Dora Elinor Ruth".split()
MALE_NAMES = "Ben Tom Jack Peter Oliver Henry Sam Max Hugo Leo Arthur Felix John James Joe Jim Charles Edward Frank Mark David Paul".split()

FEMALE_NOUNS = "girl woman queen princess mother aunt sister grandmother daughter witch lady nun".split()
MALE_NOUNS = "boy man king prince father uncle brother grandfather son wizard knight monk".split()

# What a person of this noun does ("verb" or "verb:object") and owns.
TRADES = {
    noun: ([tuple(deed.split(":")) if ":" in deed else (deed, None) for deed in deeds.split()], things.split())
    for nouns, deeds, things in (
        ("sailor", "sail row:boat steer:ship", "rope oar sail"),
        ("baker", "bake bake:cake heat:oven", "bread flour oven"),
        ("farmer", "plough:field plant:corn dig", "corn cow plough"),
        ("hunter", "hunt shoot:arrow set:trap", "bow arrow trap"),
        ("painter", "paint:picture mix:colour", "brush picture colour"),
        ("singer", "sing sing:song hum", "voice song"),
        ("doctor", "heal cure:fever", "pill medicine"),
        ("thief", "steal steal:purse sneak", "mask purse"),
        ("fisher", "fish cast:net", "net hook"),
        ("gardener", "water:rose trim:hedge", "rose spade hedge"),
        ("guard", "guard:gate patrol", "spear gate"),
        ("smith", "hammer:iron forge:nail", "hammer nail anvil"),
        ("poet", "write write:poem rhyme", "pen ink poem"),
        ("drummer", "drum beat:drum", "drum stick"),
        ("weaver", "weave spin:wool", "wool thread loom"),
        ("teacher", "teach explain:lesson", "lesson chalk"),
        ("soldier", "march fire:gun", "gun flag"),
        ("builder", "build build:wall lay:brick", "brick ladder wall"),
        ("cook", "cook stir:soup", "soup spoon pot"),
        ("dancer", "dance dance:waltz twirl", "shoe ribbon"),
        ("queen king", "rule reign sign:law", "throne crown law"),
        ("princess prince", "bow open:ball", "jewel glove"),
        ("witch wizard", "curse:toad brew:potion", "potion broom toad"),
        ("lady knight", "joust polish:shield", "shield sword armour"),
        ("nun monk", "pray ring:bell kneel", "bell prayer"),
        ("girl boy", "play fly:kite skip", "kite marble"),
        ("woman man", "knit smoke:pipe", "pipe basket"),
        ("mother father", "iron:shirt sweep", "shirt kettle"),
        ("aunt uncle", "bet deal:card", "card dice"),
        ("sister brother", "draw:map read", "map book"),
        ("grandmother grandfather", "snore tell:tale", "chair tale"),
        ("daughter son", "swim dive", "towel raft"),
    )
    for noun in nouns.split()
}
NEUTRAL_NOUNS = [noun for noun in TRADES if noun not in FEMALE_NOUNS + MALE_NOUNS]

ANIMALS = (
    "dog cat fox bear rabbit bird horse mouse goat duck owl frog sheep wolf hen pig ant eagle lion tiger monkey snake spider "
    "bee crow deer donkey swan turtle whale"
).split()

THINGS = (
    "stone=rock gift=present bag=sack cup=mug hat=cap coat=jacket path=trail box=chest "
    "lamp key book ring bell rope basket ball drum flute mirror apple egg orange shell coin feather letter "
    "knife flower leaf blanket candle clock umbrella button plate fork doll toy wheel needle comb ribbon pearl whistle "
    "parcel pillow lantern bucket pencil saddle bottle"
).split()

PLACES = (
    "forest=wood road=street house=cottage hill river lake garden tower castle bridge cave field barn market "
    "school mill kitchen island village town mountain beach church station hall square pond farm inn harbour shop temple camp hut"
).split()

FURNITURE = "door window table desk tree bush fence roof shelf bench well fire stove bed cart post stair sofa".split()

MASS_NOUNS = "water milk bread honey sand snow gold rain grass soup salt wool".split()

BODY_PARTS = {"hand": "Plur", "foot": "Plur", "ear": "Plur", "face": "Sing", "nose": "Sing", "head": "Sing"}

IRREGULAR_PLURALS = {
    "woman": "women", "man": "men", "mouse": "mice", "sheep": "sheep", "wolf": "wolves", "knife": "knives",
    "leaf": "leaves", "shelf": "shelves", "foot": "feet", "child": "children", "person": "people", "roof": "roofs", "thief": "thieves",
}

FEELINGS = "happy=glad sad=unhappy tired=weary angry=cross scared=afraid ill=sick calm=quiet hungry proud sleepy lonely silent cheerful nervous bored thirsty".split()
TRAITS = "brave=bold clever=smart kind=gentle rich=wealthy strange=odd funny shy honest young careful polite rude lazy merry curious stubborn famous lucky handsome".split()
QUALITIES = (
    "big=large small=little old=ancient pretty=lovely hard=tough wet=damp loud=noisy "
    "heavy shiny round golden broken empty dirty clean soft red blue green white black ugly yellow thin thick cheap bright dark narrow plain sharp useful"
).split()
ANIMAL_QUALITIES = (
    "big=large small=little old=ancient pretty=lovely tough=hard wet=damp noisy=loud strange=odd young funny clever=smart "
    "brave=bold red black white brown grey wild tame fat fierce lame proud"
).split()
MASS_QUALITIES = "cold warm sweet fresh clean white good".split()

COMPARATIVES = {
    "big": "bigger", "large": "larger", "small": "smaller", "old": "older", "heavy": "heavier", "pretty": "prettier",
    "shiny": "shinier", "soft": "softer", "clean": "cleaner", "dirty": "dirtier", "loud": "louder", "wet": "wetter",
}

# Verbs by what they take. Irregular pasts stand in IRREGULAR_PASTS.
TAKING = (
    "find=discover carry=bring hide=conceal fix=mend choose=pick want=need like=love lose drop see hold clean sell keep"
).split()
MEETING = "help=aid follow=chase greet=welcome watch thank hug call meet visit blame trust scold admire join warn praise obey".split()
MOVING = "walk=stroll run=hurry jump=leap go=travel hike climb wander crawl drift".split()
RESTING = "sleep=nap cry=weep rest=relax smile=grin laugh=giggle wait eat sit dream yawn blush sigh sneeze whistle".split()
SHOWING = "shine glow stand fall move shake lie break".split()

# What follows the object of a verb: a preposition with its noun, or a particle.
GOVERNING = dict(pair.split(":") for pair in (
    "put:into tie:to borrow:from trade:for fill:with throw:over drag:through lean:against hang:on bury:under roll:along push:across"
).split())
PARTICLES = dict(pair.split(":") for pair in "lift:up lay:down take:off send:away turn:around pass:back hand:over pull:out".split())

FREQUENCY_ADVERBS = "often always never sometimes rarely usually".split()
MANNER_ADVERBS = "gladly carefully proudly bravely secretly calmly".split()

# A word before the first of two choices, and the one between them.
CORRELATIVES = {"either": "or", "neither": "nor", "both": "and"}

IRREGULAR_PASTS = {
    "find": "found", "bring": "brought", "hide": "hid", "choose": "chose", "lose": "lost", "see": "saw", "hold": "held",
    "sell": "sold", "keep": "kept", "draw": "drew", "meet": "met", "teach": "taught", "run": "ran", "leap": "leapt",
    "go": "went", "ride": "rode", "fly": "flew", "sleep": "slept", "weep": "wept", "sing": "sang", "eat": "ate",
    "sit": "sat", "shine": "shone", "stand": "stood", "rise": "rose", "fall": "fell", "shake": "shook", "lie": "lay",
    "break": "broke", "say": "said", "have": "had", "give": "gave", "tell": "told", "know": "knew", "live": "lived",
    "think": "thought", "begin": "began", "put": "put", "take": "took", "feel": "felt", "come": "came", "make": "made",
    "wake": "woke", "shoot": "shot", "set": "set", "sneak": "snuck", "cast": "cast", "write": "wrote", "beat": "beat",
    "weave": "wove", "spin": "spun", "build": "built", "lay": "laid", "ring": "rang", "kneel": "knelt", "knit": "knit",
    "sweep": "swept", "bet": "bet", "deal": "dealt", "read": "read", "swim": "swam", "steal": "stole", "lend": "lent",
    "dig": "dug", "throw": "threw", "hang": "hung", "send": "sent", "show": "showed", "speak": "spoke", "win": "won", "hear": "heard", "leave": "left", "do": "did", "can": "could",
}

DOUBLING = {"hug", "drop", "nap", "grin", "chat", "plan", "stop", "drum", "trim", "hum", "skip", "patrol", "stir", "drag"}

SYLLABLE_ONSETS = "b d f g h j k l m n p r s t v w z b d f g k l m n r s t v br dr gr kr tr sh fl pl st".split()
SYLLABLE_VOWELS = "a e i o u".split()
SYLLABLE_CODAS = ["", "", "", "", "", "", "l", "n", "r", "m", "k", "x"]


def alternatives(entry):
    """The words of a lexicon entry: one, or the two of a synonym pair."""
    return entry.split("=")


def _pairs():
    partner = {}
    for entries in (THINGS, PLACES, FEELINGS, TRAITS, QUALITIES, TAKING, MEETING, MOVING, RESTING):
        for entry in entries:
            words = alternatives(entry)
            if len(words) == 2:
                partner[words[0]], partner[words[1]] = words[1], words[0]
    return partner


SYNONYM = _pairs()


def plural(noun):
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def third_person(verb):
    """The present form that goes with a singular subject."""
    if verb in ("have", "be", "do", "can"):
        return {"have": "has", "be": "is", "do": "does", "can": "can"}[verb]
    if verb.endswith(("s", "x", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def past(verb):
    if verb in IRREGULAR_PASTS:
        return IRREGULAR_PASTS[verb]
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ed"


def finite(verb, tense, number):
    """The form of `verb` in `tense` ("Past", "Pres") for a third-person subject of `number` ("Sing", "Plur")."""
    if verb == "be":
        return {("Past", "Sing"): "was", ("Past", "Plur"): "were", ("Pres", "Sing"): "is", ("Pres", "Plur"): "are"}[tense, number]
    if tense == "Past":
        return past(verb)
    return third_person(verb) if number == "Sing" else verb


def article(next_word):
    vowel = next_word[0].lower() in "aeiou" and next_word != "useful"
    return "an" if vowel or next_word == "honest" else "a"
