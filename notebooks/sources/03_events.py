# %% [markdown]
# # 03 · A simulator from events
#
# **You will be able to** write a simulator of a batch system in thirty lines, say in which order events
# of one second must be handled, and check it against another simulator.
#
# **You need** [01](01_traces.ipynb), and Python's lists and loops. **It takes** 30 minutes to read and
# about 10 seconds to run on two cores.
#
# <!-- links -->
#
# ## Five jobs on paper
#
# A machine of four nodes, and five jobs:

# %%
import heapq
from itertools import pairwise

import numpy as np
import pandas as pd

from dras_lab import QueueGame, Simulation, Trace, compare, fcfs, read_swf, simulate
from dras_lab.gantt import gantt
from dras_lab.lessons import show

jobs = pd.DataFrame(
    [
        (1, 0, 3, 60, 60),
        (2, 10, 2, 100, 70),
        (3, 20, 1, 30, 30),
        (4, 25, 4, 20, 20),
        (5, 40, 1, 20, 20),
    ],
    columns=["job_id", "submit_time", "size", "requested_time", "run_time"],
)
paper = Trace.from_table(jobs, nodes=4, name="paper")
jobs

# %% [markdown]
# The rule is first come, first served, without exceptions: nobody starts before those in front of him
# have started. **Take a sheet of paper** and draw it: time to the right, four rows for the nodes. When
# does each job start? Write five numbers down before you go on.
#
# ## Time jumps
#
# One could look at the machine every second. A log of a year has 31 million seconds, and in nearly all
# of them nothing happens. Something can change only when
#
# - a job **comes**: it may start, if there is room; or
# - a job **ends**: its nodes become free, and others may start.
#
# These are the *events*. A simulator keeps those that it knows of in order of time, takes the first, and
# jumps there. A heap is the right list for that: it has the smallest always at the front.

# %%
events = []
for event in [(60, "job 1 ends"), (20, "job 3 comes"), (10, "job 2 comes")]:
    heapq.heappush(events, event)
print(heapq.heappop(events), "then", heapq.heappop(events))

# %% [markdown]
# ## The state of the machine
#
# What must be known at any moment? Fewer things than one would think: how many nodes are free, and who
# waits, in the order in which they came. (Which nodes a job gets does not matter for when it starts.)
#
# ## Two events in one second
#
# Let a job end at 60, and another come at 60 that needs its nodes. **Guess first:** may it start at 60?
#
# It may, if the end is handled first. A job that starts at 0 and runs for 60 seconds holds its nodes
# over [0, 60): second 60 is not among them. So in each second all *ends* come first, then all
# *submissions*, and only then somebody looks at who can start. Other orders are possible. What is not
# possible is to leave it to chance: the same jobs would give other waits tomorrow. Many a simulator has
# had this fault, and it is hard to see.
#
# ## Thirty lines
#
# Here it is. Read it from the inside: `start_those_who_fit` is the scheduler, all the rest is the clock.

# %%
END, SUBMIT = 0, 1  # of two events in one second the smaller is handled first


def fcfs_starts(trace):
    """Start time of each job, by id: first come, first served, no backfilling."""
    events = [(job.submit_time, SUBMIT, job.job_id, job) for job in trace]
    heapq.heapify(events)
    free, queue, starts = trace.nodes, [], {}

    def start_those_who_fit(now, free):
        while queue and queue[0].size <= free:
            job = queue.pop(0)
            starts[job.job_id] = now
            free -= job.size
            held = min(job.run_time, job.requested_time)  # who asks for too little is ended
            heapq.heappush(events, (now + held, END, job.job_id, job))
        return free

    while events:
        now = events[0][0]
        while events and events[0][0] == now:  # everything that happens in this second
            _, what, _, job = heapq.heappop(events)
            if what == END:
                free += job.size
            else:
                queue.append(job)
        free = start_those_who_fit(now, free)
    return starts


fcfs_starts(paper)

# %% [markdown]
# Are these your five numbers? Job 3, one node wide, waits until 60 although one node is free from the
# beginning: it stands behind job 2, which needs two. And job 5 waits behind job 4, which needs the
# whole machine.
#
# ## Is it right?
#
# A program that gives plausible numbers is not yet right. The best check is a second program, written
# by somebody else. The simulator of `dras_lab` knows this rule: the policy `fcfs`, `backfill="none"`.

# %%
result = simulate(paper, fcfs, backfill="none")
result.table[["job_id", "submit", "start", "end", "wait", "nodes"]]

# %%
show(gantt(result))

# %% [markdown]
# Five jobs are no test. **Guess first:** of the 4,000 jobs of `theta-like`, how many start in the same
# second in both? (For a log of your own change this cell; a job that is wider than the machine must go
# first.)

# %%
trace = read_swf("theta-like")
mine = fcfs_starts(trace)
blocking = simulate(trace, fcfs, backfill="none")
same = sum(mine[job] == start for job, start in zip(blocking.job_id, blocking.start, strict=True))
print(f"{same} of {len(trace)} jobs start in the same second")

