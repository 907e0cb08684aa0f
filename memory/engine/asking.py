"""What a question is after, beyond its words: the past, or a list of what was done.

Small lists of words in the languages that were tested; a language that is not in them is asked the
plain way. Neither answer changes the score of a line: one opens the closed versions, the other
puts a counted list in.
"""

from __future__ import annotations

import re

_OLDER = r"(?:value|version|one|name|setting|text|content|state|number|line|result|answer)s?"
_PAST = re.compile(
    rf"\bbefore\b|\bprevious(?:ly)?\b|\bused? to be\b|\bused to\b|\bformer(?:ly)?\b"
    rf"|\boriginally\b|\binitially\b|\bat first\b|\bprior\b|\bin the past\b|\bas of\b|\bback then\b"
    rf"|\b(?:original|initial|old|older|earlier|first|replaced) {_OLDER}\b|\bwas\b.*\bearlier\b"
    rf"|\bno longer\b|\bdiff\b|\bdifferen(?:t|ce|ces)\b|\bchanges\b"
    rf"|\b(?:what|how|which)\b.{{0,40}}\bchanged?\b|\bchanged from\b"
    r"|\b(?:antes|anterior(?:es|mente)?|cambi[oóa]\w*|previ[oa]s?|originalmente"
    r"|vorher|früher\w*|zuvor|bisher\w*|geändert|änder\w*|vormals"
    r"|avant|auparavant|changé\w*|précédent\w*"
    r"|precedent\w+|cambiat\w+|anteriormente|mudou|wijzig\w*|vroeger|eerder)\b"
    r"|раньше|прежн|прежде|до этого|измени|πριν|άλλαξ|قبل|سابق|تغي|पहले|बदल"
    r"|以前|之前|原来|改变|改了|変わ|変更|前は|元の|이전|바뀌|קודם|לפני|השתנ",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:now|currently|current|today|at present|these days|jetzt|aktuell\w*|ahora"
    r"|actual(?:mente)?|maintenant|actuel\w*|adesso|agora|nu)\b|сейчас|теперь|τώρα|الآن|अब|现在|今は|지금|עכשיו",
    re.IGNORECASE,
)
_LISTS = re.compile(
    r"\b(?:how many|how often|how much|which|what|list|all|every|each|count|number|total|name"
    r"|who|wie ?viele?|welche\w*|alle|cu[aá]nt[oa]s|qu[eé]|cu[aá]les|tod[oa]s|combien|quels?"
    r"|quelles?|tou(?:s|tes)|quant[ei]|quali|quais)\b|сколько|какие|каких|все|πόσ|ποι|كم|कितन|多少|哪些|几|いくつ|どの",
    re.IGNORECASE,
)

_COMPARES = re.compile(r"chang|differ|änder|cambi|before|previous|old", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:s?he|they|it|him|her|hers|his|their|theirs|them|its|this|that|these|those|there|then"
    r"|the (?:first|second|third|last|other|former|latter)(?: one)?|ella|él|ellos|ellas|eso|esto"
    r"|allí|er|sie|ihr|ihm|ihn|dort|dies\w*|jene\w*|elle|ils?|elles|cela|ça|là|lui|leur"
    r"|lei|loro|questo|quello|ele|ela|isso|isto)\b"
    r"|\b(?:он|она|они|его|её|ее|их|там|это|эт[аои]т?)\b|αυτ|εκεί|\b(?:هو|هي|هم|هناك|هذا|هذه)\b"
    r"|\b(?:वह|वे|यह|उस\w*|वहाँ)|[他她它]|那[个里]|这[个里]|彼女?|それ|そこ|あれ|그[녀들]?|거기"
    r"|\b(?:הוא|היא|הם|שם|זה|זאת)\b",
    re.IGNORECASE,
)


def asks_past(question: str) -> bool:
    """Whether closed versions belong to the answer: "what was it before?", "what changed?"."""
    return bool(_PAST.search(question)) and not (
        _NOW.search(question) and not _COMPARES.search(question)
    )


def leans_on_talk(question: str) -> bool:
    """Whether a question points at something instead of naming it."""
    return bool(_POINTS.search(question))


def asks_list(question: str) -> bool:
    """Whether the question may be after a count or a list."""
    return bool(_LISTS.search(question))
