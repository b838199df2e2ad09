package metric

import "sort"

// bucketEdges are the prompt lengths, in tokens, at which a bucket begins and the
// one before it ends. They lie at round thousands so that lengths given in
// thousands and in powers of two fall into the same bucket.
var bucketEdges = []int{1000, 4000, 16000, 32000}

// BucketNames are the buckets of prompt lengths, ascending.
var BucketNames = []string{"<1k", "1k-4k", "4k-16k", "16k-32k", "32k+"}

// Bucket is the index of the bucket for a prompt length in tokens.
func Bucket(tokens int) int { return sort.SearchInts(bucketEdges, tokens+1) }
