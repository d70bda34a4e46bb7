"""Whether a message only greets, thanks or agrees: then it asks for no fact."""

import re

from ricordo.memory.phrases import unaccented

MOST_WORDS = 8
"""Words of the longest message that is looked at; a longer one is taken to say something."""

_WORD = re.compile(r"[^\W_]+")

_WORDS = frozenset(
    """
    hello hi hey hiya yo greetings welcome good morning afternoon evening night day weekend bye
    goodbye see you later soon tomorrow thanks thank thx ty cheers very much so a lot again ok
    okay k alright all right fine great perfect cool nice awesome excellent wonderful lovely
    super wow well done yes yeah yep yup no nope sure of course got it that s is sounds please
    how are there doing going haha lol sorry excuse pardon never mind np hallo hoi gruezi servus
    moin salut guten morgen tag abend nacht schonen gruss gott tschuss ciao auf wiedersehen bis
    spater bald danke dir dich ihnen vielen herzlichen merci bitte gerne gern geschehen sehr
    schon gut prima toll klasse genau ja nein doch klar naturlich alles in ordnung passt wie
    geht es einverstanden verstanden entschuldigung bonjour bonsoir bonne journee nuit soiree
    coucou au revoir bientot plus tard demain beaucoup bien mille fois oui non d accord parfait
    genial tres ca va et toi vous cava il te plait de rien buongiorno buonasera buonanotte buona
    giornata sera notte salve arrivederci presto dopo domani grazie tante prego si bene perfetto
    ottimo certo accordo capito come stai sta scusa molto gentile hola buenos dias buenas tardes
    noches adios gracias muchas vale perfecto hasta luego nada que tal
    """.split()
)
"""Of greetings, thanks and assent in English, German, French, Italian, Spanish; unaccented."""


def small_talk(message: str) -> bool:
    """Whether all words of a short message are such as greet, thank or agree.

    One of no words at all, a thumb up for example, is small talk too.
    """
    words = _WORD.findall(unaccented(message))
    return len(words) <= MOST_WORDS and all(word in _WORDS for word in words)
