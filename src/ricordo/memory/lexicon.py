"""Words that make a text delicate, in English, German, French and Italian.

Small on purpose: a hit sends a memory to a person, a miss only leaves it as careful as any other.
Words with an everyday or technical sense ("union", "race", "disabled", "party") are left out or
stand in a longer phrase. A word that ends in ``*`` stands for every word that begins so. All are
compared without case and accents.
"""

SPECIAL: dict[str, tuple[str, ...]] = {
    "health": (
        "diabet*", "diabète", "cancer", "krebs", "krebserkrankung", "cancro", "tumor", "tumore",
        "tumeur", "leukemia", "leukämie", "leucémie", "leucemia", "depression", "depressions",
        "depressionen", "depressive", "depressiv", "dépressif", "dépressive", "depressione",
        "depresso", "depressa", "anxiety disorder", "panic attack*", "panikattacke*",
        "angststörung*", "trouble anxieux", "disturbo d'ansia", "bipolar", "bipolaire", "bipolare",
        "schizophren*", "schizofren*", "hiv", "hiv-positive", "hepatitis", "hépatite", "epatite",
        "pregnan*", "schwanger*", "enceinte", "grossesse", "incinta", "gravidanza", "miscarriage",
        "fehlgeburt", "fausse couche", "aborto", "allergic", "allergi*", "allergisch*", "asthma*",
        "asthme", "asma", "asmatic*", "epilep*", "epiless*", "adhd", "adhs", "autis*",
        "disability", "disabilities", "behinderung*", "schwerbehindert*", "handicapé*",
        "disabilità", "wheelchair", "rollstuhl", "fauteuil roulant", "sedia a rotelle",
        "medication", "medications", "antidepressant*", "antidepressiv*", "antidépresseur*",
        "antidepressivi", "insulin*", "chemotherap*", "chimiothérapie", "chemioterapia",
        "psychotherap*", "psychothérap*", "psicoterap*", "therapist", "therapeut*", "psychiat*",
        "psichiatr*", "diagnosed with", "diagnostiziert", "a été diagnostiqué*", "diagnosticat*",
        "sick leave", "krankgeschrieben", "arrêt maladie", "congedo per malattia", "burnout",
        "burn-out", "chronically ill", "chronic illness", "chronisch krank", "krankheit",
        "erkrankt", "erkrankung", "malade", "maladie*", "malattia", "malattie", "malato", "malata",
        "high blood pressure", "bluthochdruck", "hypertension", "ipertensione", "stroke patient",
        "schlaganfall", "infarctus", "infarto", "herzinfarkt", "heart attack", "blood type",
        "blutgruppe", "groupe sanguin", "gruppo sanguigno", "addiction to", "alcoholic",
        "alkoholiker*", "alcoolique", "alcolista", "celiac", "coeliac", "zöliakie", "cœliaque",
        "celiachi*", "lactose intoleran*", "laktoseintoleran*", "intolérance au lactose",
        "intolleran*",
    ),
    "religion": (
        "religion", "religious", "religiös*", "religieux", "religieuse*", "religios*", "catholic*",
        "katholi*", "catholique*", "cattolic*", "protestant*", "evangelisch*", "reformiert",
        "muslim*", "moslem*", "musulman*", "islam*", "jewish", "judaism", "jüdisch*", "judentum",
        "jüdin", "juif", "juive", "juifs", "judaïsme", "ebreo", "ebrea", "ebraic*", "hindu*",
        "hindou*", "induist*", "buddhis*", "bouddhis*", "buddist*", "sikh", "atheis*", "athée",
        "ateo", "atea", "ateismo", "agnostic", "agnostiker*", "agnostique", "agnostico",
        "christianity", "christentum", "christianisme", "cristianesimo", "goes to church",
        "geht in die kirche", "va à l'église", "va in chiesa", "va à la messe", "va a messa",
        "mosque", "moschee", "mosquée", "moschea", "synagog*", "sinagoga", "ramadan", "kosher",
        "koscher", "halal", "mormon", "mormone", "jehovah's witness*", "zeuge jehovas",
        "zeugen jehovas", "témoin de jéhovah", "testimone di geova", "baptised", "baptized",
        "konfession", "konfessionslos",
    ),
    "politics": (
        "political view*", "political opinion*", "politische meinung", "politische ansicht*",
        "opinion politique", "opinions politiques", "opinione politica", "opinioni politiche",
        "votes for", "voted for", "vote for the", "wählt die", "wählte die", "hat die * gewählt",
        "vote pour", "a voté pour", "vota per", "ha votato per", "ha votato", "party member of",
        "parteimitglied", "parteimitgliedschaft", "membre du parti", "membro del partito",
        "iscritto al partito", "left-wing", "right-wing", "linksextrem*", "rechtsextrem*",
        "extrême droite", "extrême gauche", "estrema destra", "estrema sinistra", "socialist",
        "socialists", "sozialdemokrat*", "sozialist*", "socialiste*", "socialista", "communist*",
        "kommunist*", "communiste*", "comunist*", "republican voter", "republican party",
        "democratic party", "partito democratico", "parti socialiste", "parti républicain",
        "conservative party", "labour party", "svp-mitglied", "sp-mitglied", "fdp-mitglied",
        "cdu-mitglied", "spd-mitglied", "afd", "fratelli d'italia", "lega nord",
        "political activist", "politisch aktiv", "militant politique", "attivista politic*",
    ),
    "union": (
        "trade union*", "labor union*", "labour union*", "union member*", "member of the union",
        "unioni* workers", "gewerkschaft*", "syndicat", "syndicats", "syndiqué*", "syndicaliste*",
        "sindacat*", "sindacalist*", "shop steward", "unia-mitglied", "verdi-mitglied",
    ),
    "ethnicity": (
        "ethnicity", "ethnic origin", "ethnic background", "ethnic minority", "ethnisch*",
        "ethnie", "origine ethnique", "etnia", "origine etnica", "racial origin", "rassisch*",
        "origine raciale", "origine razziale", "skin colo*r", "skin colour", "skin color",
        "hautfarbe", "couleur de peau", "colore della pelle", "migrationshintergrund",
        "african-american", "afroamerikan*", "afro-américain*", "afroamerican*", "hispanic",
        "latino", "latina", "romani people", "sinti und roma",
    ),
    "sexual-life": (
        "gay", "lesbian*", "lesbisch*", "lesbienne*", "lesbica", "lesbiche", "bisexual*",
        "bisexuell*", "bisexuel*", "bisessual*", "homosexual*", "homosexuell*", "homosexuel*",
        "omosessual*", "schwul", "schwuler", "transgender", "transsexuell*", "transsexual*",
        "transgenre", "non-binary", "nichtbinär", "non binaire", "queer", "lgbt*",
        "sexual orientation", "sexuelle orientierung", "orientation sexuelle",
        "orientamento sessuale", "sex life", "sexualleben", "vie sexuelle", "vita sessuale",
    ),
    "biometrics": (
        "biometric*", "biometrisch*", "biométri*", "biometri*", "fingerprint scan*",
        "her fingerprint*", "his fingerprint*", "my fingerprint*", "fingerabdr*",
        "empreintes digitales", "empreinte digitale", "impronte digitali", "impronta digitale",
        "iris scan*", "retina scan*", "facial recognition", "face recognition",
        "gesichtserkennung", "reconnaissance faciale", "riconoscimento facciale", "dna test*",
        "dna-test", "test adn", "test del dna", "genetic test*", "gentest", "genetische*",
        "test génétique", "test genetico", "voiceprint",
    ),
    "criminal-record": (
        "criminal record", "criminal conviction*", "convicted of", "was convicted", "ex-convict",
        "felony", "felon", "in prison", "in jail", "on parole", "was arrested", "vorbestraft",
        "vorstrafe*", "strafregister*", "im gefängnis", "verurteilt", "verhaftet",
        "casier judiciaire", "en prison", "condamné pour", "condamnée pour", "a été condamné*",
        "a été arrêté*", "precedenti penali", "fedina penale", "in carcere", "in prigione",
        "condannato per", "condannata per", "stato arrestato", "stata arrestata",
    ),
}  # fmt: skip
"""Special categories of personal data (and criminal records): name → words."""

