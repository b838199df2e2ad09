package compare

// Names are those of all figures that comparisons judge.
func Names() []string {
	names := make([]string, len(figures))
	for i, f := range figures {
		names[i] = f.name
	}
	return names
}

// Direction reports whether more of a figure is better; known is false where
// there is none of that name.
func Direction(name string) (moreIsBetter, known bool) {
	for _, f := range figures {
		if f.name == name {
			return f.moreIsBetter, true
		}
	}
	return false, false
}

// IsShare reports whether a figure is a share, whose differences are compared
// and not its ratios.
func IsShare(name string) bool {
	for _, f := range figures {
		if f.name == name {
			return f.share
		}
	}
	return false
}
