//go:build linux

package main

// about says what the tables show and what counts as the truth.
const about = `
redline runs on two cores that are disturbed, and ` + "`redline sim --truth`" + ` on a core of its own. Nothing has a higher priority
than anything else: redline is kept from raising its own, and the busy loops have the same. Each setting is run with the kernel's
receive stamps and without them (` + "`REDLINE_NO_KERNEL_STAMPS=1`" + `, as on systems that have none). Runs take turns at the loads below.

**Truth.** The server's log says when it had read each request and when it wrote each output event
([ARCHITECTURE.md](../design/ARCHITECTURE.md), Truth). Figures are computed from these times for the same requests, with the same
percentiles, over the same window:

| figure | truth |
|---|---|
| ` + "`ttft`" + ` | first write − sent, where sent is when the server had read the request, or redline's stamp after its write if that is earlier: the request had left by both. The stamp before the write, from which redline counts, plays no part: a process that is stopped between that stamp and the write has sent later than it says |
| ` + "`ttft_due`, `e2e_due`" + ` | as ` + "`ttft`, `e2e`" + `: what they would have been without this client's lateness. No load here waits for a slot, and over loopback a connection takes no time that matters |
| ` + "`tpot`, `decode`" + ` | last write − first write, for ` + "`tpot`" + ` over the tokens after the first |
| ` + "`itl`, `stall`" + ` | gaps between writes; the longest of each reply |
| ` + "`e2e`" + ` | last write − sent |

A true value may lie 1% outside the ends, or 0.1 ms if that is more (0.3 ms for figures that begin with the request): the way
over loopback and the two system calls are in one account and not in the other. *Measured alone* is how often the measured
value itself is that near to the truth. *Width* is (upper end − lower end) / measured, median and p90 over runs and figures.

**Verdicts.** Every run is judged afterwards by 36 objectives: p50, p90 and p99 of ` + "`ttft`, `tpot`, `itl`, `stall`, `e2e` and `decode`" + `,
each with two limits at random factors from 0.5 to 2 around the truth of its load, which an undisturbed run of a minute gives.
*Met wrongly* is the share met of the limits that the true value exceeds, *missed wrongly* the share missed of the others. Two
truths are counted, the first by the same requests, the second by the mean over all runs of that load and setting: a verdict is about
the server, not about one run. *Decided* is the share that is met or missed; of an invalid run nothing is.
`

// aboutSteal says what real steal can show.
const aboutSteal = `
## Real steal

A virtual machine whose host takes its cores, with redline and ` + "`redline sim --truth`" + ` on all of them and no other disturbance.
Steal delays the kernel's stamps as well, and the server: what the server writes late is late in truth, and counts as the
server's. So these rows show whether the ends hold what is delayed between the server's write and the stamp, and between the stamp
of sending and the reading of the request; not how well a server that is not stolen from would have done. A core that is taken
while the server is between its clock and its write makes the truth itself early.

`
