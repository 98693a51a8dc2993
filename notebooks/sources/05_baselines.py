# %% [markdown]
# # 05 · Heuristic baselines
#
# **You will be able to** write a scheduling policy in a line, compare it with a dozen others, read a Kiviat
# chart, find out who pays for a short mean wait, and tune a rule that is hard to beat.
#
# **You need** [04](04_backfilling.ipynb). **It takes** 35 minutes to read and about 35 seconds to run on two
# cores.
#
# <!-- links -->
#
# ## A policy is a function
#
# Whenever there is something to decide, the simulator asks. A policy gets a *decision*, and returns the
# index of one of the candidates (or `None`: nobody). Here is one: the widest first.

# %%
import numpy as np
import pandas as pd

from dras_lab import PolicyPlayground, compare, fcfs, like, make_policy, read_swf, simulate
from dras_lab.breakdown import class_bars, how_shares
from dras_lab.choices import choice_bars
from dras_lab.classes import ecdf
from dras_lab.lessons import leaderboard, show
from dras_lab.plotting import kiviat, overview
from dras_lab.rules import tune

trace = read_swf("theta-like").coarsen(16)


def widest(decision):
    return int(decision.sizes.argmax())


compare([simulate(trace, fcfs), simulate(trace, widest)])[["mean_wait_h", "max_wait_h"]].round(1)

# %% [markdown]
# Put a log of your own in the cell above and all below is about it. What a policy is shown of the candidates,
# all as arrays: `sizes`, `requested_times`, `submit_times`, `queued_times`; and of the machine `free`, `time`
# and `level`.
#
# ## The usual suspects
#
# | name | picks | has a reservation? |
# |---|---|---|
# | `fcfs` | whoever came first | yes |
# | `sjf` | the shortest request | yes |
# | `wfp3` | a score of size and of the cube of the wait, as a share of the request | yes |
# | `binpacking` | the biggest job that fits now | **no** |
# | `random` | anybody | yes |
# | `knapsack` | the jobs that together fit, and are worth most | yes |
#
# The last three are what the DRAS paper compares with, in our reading of it. `knapsack` stands for what is
# called optimization there: among all sets of candidates that fit the free nodes it finds the one that is worth
# most, where worth is the reward that DRAS is trained with.
#
# **Guess first:** which has the shortest mean wait, and which the shortest maximum?

# %%
names = ("fcfs", "sjf", "wfp3", "binpacking", "random", "knapsack")
runs = {name: simulate(trace, make_policy(name)) for name in names}
table = compare(runs, baseline="fcfs")
table[["mean_wait_h", "median_wait_h", "max_wait_h", "mean_bounded_slowdown", "utilisation"]].round(
    2
)

# %% [markdown]
# By mean wait, shortest job first wins by far, and even to pick at random beats first come, first served! By
# the longest wait, first come, first served wins: under shortest job first somebody waits for 397 hours instead
# of 154. And `knapsack`, which takes pains to find the best of all sets of jobs, hardly shortens the mean: what
# it finds is best for *now*, and by another measure than ours.
#
# ## Five measures at once
#
# A *Kiviat chart* has an axis for each measure, and the rim is the best policy of those shown.

# %%
show(kiviat(table))

# %% [markdown]
# A policy that is good at everything would be a large pentagon. There is none. And utilisation, the measure
# that computing centres report, does not tell these policies apart at all: on this log nearly all the work gets
# done whatever you do. It is the users who feel the difference.
#
# ## Why a mean alone lies
#
# Who pays for the short mean of `sjf`? Here is the mean wait by size class; beside it the longest.

# %%
some = {name: runs[name] for name in ("fcfs", "sjf", "binpacking")}
show(class_bars(some, "mean_wait_s"))

# %%
show(class_bars(some, "max_wait_s"))

# %% [markdown]
# Shortest job first shortens the mean wait in every class: that of the widest from 55 hours to 36. And yet some
# wide job waits for 16.5 days under it, where the longest wait was 6.4. Within a class the short ones gain, and
# the long ones are put off again and again. Binpacking does not even gain anything for the wide ones.
#
# And here is every job: for each wait, the share of jobs that wait no longer.

# %%
show(ecdf(runs["fcfs"]))

# %%
show(ecdf(runs["sjf"]))

# %% [markdown]
# Look at the right end of the curves, where they reach 1. A mean is made by the many on the left. Whether
# somebody waits for two weeks is decided on the right.
#
# **Guess first:** which share of the work runs with a reservation, under each of the six?

# %%
show(how_shares(runs, "node_hours"))

# %% [markdown]
# Binpacking never reserves: whatever it picks fits, and wide jobs have to wait until chance leaves room for them.
# The others all give most of the work a reservation. They differ in *whom* they give it to.
#
# ## One decision, looked into
#
# A policy that ranks leaves its scores in the log. Here is a decision of `wfp3` with thirteen jobs waiting.

# %%
log = runs["wfp3"].log
crowded = next(
    choice for choice in log if len(choice.candidates) >= 12 and choice.level == "select"
)
show(choice_bars(crowded, runs["wfp3"]))

# %% [markdown]
# It takes the smallest score (`wfp3` is negative: the lower, the more urgent).
#
# ## Nothing wins everywhere
#
# **Guess first:** shortest job first has a third of the mean wait on `theta-like`. On `lublin-256`, jobs of
# another kind on another machine: half, a quarter, the same?

