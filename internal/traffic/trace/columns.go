package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

// value is the text of one role in one row.
type value struct {
	text []byte
	set  bool
	place
}

type values [roleCount]value

// entry is a row before its time is counted from the first one's.
type entry struct {
	stamp int64
	timed bool
	row   Row
}

// errLeftOut marks a row of a request that came to nothing: neither bad nor
// used.
var errLeftOut = errors.New("left out")

// lineReader makes rows of lines. It is told every line in order, and at last
// that there are no more.
type lineReader interface {
	read(line []byte, number int, emit func(entry) error) error
	end(emit func(entry) error) error
	notes() []string
	// columnsUsed names the fields that have a role, as ROLE=NAME, and idle those that
	// have none.
	columnsUsed() []string
	idle() string
}

// place says which role a column has. rank is its place among the names of its
// role, so that a better name wins wherever it stands in the row.
type place struct {
	role, rank int
	name       string
}

// columnReader reads rows whose values have names: by a header, or by the keys
// of an object on each line.
type columnReader struct {
	format format
	salt   uint64
	wanted map[string]place
	// mapped are the columns that the user named, by role.
	mapped [roleCount]string
	// header has the place of each column of a CSV, role -1 for no role.
	header []place
	// names are the columns in use, for error messages.
	names [roleCount]string
	// unit is that of plain numbers as timestamps.
	unit    time.Duration
	started bool
	// textual counts prompts by their text, assumes says that outputs are not in
	// the log.
	textual, assumes bool
	count            func([]byte) int
	path             []byte
	fields           [][]byte
	// unread are the columns that have no role, by names; counting says that the
	// file is read for the first time.
	unread   unreadFields
	titles   [][]byte
	counting bool
}

func newColumns(f format, o Options, salt uint64) (*columnReader, error) {
	c := &columnReader{format: f, salt: salt, wanted: map[string]place{}, unit: f.unit, count: o.count}
	for role, names := range f.columns {
		for rank, name := range names {
			c.wanted[name] = place{role, rank + 1, name}
		}
	}
	if err := CheckColumns(o.Columns); err != nil {
		return nil, err
	}
	for name, column := range o.Columns {
		role := slices.Index(roles, name)
		c.mapped[role] = column
		for known, p := range c.wanted {
			if p.role == role {
				delete(c.wanted, known)
			}
		}
	}
	for role, column := range c.mapped {
		if column != "" {
			c.wanted[plainName(column)] = place{role, 0, plainName(column)}
		}
	}
	return c, nil
}

// CheckColumns says which role of named columns there is not.
func CheckColumns(columns map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if !slices.Contains(roles, name) {
			return fmt.Errorf("no column can have the role %s: %s", quote(name), text.HintWithKnown(name, roles))
		}
	}
	return nil
}

// read takes a line that is not blank.
func (c *columnReader) read(line []byte, number int, emit func(entry) error) error {
	if c.format.csv && !c.started {
		c.started = true
		return c.readHeader(line)
	}
	c.counting = true
	e, err := c.parse(line)
	c.counting = false
	c.unread.next(err == nil)
	if err != nil {
		return err
	}
	e.row.Line = number
	return emit(e)
}

func (c *columnReader) end(func(entry) error) error { return nil }

func (c *columnReader) notes() []string {
	if c.assumes {
		return []string{assumedOutputs}
	}
	return nil
}

func (c *columnReader) columnsUsed() []string {
	var list []string
	for role, name := range roles {
		if c.names[role] != "" {
			list = append(list, name+"="+text.Line(c.names[role]))
		}
	}
	return list
}

func (c *columnReader) idle() string {
	note := c.unread.note("columns")
	if note != "" {
		note += "; --column ROLE=NAME gives one a role"
	}
	return note
}

// parse makes a row of a line. It changes nothing that the next line depends
// on once the first row has been read.
func (c *columnReader) parse(line []byte) (entry, error) {
	var v values
	if c.format.csv {
		if err := c.readFields(line, &v); err != nil {
			return entry{}, err
		}
		return c.convert(&v)
	}
	if err := c.readObject(line, &v); err != nil {
		return entry{}, err
	}
	if !c.started {
		names := text.Each(objectKeys(line), func(path string) string { return spellPath(line, path) })
		if err := c.checkRoles(func(role int) bool { return v[role].set }, names); err != nil {
			return entry{}, err
		}
		c.started = true
	}
	return c.convert(&v)
}