# %% [markdown]
# If even one differed, one of the two programs would be wrong, or the question not clear. Try it: put
# `END, SUBMIT = 1, 0` and run again. (The starts stay as they are! All events of a second are handled
# before anybody is started, so that here the order among them does not matter. Exercise 3.4 is about a
# program in which it does.)
#
# ## From decision to decision
#
# The library's simulator is the same loop, with one difference: where ours starts the first of the
# queue, it stops and *asks*. `Simulation` runs to the next question.

# %%
sim = Simulation(paper, backfill="none")
while (decision := sim.next_decision()) is not None:
    offered = [f"{job.job_id} ({job.size} n)" for job in decision.candidates]
    print(f"at {decision.time:3} s, {decision.free} free: which of {', '.join(offered)}?")
    sim.apply(0)  # the first of the queue
print("starts:", sim.result().start)

# %% [markdown]
# That is all there is between a heuristic, a neural network, and you: whoever answers this question is
# the scheduler. Note what a candidate shows: its size, its request, when it came. Not how long it will
# run.

# %%
sim = Simulation(paper, backfill="none")
first = sim.next_decision().candidates[0]
try:
    print(first.run_time)
except AttributeError as error:
    print(error)

# %% [markdown]
# ## What is a good schedule?
#
# A *wait* is the time from submission to start. The *bounded slowdown* sets it against the length of the
# job, since ten minutes matter to a job of one minute and not to one of a day:
#
# $$\max\left(1, \frac{\text{wait} + \text{run time}}{\max(\text{run time}, 10\,\text{s})}\right)$$
#
# And *utilisation* is the share of all node-seconds in which nodes were held.

# %%
wait = result.start - result.submit
held = result.size * result.run_time
span = result.end.max() - result.submit.min()
print(f"mean wait    {wait.mean():.1f} s, longest {wait.max()} s")
print(f"utilisation  {held.sum() / (result.nodes * span):.3f}")
compare([result])[["mean_wait_h", "max_wait_h", "mean_bounded_slowdown", "utilisation"]].round(3)

# %% [markdown]
# ## The price of standing in line
#
# **Guess first:** on `theta-like`, with an offered load of 0.75, how long is the mean wait under this
# rule?

# %%
print(compare([blocking])[["mean_wait_h", "max_wait_h", "utilisation"]].round(2))
idle = waiting = 0
times = np.unique(np.concatenate([blocking.submit, blocking.start, blocking.end]))
for begin, end in pairwise(times):
    if ((blocking.submit <= begin) & (blocking.start > begin)).any():  # somebody waits
        busy = blocking.size[(blocking.start <= begin) & (blocking.end > begin)].sum()
        idle += (trace.nodes - busy) * (end - begin)
        waiting += end - begin
print(f"somebody waits for {waiting / (times[-1] - times[0]):.0%} of the time; ", end="")
print(f"meanwhile {idle / (trace.nodes * waiting):.0%} of the nodes are idle")

# %% [markdown]
# More than two days, on a machine with a load of 0.75. Nodes stand idle *while people wait for
# nodes*, because whoever is at the front of the queue needs more than there are. You would not stand for
# it at a supermarket. What can be done about it is the next lesson.
#
# ## Now you are the scheduler
#
# A dozen jobs on ten nodes. Run the cell and click on the job that is to be next; at the end you are
# compared with the rules. (What is shown here without a running notebook is a still picture.)

# %%
QueueGame()

# %% [markdown]
# <details><summary><b>Larger</b>: how fast is it? (not run here)</summary>
#
# ```python
# from time import perf_counter
#
# from dras_lab import lublin
#
# jobs = lublin(100_000, seed=1, load=0.7)
# for run in (fcfs_starts, lambda jobs: simulate(jobs, fcfs, backfill="none", log=False)):
#     began = perf_counter()
#     run(jobs)
#     print(perf_counter() - began)
# ```
#
# Where does ours lose its time? (`queue.pop(0)` moves the whole queue up by one.)
#
# </details>
#
# ## What you did
#
# You wrote an event-driven simulator, found that it agrees with another on 4,000 jobs to the second, and
# saw how much of a machine a strict queue wastes.
#
# **Questions**
#
# 1. Where in our thirty lines could the order of a Python `set` have crept in, and what would it do?
# 2. Our simulator takes no time to decide. When would that matter?
# 3. Which measure would you be judged by as the director of the computing centre, which as a user with
#    short jobs, which as one who needs the whole machine?
#
# **Now do** the [exercises](exercises/03_events.ipynb).
#
# **Read on:** `tests/oracle.py` in the repository, a third simulator, which looks at every second in
# turn and is slow and simple on purpose; the chapter on discrete-event simulation of any textbook, such
# as A. M. Law, *Simulation Modeling and Analysis*.
