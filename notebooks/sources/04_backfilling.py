# %% [markdown]
# # 04 · Reservations and backfilling
#
# **You will be able to** work out a reservation by hand, say which jobs may fill the hole before it,
# step through the decisions of a schedule, and explain how worse estimates can make a better schedule.
#
# **You need** [03](03_events.ipynb). **It takes** 35 minutes to read and about 20 seconds to run on two
# cores.
#
# <!-- links -->
#
# ## The hole
#
# In lesson 03 a seventh of the machine stood idle while people waited. Here is why, on ten nodes and
# twelve jobs: first come, first served, nobody jumps the queue.

# %%
import numpy as np
import pandas as pd

from dras_lab import ScheduleExplorer, Simulation, WhatIf, compare, fcfs, read_swf, simulate
from dras_lab.breakdown import how_shares
from dras_lab.game import small_trace
from dras_lab.gantt import gantt, gantt_difference
from dras_lab.lessons import show
from dras_lab.traces import Trace

small = small_trace()
strict = simulate(small, fcfs, backfill="none")
show(gantt(strict))

# %% [markdown]
# Job 2 wants eight nodes and has to wait for job 1. Meanwhile four nodes are idle for nearly three
# hours, and behind job 2 stand jobs that would fit. Why not let them in?
#
# Because then job 2 might never start: there is always another small job that fits. That is
# *starvation*, and it is what a rule without a memory does to wide jobs. The way out is a promise.
#
# ## The promise
#
# When the next job does not fit, *reserve* nodes for it: at the earliest time at which, by what the
# running jobs have asked for, enough will be free. Then let others in, as long as they do not delay it.
# This is called *EASY backfilling*, after the system that first did it.
#
# Let us make the first promise by hand. At 600 s job 1 is running; it holds 6 nodes and has asked for
# 14,400 s. Job 2 needs 8 of 10.
#
# - *When?* Four nodes are free; at 14,400 s six more will be. So the reserved start is **14,400**.
# - *How many are left over then?* 10 - 8 = **2** extra nodes.
#
# **Guess first:** who may fill the hole? Jobs 3 to 6 come while job 2 waits:
#
# | job | comes | nodes | asks for |
# |---:|---:|---:|---:|
# | 3 | 900 | 2 | 7,200 |
# | 4 | 1,200 | 3 | 21,600 |
# | 5 | 1,800 | 1 | 3,600 |
# | 6 | 2,400 | 4 | 7,200 |
#
# A job that fits now does no harm in either of two ways:
#
# 1. it **ends in time**: now + what it asks for is no later than the reserved start; or
# 2. it **stays out of the way**: it needs no more than the extra nodes, and may keep them for ever.
#
# Write down who starts, and when. Then see:

# %%
easy = simulate(small, fcfs, backfill="easy")
easy.table[["job_id", "submit", "size", "requested_time", "start", "how"]].head(6)

# %% [markdown]
# Job 3 ends at 8,100 at the latest: in time. Job 4 would fit neither in time nor in space. Job 5 ends in
# time. Job 6 needs four nodes, and when it comes only one is free; later four are, and by then it would
# end too late.
#
# Job 2 does start at 10,800 and not at 14,400, as job 1 ends early. A promise may be kept early, never
# late.

# %%
show(gantt(easy))

# %%
compare({"strict": strict, "EASY": easy})[["mean_wait_h", "max_wait_h", "utilisation"]].round(2)

# %% [markdown]
# ## Every decision, one by one
#
# The simulator asks two kinds of question. *Level 1*: who is next? If that job does not fit, it gets the
# reservation. *Level 2*: who fills the hole? Only jobs that do no harm are on offer. These two levels are
# DRAS's, too; there a network answers.
#
# Step through them. For each waiting job the table says why it is not started. (If you read this without
# a kernel, you see decision 5: job 10 asks for eight hours, which is not in time, but it is one node wide,
# and two can be spared.)

# %%
ScheduleExplorer(easy, k=5)

# %% [markdown]
# The same in words, from the decision itself:

# %%
sim = Simulation(small, backfill="easy")
while (decision := sim.next_decision()).time < 9000:
    sim.apply(0)
print(f"at {decision.time} s, {decision.free} nodes free, level {decision.level}")
print("on offer:", [job.job_id for job in decision.candidates])
for job, reason in decision.why_not().items():
    print(f"job {job}: {reason}")

# %% [markdown]
# ## What if?
#
# What would have happened had another job been picked? At 21,600 s job 9 was let in. Say it had been job 11, on
# fewer nodes and for a shorter time; the same policy goes on from there. **Guess first:** who gains, who loses?
# Then choose other decisions, and other jobs.

# %%
WhatIf(easy, small, fcfs, k=9)

# %% [markdown]
# Job 11 starts five hours sooner, and three others start an hour later. One of the three is job 7, which has the
# promise: it starts at 39,600 s, as was promised, and no longer before. No harm, to the letter.
#
# ## On a real load
#
# Now `theta-like`, at a sixteenth of its size. (**For a log of your own, change this cell.**) In lesson 03
# the strict queue made people wait for more than two days. **Guess first:** what is it with backfilling?
#
# There is a third way, *conservative* backfilling: *every* waiting job has a reservation, and who fills
# a hole may delay none of them. More promises, less freedom. **Guess** that, too.

# %%
trace = read_swf("theta-like").coarsen(16)
modes = {mode: simulate(trace, fcfs, backfill=mode) for mode in ("none", "easy", "conservative")}
compare(modes, baseline="none")[
    ["mean_wait_h", "max_wait_h", "utilisation", "mean_wait_ratio"]
].round(2)

