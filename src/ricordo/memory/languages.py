"""Which language a text is in, as far as its small words tell."""

_SMALL = {
    "en": """the of and to in is was for it with that on as are at this be have from or by not but
        what when who how which where why does did do you he she they his her their my your we i
        i'm it's don't has had were would can will there so if about just me him out up then than
        been its""",
    "de": """der die das und ist nicht ein eine einen einem einer mit zu auf für von dem den des im
        am ich du er sie es wir ihr sich auch wie was wer wo wann warum welche welcher welches
        welchen hat haben war waren wird bei aus nach noch nur aber oder wenn dass mein meine dein
        sein seine ihre uns mir mich dir zum zur vom ins kann soll muss gibt wessen wem bis hab bin
        habe""",
    "fr": """le la les un une des du de et est en que qui quoi dans pour pas sur au aux avec ce
        cette ces il elle ils elles je tu nous vous mon ma mes ton ta son sa ses leur où quand
        comment pourquoi quel quelle quels quelles a ont été sont était ne se plus par mais ou si
        on y combien d'où est-ce c'est j'ai j' l' d' qu' n' s' c' suis""",
    "it": """il lo la gli le un uno una di del della dei delle dello da dal dalla in nel nella e è
        che chi non per con su sul sulla al alla ai alle come quando dove perché quale quali quanto
        quanti cosa ho ha hanno abbiamo sono era sei si mi ti ci mio mia tuo sua suo loro più ma
        anche c'è l' d' dell' all' nell' un' cui ogni""",
    "es": """el la los las un una de del y es en que qué quién por para con no se su sus al lo como
        cómo cuándo dónde cuál cuánto cuántos están está fue ha he mi tu yo nos muy pero más ya hay
        cuando porque adónde""",
    "pt": """o a os as um uma de do da dos das e é em que não no na por para com se seu sua ao como
        quando onde qual quanto quem foi tem está são mas mais eu você ele ela meu minha""",
    "nl": """de het een en van is in dat op te niet met voor die er aan zijn ik je hij zij wij we
        wat wie waar wanneer hoe waarom welke heeft hebben was naar ook maar om uit bij nog mijn
        haar hun deze dit worden wordt""",
}


def _weighed() -> dict[str, tuple[tuple[str, float], ...]]:
    """Per word its languages, each with what the word proves: the more share it, the less."""
    languages: dict[str, list[str]] = {}
    for language, words in _SMALL.items():
        for word in words.split():
            languages.setdefault(word, []).append(language)
    return {
        word: tuple((language, 1 / len(found)) for language in found)
        for word, found in languages.items()
    }


_PROVES = _weighed()
_AROUND = '.,;:!?¿¡()[]"“”„«»*_-–…'

_READ = 200
"""Characters of a text that are looked at."""

_ENOUGH, _CLEARLY = 0.75, 1.5
"""How much must speak for a language, and how many times as much as for any other."""


def language(text: str) -> str | None:
    """The language of a text, one of seven; None where its small words do not tell."""
    proof: dict[str, float] = {}
    for word in text[:_READ].casefold().replace("’", "'").split():
        for name, weight in _proves(word.strip(_AROUND)):
            proof[name] = proof.get(name, 0.0) + weight
    if not proof:
        return None
    best = max(proof, key=proof.__getitem__)
    rest = max((value for name, value in proof.items() if name != best), default=0.0)
    return best if proof[best] >= max(_ENOUGH, _CLEARLY * rest) else None


def _proves(word: str) -> tuple[tuple[str, float], ...]:
    """What a word proves, or the part before its apostrophe: ``l'`` of ``l'hôtel``."""
    found = _PROVES.get(word)
    if found is None and "'" in word:
        found = _PROVES.get(word[: word.index("'") + 1])
    return found or ()
