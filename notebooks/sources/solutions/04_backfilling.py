# %% [markdown]
# # 04 · Reservations and backfilling: exercises
#
# Replace each `...` and run the cell; `check` says what is wrong, if something is, and `hint` helps.
# The checks are the public ones: they are few, and an answer that passes them may still be wrong
# elsewhere.
#
# <!-- links -->

# %%
import numpy as np

from dras_lab.lessons import check, hint, leaderboard

# %% [markdown]
# ## 4.1 A promise by hand
#
# A machine of ten nodes. Three jobs are running: one on 4 nodes, planned to end at 100, and two on 2 nodes
# each, both planned to end at 60. Two nodes are free. The next job needs 4. For when are nodes reserved,
# and how many extra nodes are there then? Two numbers, as in `promise = 100, 3`.

# %%
promise = 60, 2  # solution

check("4.1", promise)

# %% [markdown]
# ## 4.2 The promise as a function
#
# `running` is a list of pairs, nodes and planned end, in no particular order; `free` nodes are free, and
# `need > free` are needed. Return the reserved start and the extra nodes.


# %%
def reservation(running, free, need):
    """Reserved start, extra nodes."""
    # solution
    for now in sorted({end for _, end in running}):
        there = free + sum(nodes for nodes, end in running if end <= now)
        if there >= need:
            return now, there - need
    # end of solution


check("4.2", reservation)

# %% [markdown]
# ## 4.3 No harm
#
# May this job start now, if a reservation stands at `start` with `extra` nodes to spare? `job` has a `size`
# and a `requested_time`.


# %%
def may_fill(job, now, free, start, extra):
    """Whether the job fits and does not delay the reservation."""
    # solution
    in_time = now + job.requested_time <= start
    return job.size <= free and (in_time or job.size <= extra)
    # end of solution


check("4.3", may_fill)

# %% [markdown]
# ## 4.4 Fill it shortest first
#
# A policy is a function of a decision that returns the index of a candidate. Write one that is first come,
# first served at level 1 (`decision.level == "select"`), and at level 2 (`"backfill"`) fills the hole with
# the job that asks for the shortest time; of two alike, the first.


# %%
def short_fill(decision):
    """The index of a candidate."""
    # solution
    return 0 if decision.level == "select" else int(np.argmin(decision.requested_times))
    # end of solution


check("4.4", short_fill)

# %% [markdown]
# ## 4.5 The leaderboard
#
# Enter a policy of your own: mean and maximum wait count, each as a ratio to first come, first served, and
# a maximum that is more than a tenth longer costs twice. The jobs come from a word that you do not know.
# (`"practice"` is for practice; in a course, the lecturer thinks of one when all entries are in.)
#
# To begin with, enter `short_fill`. Then try to fill with the *widest* job, or with the largest area.

# %%
entries = {"short_fill": short_fill}  # solution

if entries is not ...:
    display(leaderboard(entries, word="practice").round(2))

# %%
hint("4.2")