_PREVIOUS = r"previous|prior|above|earlier|preceding|all|any|every|your|these|those|system"
_ORDERS = r"instructions?|rules?|prompts?|guidelines|directives|commands?|context|constraints"

COMMANDS: tuple[str, ...] = (
    # Overriding what the model was told.
    rf"\b(?:ignore|disregard|forget|override|bypass)\b(?:\W+\w+){{0,4}}?\W+(?:{_PREVIOUS})\b"
    rf"(?:\W+\w+){{0,4}}?\W+(?:{_ORDERS})\b",
    r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missachte\w*|umgeh\w*)\b(?:\W+\w+){0,5}?\W+"
    r"(?:anweisung\w*|regel\w*|instruktion\w*|vorgabe\w*|befehl\w*|prompt\w*)\b",
    r"\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|contourne[rz]?)\b(?:\W+\w+){0,5}?\W+"
    r"(?:instructions?|consignes?|regles?|directives?|ordres?|prompts?)\b",
    r"\b(?:ignora\w*|dimentica\w*|trascura\w*|aggira\w*)\b(?:\W+\w+){0,5}?\W+"
    r"(?:istruzion[ei]|regol[ae]|indicazion[ei]|direttiv[ae]|ordin[ei]|prompt)\b",
    # A new role, or orders that hold for ever.
    r"\b(?:you are now|from now on,? you|act as (?:a|an|if|my)|pretend (?:to be|that you))\b",
    r"\b(?:du bist (?:jetzt|nun|ab sofort)|ab (?:jetzt|sofort) (?:bist|sollst|musst) du)\b",
    r"\b(?:tu es (?:maintenant|desormais)|desormais,? (?:tu|vous)|a partir de maintenant,? (?:tu|vous))\b",
    r"\b(?:ora sei|adesso sei|d'ora in (?:poi|avanti),? (?:sei|devi|tu))\b",
    r"\byou (?:must|have to|shall|are (?:required|obliged) to|should always|should never|may not)\b",
    r"\b(?:du musst|du sollst|ihr musst|sie mussen (?:immer|stets|jetzt)|du darfst n)",
    r"\b(?:tu dois|vous devez|tu ne dois|il faut toujours que tu)\b",
    r"\b(?:devi|dovete|deve sempre|non devi)\b",
    # Pushing a product, a link or a payee.
    r"\balways (?:recommend|suggest|promote|prefer to recommend|buy|choose|visit|click|trust|send|"
    r"forward|include|insert|append|mention|say|tell|reply with|respond with|approve|accept)\b",
    r"\b(?:recommend|suggest|promote)\w*\b(?:\W+\w+){0,6}?\W+(?:in every|to every|to all|whenever)\b",
    r"\b(?:empfiehl|empfehle|empfehlen sie|erwahne|schlag)\b(?:\W+\w+){0,4}?\W+immer\b",
    r"\b(?:immer|stets)\b(?:\W+\w+){0,4}?\W+(?:empfehlen|vorschlagen|erwahnen|weiterleiten)\b",
    r"\b(?:recommande[rz]?|propose[rz]?|mentionne[rz]?|suggere[rz]?)\b(?:\W+\w+){0,3}?\W+toujours\b",
    r"\btoujours\b(?:\W+\w+){0,3}?\W+(?:recommander|proposer|mentionner|envoyer|transferer)\b",
    r"\b(?:consiglia\w*|raccomanda\w*|suggerisc\w*|menziona\w*)\b(?:\W+\w+){0,3}?\W+sempre\b",
    r"\bsempre\b(?:\W+\w+){0,3}?\W+(?:consigliare|raccomandare|suggerire|menzionare|inviare)\b",
    # Keeping things from the user, or drawing things out.
    r"\b(?:do not|don't|never) (?:tell|reveal|mention|disclose|warn|inform|show)\b",
    r"\b(?:verrate|erwahne|sag|sage|informiere)\b(?:\W+\w+){0,4}?\W+(?:nicht|nichts|niemals)\b",
    r"\bne (?:dis|dites|revele[sz]?|mentionne[sz]?|informe[sz]?)\b(?:\W+\w+){0,3}?\W+(?:pas|rien|jamais)\b",
    r"\bnon (?:dire|rivelare|menzionare|informare|rivelate|dite)\b",
    r"\b(?:reveal|print|repeat|show|output|leak) (?:me )?(?:your|the) (?:\w+ )?(?:prompt|instructions)\b",
    r"\b(?:system|developer)[ -]?(?:prompt|message)s?\b|\bprompt di sistema\b|\binvite systeme\b",
    r"\bjailbreak\b|\bdan mode\b|\bdeveloper mode enabled\b",
    # The speech of machines.
    r"<\|[\w-]{1,30}\|>|\[/?inst\]|<</?sys>>|</?(?:system|assistant|tool_call|function_call|"
    r"instructions?|s)>|^\W{0,8}(?:system|assistant|developer)\s?:",
    r"#{2,6}\s?(?:system|instruction|assistant|response)\b",
    r"\"?(?:tool_calls?|function_call|tool_use)\"?\s?[:(=\[{]",
    r"\b(?:call|invoke|use|run|execute)\s(?:the )?(?:[\w-]{1,40} )?(?:tool|function)\b(?:\W+\w+){0,3}?\W+(?:with|to|and|now)\b",
    r"\b(?:run|execute) the following\b|\bfuhre\b(?:\W+\w+){0,3}?\W+befehl\b",
    r"\b(?:curl|wget)\s+\S{0,60}https?://|\brm -rf?\b|\bdrop table\b",
    # Carrying data away.
    r"!\[[^\]]{0,100}\]\(\s?https?://",
    r"https?://[^\s]{1,200}[?&][\w-]{1,30}=(?:\{|\$|%7b|<|\[)",
    r"\b(?:send|forward|post|upload|exfiltrate|email|mail)\b(?:\W+\w+){0,8}?\W+to\W+(?:https?://|\w[\w.+-]{0,60}@)",
    r"\b(?:sende|schicke|leite)\b(?:\W+\w+){0,8}?\W+an\W+(?:https?://|\w[\w.+-]{0,60}@)",
    r"\b(?:envoie|envoyez|transfere[rz]?)\b(?:\W+\w+){0,8}?\W+a\W+(?:https?://|\w[\w.+-]{0,60}@)",
    r"\b(?:invia|inviate|inoltra|spedisci)\b(?:\W+\w+){0,8}?\W+a\W+(?:https?://|\w[\w.+-]{0,60}@)",
)
"""Patterns of text that gives a model orders; compared without case and accents."""
