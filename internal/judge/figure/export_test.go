package figure

// With adds a row to the table until the test that asks for it has ended.
func With(f *Figure) (restore func()) {
	before, known := All, index
	All = fillNames(append(before[:len(before):len(before)], f))
	index = indexByName(All)
	return func() { All, index = before, known }
}