# %% [markdown]
# To a quarter, and nobody was asked to buy a node. Most of it is there with one promise at a time;
# whether EASY or conservative is better depends on the log.
#
# ## Who runs how?
#
# A job that fits when it is picked is *ready*; one that had the promise is *reserved*; one that jumped
# the queue is *backfilled*.

# %%
show(how_shares(modes["easy"], "jobs"))

# %%
show(how_shares(modes["easy"], "node_hours"))

# %% [markdown]
# Half of all jobs get in by a hole, and they are a sixth of the work. The jobs with a reservation are few
# and do most of it: these are the ones that the promise is for.
#
# ## The paradox of the estimates
#
# All plans are made with what users ask for, and that is a bad estimate: a third of the time asked for is
# never used. Surely a scheduler that knew run times exactly would do better?
#
# Let us try. Take the same jobs and let every user ask for *exactly* what the job needs; then for twice as
# much, three times, five and ten times. The jobs stay as they are: only the estimates get worse.
#
# **Guess first:** which factor has the shortest mean wait?


# %%
def asking(trace, factor):
    """The same jobs; each asks for so many times what it needs."""
    needed = np.minimum(trace.table["run_time"], trace.table["requested_time"]).clip(lower=1)
    table = trace.table.assign(run_time=needed, requested_time=factor * needed)
    return Trace(table, trace.nodes, f"{trace.name}, asking {factor}-fold")


rows = {}
for log in (trace, read_swf("lublin-256")):
    for factor in (1, 2, 3, 5, 10):
        run = simulate(asking(log, factor), fcfs, log=False)
        rows[log.name, factor] = compare([run]).iloc[0]
pd.DataFrame(rows).T[["mean_wait_h", "max_wait_h", "mean_bounded_slowdown"]].astype(float).round(1)

# %% [markdown]
# With exact estimates the mean wait is 13.0 hours on the first log. If everybody asks for twice the time it
# is 10.0, and for five times 9.0! On the other log it falls from 14.9 to 12.3. The longest wait, meanwhile,
# *rises*.
#
# ## Why?
#
# When jobs ask for too much, the plan looks late: the reserved start seems far away. Then jobs end early,
# one after the other, and each time a hole opens that looks long, since all the others are planned to run
# on. Into a hole that looks long, more jobs fit. In effect the queue is opened for jobs that are small *and*
# short, which is a little of shortest job first: good for the mean.
#
# And who pays? **Guess first:** wide jobs, long jobs, or both?

# %%
rows = {}
for log in (trace, read_swf("lublin-256")):
    exact, double = (simulate(asking(log, factor), fcfs, log=False) for factor in (1, 2))
    hours, wide = exact.run_time / 3600, exact.size > log.nodes // 8
    for name, group in (
        ("up to 3 h", hours <= 3),
        ("more than 6 h", hours > 6),
        ("wide, up to 3 h", wide & (hours <= 3)),
        ("wide, more than 3 h", wide & (hours > 3)),
    ):
        waits = [run.wait[group].mean() / 3600 for run in (exact, double)]
        rows[log.name, name] = [group.sum(), *np.round(waits, 1)]
columns = ["jobs", "mean wait (h), exact", "doubled"]
pd.DataFrame(rows, index=columns).T.astype({"jobs": int})

# %%
exact, double = (simulate(asking(trace, factor), fcfs, log=False) for factor in (1, 2))
show(gantt_difference(exact, double, names=("exact", "doubled")))

# %% [markdown]
# Short jobs gain hours, wide ones among them. Who loses are the *long* ones, and on `lublin-256` above all
# those that are long and wide: others get in before them. In the lower half of the figure each mark is a job,
# at the time of its submission: on the first log 1,560 jobs start earlier, by ten hours on average, and 1,021
# later, by three.
#
# So over-estimates do by accident what a policy can do on purpose. That is the next lesson.
#
# <details><summary><b>Larger</b>: is it luck? (not run here)</summary>
#
# Two logs are two logs. Ask for the mean over twenty, and for its spread:
#
# ```python
# from dras_lab import like
#
# ratios = []
# for seed in range(20):
#     jobs = like(trace, 4000, seed=seed, load=0.75)
#     waits = [simulate(asking(jobs, factor), fcfs, log=False).wait.mean() for factor in (1, 2)]
#     ratios.append(waits[1] / waits[0])
# print(np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(20), sorted(ratios))
# ```
#
# It takes about ten seconds. Do the same with `lublin(2000, nodes=256, seed=seed, load=0.8)`.
#
# </details>
#
# ## What you did
#
# You worked out a reservation and its extra nodes, saw two ways of filling a hole without harm, stepped
# through a schedule, and found that exact estimates are not the best ones.
#
# **Questions**
#
# 1. If over-estimates help, should a centre multiply all requests by two, in secret? Who would notice?
# 2. A user learns that short requests get in by the holes. What will he do, and what happens when all do?
# 3. EASY promises to one job. Why is the *second* in the queue not safe from starvation? Or is it?
#
# **Now do** the [exercises](exercises/04_backfilling.ipynb).
#
# **Read on:** A. W. Mu'alem and D. G. Feitelson, "Utilization, predictability, workloads, and user runtime
# estimates in scheduling the IBM SP2 with backfilling" (IEEE TPDS 12(6), 2001), where over-estimates that
# help were first described; [docs/departures.md](../docs/departures.md) for how our levels and DRAS's go
# together.
