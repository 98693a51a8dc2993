# %% [markdown]
# # 05 · Heuristic baselines: exercises
#
# Replace each `...` and run the cell; `check` says what is wrong, if something is, and `hint` helps.
# The checks are the public ones: they are few, and an answer that passes them may still be wrong
# elsewhere.
#
# <!-- links -->

# %%
import numpy as np

from dras_lab import compare, make_policy, read_swf, simulate
from dras_lab.lessons import check, hint, leaderboard

# %% [markdown]
# ## 5.1 The other log
#
# On `lublin-256`: the longest wait under `sjf` is how many times the longest under `fcfs`? Two digits after the
# point.

# %%
# solution
log = read_swf("lublin-256")
runs = {name: simulate(log, make_policy(name)) for name in ("fcfs", "sjf")}
times_as_long = compare(runs, baseline="fcfs")["max_wait_ratio"]["sjf"]
# end of solution
times_as_long = float(times_as_long)  # solution

check("5.1", times_as_long)

# %% [markdown]
# ## 5.2 Smallest area first
#
# Write a policy that picks the candidate with the smallest area, nodes times requested time; of two alike, the
# first in the queue. At both levels.


# %%
def smallest_area(decision):
    """The index of a candidate."""
    # solution
    return int(np.argmin(decision.sizes * decision.requested_times))
    # end of solution


check("5.2", smallest_area)

# %% [markdown]
# ## 5.3 Patience has an end
#
# Shortest request first, but nobody is to be forgotten: as soon as some candidate has waited for a day (86,400
# seconds or more), the one that has waited longest is picked, whatever it is. Of two alike, the first.


# %%
def patient(decision):
    """The index of a candidate."""
    # solution
    if decision.queued_times.max() >= 86_400:
        return int(decision.queued_times.argmax())
    return int(decision.requested_times.argmin())
    # end of solution


check("5.3", patient)

# %% [markdown]
# ## 5.4 A policy of your own
#
# Write any policy whose score is 0.9 or less, in the mean over three sets of jobs that you have not seen. The
# score is the ratio of the mean waits to first come, first served, and a price for a maximum that is more than a
# tenth longer: `dras_lab.metrics.balance`.


# %%
def mine(decision):
    """The index of a candidate."""
    # solution
    score = 0.6 * np.log(decision.sizes) + 0.85 * np.log(decision.requested_times / 60)
    score -= 0.5 * (decision.queued_times / 86_400) ** 2
    return int(score.argmin())
    # end of solution


check("5.4", mine)

# %% [markdown]
# ## 5.5 The leaderboard
#
# Enter your policies. In a course, the word is chosen when all entries are in.

# %%
entries = {"smallest area": smallest_area, "patient": patient, "mine": mine}  # solution

if entries is not ...:
    display(leaderboard(entries, word="practice").round(2))

# %%
hint("5.4")
