"""Whether what a model asks to remember is what the person said.

An agent that remembers through a tool chooses the words, and a page that it read may have chosen
them for it. The person's own words are as good as said by the person; any others are a guess.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ricordo.memory.grounding import find_quote
from ricordo.memory.voices import BLANK, own_voice
from ricordo.model import Said, Speaker

NOT_SAID = "not-said"
"""The reason, on a memory, that its words are a model's and a person must look at them."""


async def own_quote(text: str, *, heard: Sequence[Said]) -> str | None:
    """The span of the person's own words that says the text literally; None without any.

    Args:
        heard: what was said; only the user counts, in their own voice.
    """
    return await asyncio.to_thread(_own_quote, text, heard)  # messages may be long


def _own_quote(text: str, heard: Sequence[Said]) -> str | None:
    own = [
        replace(said, text=own_voice(said.text))
        for said in heard
        if said.speaker is Speaker.USER and said.trusted
    ]
    found = find_quote(text, own)
    # Words around a pasted passage are not the sentence that they make without it.
    return None if found is None or BLANK in found.span else found.span
