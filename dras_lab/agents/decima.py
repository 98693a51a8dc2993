"""Decima-PG: policy gradient that only picks among jobs that fit.

The comparison that DRAS makes with a policy gradient without reservations, in our reading of
the paper (Fan et al., arXiv 2102.06243; Decima is Mao et al., SIGCOMM 2019). It is DRAS-PG with
one thing taken away: a job that does not fit the free nodes cannot be chosen, so nothing is
ever reserved and no hole is ever filled. Where no job fits, the agent passes.
"""

from __future__ import annotations

from ..decisions import Decision
from .experience import BoolArray
from .pg import DrasPG


class DecimaPG(DrasPG):
    """Decima-PG, a policy that also learns; arguments as of `DrasPG`."""

    kind = "decima"
    name = "decima-pg"

    def allowed(self, decision: Decision) -> BoolArray | None:
        """The candidates that fit the free nodes, shape ``[candidates]``."""
        fits: BoolArray = decision.sizes <= decision.free
        return fits
