// Package crew sends one load from many processes. A conductor hands each worker
// its share of a stage and hears of every request, in the order of time; the
// stage decides by that as if it had sent them itself. The package knows no
// network: links and posts are given to it.
package crew
