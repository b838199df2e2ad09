// Package bus brings crew's messages over NATS: a conductor's hub, which embeds
// a server or connects to a cluster, and a worker's membership. Questions and
// answers are requests of core NATS, batches are messages of a JetStream stream
// for each run. Everything is sealed with a key made from the join token. The
// package knows nothing of stages and records.
package bus
