package queue

// Alarms are when each of some engines wants to be called, the earliest first, and of
// several at once the one with the lowest number.
type Alarms struct {
	at    []int64 // by number
	order []int   // numbers, as a heap
	place []int   // of each number in order
}

// NewAlarms gives those of so many engines, of which none wants to be called.
func NewAlarms(n int) *Alarms {
	a := &Alarms{at: make([]int64, n), order: make([]int, n), place: make([]int, n)}
	for i := range n {
		a.at[i], a.order[i], a.place[i] = Idle, i, i
	}
	return a
}

// At is when one wants to be called, or Idle.
func (a *Alarms) At(number int) int64 { return a.at[number] }

// First is the one that wants to be called next, and when; Idle where none does.
func (a *Alarms) First() (at int64, number int) {
	number = a.order[0]
	return a.at[number], number
}

// Set says when one wants to be called.
func (a *Alarms) Set(number int, at int64) {
	earlier := at < a.at[number]
	a.at[number] = at
	i := a.place[number]
	if earlier {
		for up := (i - 1) / 2; i > 0 && a.before(number, a.order[up]); up = (i - 1) / 2 {
			a.put(i, a.order[up])
			i = up
		}
		a.put(i, number)
		return
	}
	for {
		down := 2*i + 1
		if down+1 < len(a.order) && a.before(a.order[down+1], a.order[down]) {
			down++
		}
		if down >= len(a.order) || !a.before(a.order[down], number) {
			break
		}
		a.put(i, a.order[down])
		i = down
	}
	a.put(i, number)
}

func (a *Alarms) before(one, other int) bool {
	return a.at[one] < a.at[other] || a.at[one] == a.at[other] && one < other
}

func (a *Alarms) put(place, number int) { a.order[place], a.place[number] = number, place }
