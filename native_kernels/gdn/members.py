"""The five members of the gated-linear-recurrence family, as the two properties in which they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Member:
    """One recurrence of the family."""

    name: str
    gate: Literal["none", "scalar", "channel"]
    """Whether the state decays: not at all, by one factor a token, or by one a token and key channel."""
    delta: bool
    """Whether a token writes what the state does not recall yet (the delta rule), or its value as it is."""


GDN = Member("gdn", "scalar", True)
KDA = Member("kda", "channel", True)
DELTANET = Member("deltanet", "none", True)
GLA = Member("gla", "channel", False)
SSD = Member("ssd", "scalar", False)

MEMBERS = {member.name: member for member in (GDN, KDA, DELTANET, GLA, SSD)}