// fatal is an error of the whole file, which leaving rows out does not cure.
type fatal struct{ error }

func (c *columnReader) readHeader(line []byte) error {
	fields, err := splitCSV(nil, line)
	if err != nil {
		return fatal{err}
	}
	var names []string
	best := map[int]int{}
	for i, f := range fields {
		name := string(f)
		names = append(names, name)
		p, ok := c.wanted[plainName(name)]
		if !ok {
			p = place{role: -1}
		} else if before, taken := best[p.role]; taken && c.header[before].rank <= p.rank {
			p = place{role: -1}
		} else {
			if taken {
				c.header[before].role = -1
			}
			best[p.role] = i
			c.name(p.role, name)
		}
		c.header = append(c.header, p)
		c.titles = append(c.titles, []byte(name))
	}
	err = c.checkRoles(func(role int) bool { _, ok := best[role]; return ok }, names)
	if err != nil {
		return fatal{err}
	}
	return nil
}

// name remembers which column has a role, and the unit that its name tells.
func (c *columnReader) name(role int, name string) {
	c.names[role] = name
	if role == roleTime && c.format.unit == 0 {
		c.unit = unitOfName(name)
	}
}

// checkRoles says which column is missing from those there are.
func (c *columnReader) checkRoles(has func(role int) bool, names []string) error {
	for role, column := range c.mapped {
		if column != "" && !has(role) {
			return fatal{fmt.Errorf("no column %s, expected one of: %s", quote(column), joinNames(names))}
		}
	}
	if c.format.partial {
		c.textual, c.assumes = !has(rolePrompt) && has(roleText), !has(roleOutput)
	}
	for _, role := range []int{rolePrompt, roleOutput} {
		if !has(role) && !(role == rolePrompt && c.textual) && !(role == roleOutput && c.assumes) {
			return fatal{fmt.Errorf("no column with the %s tokens among %s; name it with --column %s=NAME",
				roles[role], joinNames(names), roles[role])}
		}
	}
	return nil
}

func joinNames(names []string) string {
	const limit = 12
	if len(names) > limit {
		names = append(slices.Clone(names[:limit]), "…")
	}
	return strings.Join(names, ", ")
}

// unitOfName is the unit that a timestamp column's name ends in, 0 for none.
func unitOfName(name string) time.Duration {
	name = strings.TrimRight(strings.ToLower(name), ")]")
	for _, u := range []struct {
		ending string
		unit   time.Duration
	}{
		{"ms", time.Millisecond}, {"millis", time.Millisecond}, {"us", time.Microsecond}, {"micros", time.Microsecond},
		{"ns", time.Nanosecond}, {"nano", time.Nanosecond}, {"nanos", time.Nanosecond},
	} {
		if strings.HasSuffix(name, u.ending) {
			return u.unit
		}
	}
	return 0
}

func (c *columnReader) readFields(line []byte, v *values) error {
	fields, err := splitCSV(c.fields[:0], line)
	c.fields = fields
	if err != nil {
		return err
	}
	if len(fields) != len(c.header) {
		return fmt.Errorf("has %d columns, expected the %d of the header", len(fields), len(c.header))
	}
	for i, p := range c.header {
		if p.role >= 0 {
			v[p.role] = value{text: fields[i], set: true}
		} else if c.counting {
			c.unread.see(c.titles[i], fields[i], nil)
		}
	}
	return nil
}

func (c *columnReader) readObject(line []byte, v *values) error {
	if !json.Valid(line) || line[0] != '{' {
		return errors.New("is not a JSON object; expected one on every line")
	}
	c.path = c.path[:0]
	walkObject(line, &c.path, func(path, raw []byte) {
		p, ok := c.wanted[string(path)]
		if !ok {
			if c.counting {
				c.unread.see(path, raw, line)
			}
			return
		}
		if string(raw) == "null" || string(raw) == `""` {
			return
		}
		before := v[p.role]
		better := !before.set || p.rank < before.rank
		if before.set && c.counting {
			unused := before.place
			if !better {
				unused = p
			}
			c.unread.see([]byte(unused.name), raw, line)
		}
		if !better {
			return
		}
		v[p.role] = value{text: raw, set: true, place: p}
		if !c.started {
			c.name(p.role, spellPath(line, string(path)))
		} else if c.counting && c.names[p.role] == "" {
			c.names[p.role] = spellPath(line, string(path))
		}
	})
	for role := range v {
		if role != roleText && role != roleBlocks && v[role].set {
			v[role].text = unquote(v[role].text)
		}
	}
	return nil
}

