"""A decision as a few lines of text, and as a small picture: the environment's two renderings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .decisions import Decision

Picture = npt.NDArray[np.uint8]

SPAN = 24 * 3600  # seconds of the future that a picture shows
LISTED = 8  # jobs that a text lists
# Okabe and Ito's colours, which all can tell apart; their green says that a job fits.
COLOURS = np.array(
    [(0, 114, 178), (230, 159, 0), (204, 121, 167), (86, 180, 233), (213, 94, 0)],
    dtype=np.uint8,
)
PAPER, FITS, WAITS, LINE = (250, 250, 250), (0, 158, 115), (170, 170, 170), (0, 0, 0)
HEIGHT, PLAN, GAP, QUEUE = 240, 320, 12, 148  # pixels


def text(decision: Decision) -> str:
    """Time, machine and candidates, one line each."""
    nodes, free = decision.nodes, decision.free
    days, rest = divmod(decision.time - decision.origin, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    used = round(40 * (nodes - free) / nodes)
    lines = [
        f"day {days} {clock}  {decision.level.value}  {free} of {nodes} nodes free, "
        f"{len(decision.running)} jobs run, {len(decision.queue)} wait",
        f"[{'#' * used}{'.' * (40 - used)}]",
    ]
    if (held := decision.reservation) is not None:
        lines.append(
            f"reserved: job {held.job.job_id} in {(held.start - decision.time) / 3600:.1f} h"
        )
    for k, job in enumerate(decision.candidates[:LISTED]):
        fits = "fits" if job.size <= free else "does not fit"
        lines.append(
            f"{k:>3}  job {job.job_id}: {job.size} nodes for {job.requested_time / 3600:.1f} h, "
            f"queued {(decision.time - job.submit_time) / 3600:.1f} h, {fits}"
        )
    if len(decision.rows) > LISTED:
        lines.append(f"     and {len(decision.rows) - LISTED} more")
    return "\n".join(lines)


def picture(decision: Decision | None) -> Picture:
    """The plan of the machine, and the candidates beside it; shape ``[240, 480, 3]``.

    On the left time runs from now to a day from now, nodes from the top down, and each running
    job has a colour for as long as it has asked for; a black line is the reserved start. On
    the right is a bar a candidate, in queue order: as long as its request on the scale of the
    left, as thick as its share of the machine, green if it fits the free nodes.
    """
    image = np.full((HEIGHT, PLAN + GAP + QUEUE, 3), PAPER, dtype=np.uint8)
    if decision is None:
        return image
    number, left = decision.holders()
    holder = number[np.arange(HEIGHT) * decision.nodes // HEIGHT]
    held = left[holder][:, None] > np.arange(PLAN) * SPAN / PLAN
    image[:, :PLAN][held] = np.repeat(COLOURS[holder % len(COLOURS)], held.sum(axis=1), axis=0)
    if (reserved := decision.reservation) is not None:
        at = (reserved.start - decision.time) * PLAN // SPAN
        if at < PLAN:
            image[:, at] = LINE
    image[:, PLAN + GAP // 2] = WAITS
    top, free = 2, decision.free
    sizes, requests = decision.sizes.tolist(), decision.requested_times.tolist()
    for size, request in zip(sizes, requests, strict=True):
        thick = max(2, round(size / decision.nodes * HEIGHT / 2))
        if top + thick > HEIGHT:
            break
        long = min(max(2, request * PLAN // SPAN), QUEUE)
        colour = FITS if size <= free else WAITS
        image[top : top + thick, PLAN + GAP : PLAN + GAP + long] = colour
        top += thick + 2
    return image
