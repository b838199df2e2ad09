package accelerator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"redline/internal/observe/telemetry"
)

// nvidiaField is a column that nvidia-smi is asked for.
type nvidiaField struct {
	name string
	// older is what earlier drivers call it; "" where they do not have it.
	older string
	read  func(*row, string)
}

// row is one device at one moment.
type row struct {
	index        int
	count        int // devices in the machine, 0 where that is unknown
	name, driver string
	memoryMB     float64
	device       telemetry.DeviceReading
}

// nvidiaFields are asked for in this order. The index comes first: a line
// without one is no row.
var nvidiaFields = []nvidiaField{
	{"index", "", nil},
	{"count", "", func(r *row, v string) {
		if n, err := strconv.Atoi(v); err == nil {
			r.count = n
		}
	}},
	{"name", "", func(r *row, v string) { r.name = v }},
	{"driver_version", "", func(r *row, v string) { r.driver = v }},
	{"utilization.gpu", "", share(func(r *row) **float64 { return &r.device.Utilization })},
	{"utilization.memory", "", share(func(r *row) **float64 { return &r.device.MemoryTime })},
	{"memory.used", "", plain(func(r *row) **float64 { return &r.device.MemoryMB })},
	{"memory.total", "", func(r *row, v string) {
		if n, ok := decimal(v); ok {
			r.memoryMB = n
		}
	}},
	{"clocks.sm", "", plain(func(r *row) **float64 { return &r.device.ClockMHz })},
	{"clocks.mem", "", plain(func(r *row) **float64 { return &r.device.MemoryClockMHz })},
	{"power.draw", "", plain(func(r *row) **float64 { return &r.device.Watts })},
	{"temperature.gpu", "", plain(func(r *row) **float64 { return &r.device.TemperatureC })},
	{"clocks_event_reasons.active", "clocks_throttle_reasons.active", func(r *row, v string) {
		mask, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 64)
		if err == nil {
			r.device.Throttles, r.device.Throttled = true, telemetry.ThrottledBy(mask)
		}
	}},
}

func plain(of func(*row) **float64) func(*row, string) { return scaledColumn(of, 1) }

func share(of func(*row) **float64) func(*row, string) { return scaledColumn(of, 100) }

func scaledColumn(of func(*row) **float64, by float64) func(*row, string) {
	return func(r *row, text string) {
		if v, ok := decimal(text); ok {
			*of(r) = new(v / by)
		}
	}
}

// decimal reads a number as it stands in any locale and with any unit behind
// it. What the device does not have ("[N/A]", "[Not Supported]") is none.
func decimal(text string) (float64, bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || strings.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return v, err == nil
}

// nvidiaQuery is the columns that a driver is asked for.
type nvidiaQuery struct{ fields []nvidiaField }

// arguments ask for the columns again and again.
func (q *nvidiaQuery) arguments(everyMS int64) []string {
	names := make([]string, len(q.fields))
	for i, f := range q.fields {
		names[i] = f.name
	}
	return []string{"--query-gpu=" + strings.Join(names, ","), "--format=csv,noheader,nounits", "-lms", strconv.FormatInt(everyMS, 10)}
}

// errRefused says that the driver does not know a column, which is asked for
// by its older name from now on, or not at all.
var errRefused = errors.New("a column is not known to this driver")

var unknownField = regexp.MustCompile(`^Field "([^"]*)" is not a valid field to query`)

// refuse takes back a column that the driver does not know.
func (q *nvidiaQuery) refuse(line string) error {
	found := unknownField.FindStringSubmatch(line)
	if found == nil {
		return nil
	}
	i := slices.IndexFunc(q.fields, func(f nvidiaField) bool { return f.name == found[1] })
	if i <= 0 {
		return fmt.Errorf("does not know its own columns: %s", line)
	}
	fields := slices.Clone(q.fields)
	if older := fields[i].older; older != "" {
		fields[i].name, fields[i].older = older, ""
	} else {
		fields = slices.Delete(fields, i, i+1)
	}
	q.fields = fields
	return errRefused
}

// parse reads a line of the table. A comma between two values has a blank
// behind it, one inside a number has none.
func (q *nvidiaQuery) parse(line string) (row, bool) {
	cells := strings.Split(strings.TrimSpace(line), ", ")
	if len(cells) != len(q.fields) {
		return row{}, false
	}
	index, err := strconv.Atoi(cells[0])
	if err != nil || index < 0 {
		return row{}, false
	}
	r := row{index: index}
	for i, f := range q.fields {
		if f.read != nil {
			f.read(&r, strings.TrimSpace(strings.ToValidUTF8(cells[i], "?")))
		}
	}
	return r, true
}

// round gathers the rows of one look at all devices, which come in the order of
// their indices.
type round struct {
	at   int64
	rows []row
	// handedOver says that the round was handed over as whole.
	handedOver bool
	// devices is how many there are, 0 until that is known.
	devices int
	// short counts rounds that lacked a device, one after another.
	short int
}

// maxShort is how many rounds may lack a device before it counts as gone.
const maxShort = 3

// add takes a row and gives a reading where one became whole by it: at the
// last of the devices, or, as long as their number is unknown, when
// the next round begins. A round with a row missing is no reading, because its
// sums would be too small.
func (r *round) add(at int64, one row) *telemetry.AcceleratorReading {
	var whole *telemetry.AcceleratorReading
	if n := len(r.rows); n > 0 && one.index <= r.rows[n-1].index {
		whole = r.close()
	}
	if len(r.rows) == 0 {
		r.at = at
	}
	r.rows = append(r.rows, one)
	if len(r.rows) == r.devices && !r.handedOver {
		r.handedOver, r.short = true, 0
		whole = r.reading()
	}
	return whole
}

// close ends a round and learns from it how many devices there are.
func (r *round) close() (whole *telemetry.AcceleratorReading) {
	n := len(r.rows)
	switch {
	case r.handedOver:
		r.devices = max(r.devices, n)
	case n >= r.devices:
		r.devices = n
		whole = r.reading()
	default:
		if r.short++; r.short >= maxShort {
			r.devices, r.short = n, 0
		}
	}
	r.rows, r.handedOver = nil, false
	return whole
}

func (r *round) reading() *telemetry.AcceleratorReading {
	reading := readingOf(telemetry.AcceleratorNvidia, slices.Clone(r.rows))
	reading.At = r.at
	return &reading
}

// readingOf puts the rows of one moment together.
func readingOf(source string, rows []row) telemetry.AcceleratorReading {
	slices.SortStableFunc(rows, func(a, b row) int { return a.index - b.index })
	reading := telemetry.AcceleratorReading{Source: source, Board: &telemetry.AcceleratorBoard{}}
	b := reading.Board
	for _, r := range rows {
		reading.Devices = append(reading.Devices, r.device)
		if r.name != "" {
			b.Names = append(b.Names, r.name)
		}
		if r.memoryMB > 0 && (b.MemoryMB == 0 || r.memoryMB < b.MemoryMB) {
			b.MemoryMB = r.memoryMB
		}
		if r.driver != "" {
			b.Driver = r.driver
		}
	}
	return reading
}

var cudaVersion = regexp.MustCompile(`CUDA(?: [A-Z]+)? Version\s*:\s*([0-9]+(?:\.[0-9]+)*)`)

// cudaOf finds the newest CUDA that the driver serves, in what nvidia-smi says
// of its versions or at the head of its usual page.
func cudaOf(text []byte) string {
	if found := cudaVersion.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}
