package engine

// Over is for the tests that use engines from outside.
var Over = over
