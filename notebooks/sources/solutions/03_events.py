# %% [markdown]
# # 03 · A simulator from events: exercises
#
# Replace each `...` and run the cell; `check` says what is wrong, if something is, and `hint` helps.
# The checks are the public ones: they are few, and an answer that passes them may still be wrong
# elsewhere.
#
# <!-- links -->

# %%
import heapq

from dras_lab.lessons import check, hint

# %% [markdown]
# ## 3.1 On paper
#
# Four nodes, first come, first served, no exceptions:
#
# | job | submitted | nodes | asked for | runs |
# |---:|---:|---:|---:|---:|
# | 1 | 0 | 3 | 60 | 50 |
# | 2 | 10 | 2 | 40 | 30 |
# | 3 | 20 | 1 | 100 | 100 |
# | 4 | 30 | 4 | 20 | 10 |
# | 5 | 40 | 1 | 10 | 10 |
#
# When does each start? A list of five numbers, in the order of the jobs.

# %%
starts_on_paper = [0, 50, 50, 150, 160]  # solution

check("3.1", starts_on_paper)

# %% [markdown]
# ## 3.2 Slowdown
#
# Write a function: the mean bounded slowdown of a schedule, with a bound of 10 seconds. `starts` is a
# dict from job id to start time; each job of `trace` has a `job_id`, a `submit_time` and a `run_time`.


# %%
def mean_slowdown(trace, starts):
    """Mean over the jobs of their bounded slowdowns."""
    # solution
    slowdowns = []
    for job in trace:
        wait = starts[job.job_id] - job.submit_time
        slowdowns.append(max(1, (wait + job.run_time) / max(job.run_time, 10)))
    return sum(slowdowns) / len(slowdowns)
    # end of solution


check("3.2", mean_slowdown)

# %% [markdown]
# ## 3.3 Another order
#
# The lesson's simulator takes the first of the queue. Write one that takes the job with the smallest
# `key(job)`; of two with the same key, the one that came first. Without backfilling: if that job does not
# fit, nobody starts. A job ends at its requested time at the latest.


# %%
def starts_by(trace, key):
    """Start time of each job, by id."""
    # solution
    events = [(job.submit_time, 1, job.job_id, job) for job in trace]
    heapq.heapify(events)
    free, queue, starts = trace.nodes, [], {}
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, what, _, job = heapq.heappop(events)
            if what == 0:
                free += job.size
            else:
                queue.append(job)
        while queue and (job := min(queue, key=key)).size <= free:
            queue.remove(job)
            starts[job.job_id] = now
            free -= job.size
            end = now + min(job.run_time, job.requested_time)
            heapq.heappush(events, (end, 0, job.job_id, job))
    return starts
    # end of solution


check("3.3", starts_by)

# %% [markdown]
# ## 3.4 Find the bug
#
# This simulator is to take the job with the shortest request first, without backfilling. It gives
# plausible numbers, and most of them are right. Find what is wrong, and mend it; two lines will do.


# %%
def shortest_first(trace):
    """Start time of each job, by id: shortest request first, no backfilling."""
    events = [(job.submit_time, 1, job.job_id, job) for job in trace]
    heapq.heapify(events)
    free, queue, starts = trace.nodes, [], {}
    while events:
        now, what, _, job = heapq.heappop(events)
        if what == 0:
            free += job.size
        else:
            queue.append(job)
        # solution, without a trace
        if events and events[0][0] == now:
            continue  # more happens in this second: look at the queue when all of it has
        # end of solution
        while queue:
            job = min(queue, key=lambda job: job.requested_time)
            if job.size > free:
                break
            queue.remove(job)
            starts[job.job_id] = now
            free -= job.size
            end = now + min(job.run_time, job.requested_time)
            heapq.heappush(events, (end, 0, job.job_id, job))
    return starts


check("3.4", shortest_first)

# %%
hint("3.4")
