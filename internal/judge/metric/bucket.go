package metric

import "sort"

// StandardBuckets names the standard buckets of prompt lengths, ascending.
func StandardBuckets() []string { return bucketNames(standardEdges) }

// StandardBucket is the index of the bucket for a prompt length in tokens.
func StandardBucket(tokens int) int { return sort.SearchInts(standardEdges, tokens+1) }