// convert turns the values of a row into numbers.
func (c *columnReader) convert(v *values) (entry, error) {
	if c.format.failed != nil && c.format.failed(v) {
		return entry{}, errLeftOut
	}
	var e entry
	var err error
	if c.textual {
		e.row.Prompt = c.count(v[roleText].text)
	} else if e.row.Prompt, err = c.tokens(v, rolePrompt); err != nil {
		return e, err
	}
	if e.row.Output = assumedOutput; !c.assumes {
		if e.row.Output, err = c.tokens(v, roleOutput); err != nil {
			return e, err
		}
	}
	if v[roleTime].set {
		stamp, ok := parseStamp(string(v[roleTime].text), c.unit)
		switch {
		case ok:
			e.stamp, e.timed = stamp, true
		case len(v[roleTime].text) == 0:
			return e, fmt.Errorf("has no timestamp in %s, expected one in every row or in none", c.names[roleTime])
		default:
			return e, fmt.Errorf("%s is %s, expected a time such as 2023-11-16T18:15:46.68Z or seconds since 1970",
				c.names[roleTime], quote(string(v[roleTime].text)))
		}
	}
	e.row.Session, e.row.Tenant, e.row.Class = string(v[roleSession].text), string(v[roleTenant].text), string(v[roleClass].text)
	return e, c.blocks(v, &e.row)
}

func (c *columnReader) tokens(v *values, role int) (int, error) {
	if !v[role].set || len(v[role].text) == 0 {
		return 0, fmt.Errorf("has no %s tokens, expected a whole number", roles[role])
	}
	said := strings.TrimSpace(string(v[role].text))
	n, err := strconv.Atoi(said)
	if err != nil {
		// Tables that once had a gap in the column write 128 as 128.0.
		x, err := strconv.ParseFloat(said, 64)
		if err != nil || x != math.Trunc(x) || math.Abs(x) > 2*maxTokens {
			return 0, fmt.Errorf("%s is %s, expected a whole number of tokens", c.names[role], quote(said))
		}
		n = int(x)
	}
	if n < 0 || n > maxTokens {
		return 0, fmt.Errorf("%s is %s; must be 0 to %s tokens", c.names[role], text.Count(n), text.Count(maxTokens))
	}
	return n, nil
}

// blocks names the prefix of a row: by the ids it carries, or by its text.
func (c *columnReader) blocks(v *values, row *Row) error {
	switch {
	case v[roleBlocks].set:
		ids, err := parseIDs(v[roleBlocks].text)
		if err != nil {
			return fmt.Errorf("%s: %w", c.names[roleBlocks], err)
		}
		row.Blocks, row.BlockTokens = ids, c.format.blockTokens
	case v[roleText].set:
		row.Blocks, row.BlockTokens = textBlocks(v[roleText].text, c.salt), blockTokens
	}
	return nil
}

// parseIDs reads [46, 47, 48]. Ids of other kinds are hashed.
func parseIDs(text []byte) ([]uint64, error) {
	s := strings.TrimSpace(string(text))
	if !strings.HasPrefix(s, "[") || !strings.HasSuffix(s, "]") {
		return nil, fmt.Errorf("is %s, expected a list of block ids", quote(s))
	}
	if s = strings.TrimSpace(s[1 : len(s)-1]); s == "" {
		return nil, nil
	}
	ids := make([]uint64, 0, strings.Count(s, ",")+1)
	for field := range strings.SplitSeq(s, ",") {
		field = strings.TrimSpace(field)
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			if field == "" || strings.ContainsAny(field, "[]{}") {
				return nil, fmt.Errorf("is %s, expected a list of block ids", quote(s))
			}
			n = newBlockHash(0).add([]byte(field))
		}
		ids = append(ids, n)
	}
	return ids, nil
}
