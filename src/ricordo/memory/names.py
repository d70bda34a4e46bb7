"""Rule (b): what may be the name of an entity, and which words mean the user."""

import re
import unicodedata

from ricordo.memory.phrases import unaccented
from ricordo.memory.screening import instruction_like, refuse_reason
from ricordo.model import MAX_NAME, SELF

_SELF = frozenset(
    "i me my mine myself self user ich mir mich je j j' moi io mi benutzer benutzerin nutzer "
    "nutzerin anwender anwenderin utilisateur utilisatrice utente l'utilisateur l'utilisatrice "
    "l'utente".split()
)
_PRONOUNS = frozenset(
    "you he she it we they him her us them his hers its our ours their theirs your yours yourself "
    "himself herself itself ourselves themselves this that these those here there who whom whose "
    "which what one ones someone somebody something anyone anybody anything everyone everybody "
    "everything nobody nothing none other others another thing things stuff "
    "du er sie es wir ihr ihm ihn ihnen uns euch dich dir sich man dieser diese dieses jener jene "
    "jenes hier dort da wer wen wem was jemand etwas niemand nichts alle alles andere anderer "
    "tu il elle on nous vous ils elles lui leur leurs eux te toi se ce cela ca ceci celui celle "
    "ceux celles ici la qui que quoi quelqu'un quelque chose personne rien tous tout autre autres "
    "lei noi voi loro egli ella esso essa essi esse ci vi si questo questa questi queste quello "
    "quella quelli quelle qui qua chi che cosa qualcuno qualcosa nessuno niente tutti tutto altro "
    "altra".split()
)
_PLACEHOLDERS = frozenset(
    "unknown unnamed unspecified undefined undetermined anonymous null nil nan n/a na tbd tba todo "
    "xxx x y z etc placeholder example name entity entities object subject source target relation "
    "value string text person people project company organization organisation team place location "
    "city country product item topic unbekannt unbenannt beispiel platzhalter projekt firma "
    "unternehmen ort stadt leute mensch personne gens inconnu inconnue exemple projet entreprise "
    "equipe lieu ville sconosciuto sconosciuta esempio progetto azienda squadra luogo persona "
    "assistant agent ai bot chatbot assistent assistente".split()
)
_ARTICLES = frozenset(
    "the a an der die das den dem des ein eine einen einem einer le la les l' un une des il lo gli "
    "i uno una".split()
)
_POSSESSIVES = frozenset(
    "my your his her its our their this that these those mein meine meinen meinem meiner dein "
    "deine sein seine ihr ihre unser unsere unseren unserem dieser diese dieses diesen diesem mon "
    "ma mes ton ta tes son sa ses notre nos votre vos leur leurs ce cet cette ces mio mia miei mie "
    "tuo tua suo sua suoi sue nostro nostra vostro vostra questo questa quel quella".split()
)
_MARKUP = re.compile(
    r"<[A-Za-z/!?][^<>]{0,300}>|```|\{\{|\}\}|\$\{|<\||\|>|\]\(|^\[[^\]]*\]$|\[/?INST\]|^[#>*]{1,6}\s"
)
_JOINERS = "\u200c\u200d"


def cleaned(name: str) -> str:
    """The name in NFC with single spaces, without quotes around it or a small leading article.

    ``"  the  service mesh "`` becomes ``"service mesh"``; ``"The Hague"`` stays.
    """
    words = unicodedata.normalize("NFC", name).split()
    text = " ".join(words)
    while len(text) > 2 and (text[0], text[-1]) in _PAIRS:
        text = text[1:-1].strip()
    first, _, rest = text.partition(" ")
    return rest if rest and first in _ARTICLES and first.islower() else text


_PAIRS = frozenset({('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("«", "»"), ("`", "`")})


def means_self(name: str) -> bool:
    """Whether the word stands for the user: ``I``, ``ich``, ``the user`` …"""
    plain = cleaned(name)
    folded = unaccented(plain).replace("’", "'").removeprefix("the ")
    return folded == SELF or (folded in _SELF and not _is_acronym(plain))


def fault_of(name: str) -> str | None:
    """Why this (cleaned) name is no name, in words without the name itself; None when it is one."""
    if not name:
        return "it is empty"
    if len(name) > MAX_NAME:
        return f"it has {len(name):,} characters; a name has at most {MAX_NAME}"
    if any(_unseen(name, at) for at in range(len(name))):
        return "it contains a control or invisible character"
    if not any(character.isalnum() for character in name):
        return "it has neither a letter nor a digit"
    if _MARKUP.search(name):
        return "it contains markup or a template mark"
    if _is_pronoun(name):
        return "it is a pronoun; a name says who or what is meant"
    if _is_placeholder(name):
        return "it is a placeholder or a mere kind of thing; a name says which one"
    if refuse_reason(name) is not None:
        return "it looks like a secret"
    if instruction_like(name):
        return "it is an instruction"
    return None


def _unseen(name: str, at: int) -> bool:
    category = unicodedata.category(name[at])
    if category == "Cf" and name[at] in _JOINERS:
        # Scripts of South Asia, Persian and emoji need them; between Latin letters they deceive.
        return at == 0 or ord(name[at - 1]) < 0x590
    return category in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _is_acronym(name: str) -> bool:
    """``IT``, ``US`` and ``WHO`` are names, although ``it``, ``us`` and ``who`` are none."""
    return len(name) > 1 and name.isupper()


def _is_pronoun(name: str) -> bool:
    return not _is_acronym(name) and unaccented(name) in _PRONOUNS | _SELF


def _is_placeholder(name: str) -> bool:
    folded = unaccented(name)
    first, _, rest = name.partition(" ")
    if not rest:
        return folded in _PLACEHOLDERS and (not _is_acronym(name) or folded in ("n/a", "tbd"))
    if unaccented(first) in _ARTICLES | _POSSESSIVES and unaccented(rest) in _PLACEHOLDERS:
        return True
    # "my boss" is nobody in particular, "My Chemical Romance" is a name.
    vague = unaccented(first) in _POSSESSIVES
    return vague and (first.islower() or rest.islower())


def named_in(name: str, text: str) -> bool:
    """Whether the text names it: all its words occur there, up to an ending.

    ``"Project Falcon"`` is named in "Falcon, our project, …"; ``"microservice"`` in
    "uses microservices".
    """
    folded = unaccented(unicodedata.normalize("NFKC", text))
    sought = unaccented(unicodedata.normalize("NFKC", name))
    if sought in folded:
        return True
    said = set(re.findall(r"\w+", folded))
    wanted = [word for word in re.findall(r"\w+", sought) if word not in _ARTICLES]
    return bool(wanted) and all(_said(word, said) for word in wanted)


def _said(word: str, said: set[str]) -> bool:
    if word in said:
        return True
    return len(word) >= 4 and any(
        len(other) >= 4 and abs(len(other) - len(word)) <= 3 and _begins(word, other)
        for other in said
    )


def _begins(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