# %%
other = read_swf("lublin-256")
others = {name: simulate(other, make_policy(name), log=False) for name in names}
columns = ["mean_wait_ratio", "max_wait_ratio"]
both = {
    trace.name: table[columns],
    other.name: compare(others, baseline="fcfs")[columns],
}
pd.concat(both, axis=1).round(2)

# %% [markdown]
# On `lublin-256` the mean wait of `sjf` is *longer* than that of first come, first served, and its longest nearly
# six times as long; of these six the one with the shortest mean wait picks at random. Who recommends a policy
# should say for which jobs.
#
# ## Is it luck?
#
# Lesson 02 said: compare on the same jobs, and on several sets of them. Eight histories like that of the log,
# and for each the ratio to first come, first served:

# %%
rows = []
for seed in range(8):
    jobs = like(trace, 1000, seed=seed, load=0.8)
    policies = {name: make_policy(name) for name in ("fcfs", "sjf", "wfp3")}
    one = compare(
        {name: simulate(jobs, policy, log=False) for name, policy in policies.items()},
        baseline="fcfs",
    )
    rows.append({name: one["mean_wait_ratio"][name] for name in ("sjf", "wfp3")})
ratios = pd.DataFrame(rows)
error = ratios.std(ddof=1) / np.sqrt(len(ratios))
pd.DataFrame(
    {"mean": ratios.mean(), "standard error": error, "least": ratios.min(), "most": ratios.max()}
).round(2)

# %% [markdown]
# In all eight, both have the shorter mean wait, so that is not luck. *How much* they gain, however, is hard to
# say from one history: under `sjf` the mean is a quarter here, and seven tenths there.
#
# ## Turn the knobs
#
# All these rules weigh three things: nodes, request, wait. Here are sliders for them, on 400 jobs, and one for the
# load. Can you find a rule that has the shorter mean wait and no longer a maximum than first come, first served?

# %%
PolicyPlayground(trace.head(400))

# %% [markdown]
# ## The honest opponent
#
# What you just did by hand, a machine does better: draw rules at random, keep the best. We need one number to
# say what is best, and it must not fall into the trap. `balance` is the ratio of the mean waits, and a price for
# a maximum that is more than a tenth above that of first come, first served.
#
# The rule is chosen on the first 60 % of the log, and tried on the rest, which it has not seen.

# %%
train, test = trace.split(0.6, 0.4)
rule, trials = tune([train], 25, seed=0)
print(f"{rule.size:.2f} ln(nodes) + {rule.request:.2f} ln(minutes) ", end="")
print(f"- {rule.queued:.2f} (wait / {rule.hours:g} h) ** {rule.power:g}")
tried = {"fcfs": fcfs, "sjf": make_policy("sjf"), "wfp3": make_policy("wfp3"), "rule": rule}
final = compare({name: simulate(test, policy) for name, policy in tried.items()}, baseline="fcfs")
final[["mean_wait_h", "max_wait_h", "mean_wait_ratio", "max_wait_ratio"]].round(2)

# %%
show(overview(final, f"{test.name}: a tuned rule and three others"))

# %% [markdown]
# The rule has 0.59 of the mean wait of first come, first served, and the longest wait is 1.14 times as long: better
# than `wfp3` in both. Shortest job first has the shorter mean still, at 1.43 times the longest wait. Whoever trains
# an agent should put it beside a rule such as this one, and not only beside first come, first served.
#
# ## A leaderboard
#
# Enter what you have. The jobs come from a word, and all that is known of them is that they are like Theta's.

# %%
leaderboard({"tuned rule": rule, "widest": widest}, word="lesson 05").round(2)

# %% [markdown]
# Here `wfp3` is ahead of the tuned rule. The rule has the shorter mean by far, but somebody waits 1.36 times as
# long as he would have under first come, first served, and pays for it. One job decides that. Try other words, and
# see how the ranks change: one set of jobs proves little, on a leaderboard too.
#
# <details><summary><b>Larger</b>: more trials, the whole machine (not run here)</summary>
#
# ```python
# full = read_swf("theta-like")
# rule, trials = tune(full.split(0.6, 0.4)[:1], 300, seed=0)
# ```
#
# takes some minutes. Does the machine's size matter, or only the number of trials? And how much of what the rule
# gains on the first part does it keep on the second?
#
# </details>
#
# ## What you did
#
# You wrote a policy, compared it with the usual ones by five measures, found out who pays for a short mean, and
# tuned a rule on the past that was tried on the future.
#
# **Questions**
#
# 1. Name a centre for which `sjf` is the right policy, and one for which it is not.
# 2. Users see which jobs get through. Which of these policies can be cheated, how, and what does it cost
#    the others?
# 3. `tune` looks at mean and maximum. Which job could it starve without your noticing?
#
# **Now do** the [exercises](exercises/05_baselines.ipynb).
#
# **Read on:** D. G. Feitelson, "Metrics for parallel job scheduling and their convergence" (JSSPP 2001);
# E. Frachtenberg and D. G. Feitelson, "Pitfalls in parallel job scheduling evaluation" (JSSPP 2005);
# D. Carastan-Santos and R. Y. de Camargo, "Obtaining dynamic scheduling policies with simulation and machine
# learning" (SC 2017), where the rules `f1` to `f4` come from.
