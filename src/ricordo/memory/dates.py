"""The dates that a question names, and whether it asks for one, in four languages."""

import re

from ricordo.model import Dates

_MONTHS = (
    "january jan januar janvier gennaio",
    "february feb februar février fevrier febbraio",
    "march mar märz maerz mars marzo",
    "april apr avril aprile",
    "may mai maggio",
    "june jun juni juin giugno",
    "july jul juli juillet luglio",
    "august aug août aout agosto",
    "september sep sept septembre settembre",
    "october oct oktober okt octobre ottobre",
    "november nov novembre",
    "december dec dezember dez décembre decembre dicembre",
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_UNSURE = frozenset("jan mar march may mars sep dec nov".split())
"""Also a name, a verb or a planet: months only beside a number, or after a word of time."""

_NAMES = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_ORDINAL = r"(?:st|nd|rd|th|er|\.|°|º)?"
_BEFORE = (
    r"(?:in|of|since|until|till|early|mid|late|during|last|next|this|im|seit|bis|ende|anfang|"
    r"mitte|en|depuis|fin|début|nel|da|a|di|dal|fine|inizio)"
)
_MONTH = re.compile(
    rf"(?:\b(?P<day>\d{{1,2}}){_ORDINAL}(?:\s+(?:of|de|di))?\s+|\b(?P<word>{_BEFORE})\s+)?"
    rf"\b(?P<month>{_NAMES})\b\.?"
    rf"(?:\s*,?\s+(?P<later>\d{{1,2}}){_ORDINAL}(?!\d)|(?=\s*,?\s*(?P<year>(?:19|20)\d\d)\b))?"
)
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d]|[.,]\d)")
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b")
_DOTTED = re.compile(r"\b(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>(?:19|20)\d\d)\b")

_ASKS = re.compile(
    r"\b(?:when|how long|how often|what (?:date|day|month|year|time)|which (?:date|day|month|year)|"
    r"wann|wie lange|wie oft|seit wann|welche[mnrs]? (?:tag|monat|jahr|datum)|"
    r"quand|combien de temps|quel(?:le)? (?:jour|mois|année|date)|"
    r"quando|da quanto|per quanto tempo|(?:che|quale) (?:giorno|mese|anno|data))\b"
)
_TELLS = re.compile(
    rf"\d|\b(?:{_NAMES}|yesterday|today|tonight|tomorrow|last|next|ago|since|weeks?|weekend|months?|"
    r"years?|\w+day|gestern|heute|morgen|letzte[mnrs]?|nächste[mnrs]?|vor|seit|woche|wochenende|"
    r"monat|jahr|\w+tag|mittwoch|hier|aujourd'hui|demain|dernière?|prochaine?|depuis|semaine|mois|"
    r"année|ans?|\w+di|dimanche|ieri|oggi|domani|scors[oa]|prossim[oa]|fa|settimana|mese|anno|anni|"
    r"\w+edì|sabato|domenica)\b"
)


def dates_in(question: str) -> Dates:
    """Years, months and days that a question names; months without a year are of any year."""
    text = question.casefold()
    years = {int(match[0]) for match in _YEAR.finditer(text)}
    months: set[int] = set()
    days: set[int] = set()
    for match in (*_ISO.finditer(text), *_DOTTED.finditer(text)):
        years.add(int(match["year"]))
        months.add(int(match["month"]))
        days |= {int(match["day"])} if match["day"] else set()
    for match in _MONTH.finditer(text):
        beside = any(match[part] for part in ("day", "word", "later", "year"))
        if match["month"] not in _UNSURE or beside:
            months.add(_MONTH_OF[match["month"]])
            days |= {int(match[part]) for part in ("day", "later") if match[part]}
    return Dates(years=tuple(sorted(years)), months=tuple(sorted(months)), days=tuple(sorted(days)))


def asks_for_time(question: str) -> bool:
    """Whether a question asks when, or for how long."""
    return _ASKS.search(question.casefold()) is not None


def tells_time(text: str) -> bool:
    """Whether a text holds a number or a word of time."""
    return _TELLS.search(text.casefold()) is not None
