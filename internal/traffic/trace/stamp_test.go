package trace

import (
	"testing"
	"time"
)

func TestTimestampsOfEveryKind(t *testing.T) {
	t.Parallel()
	moment := time.Date(2023, 11, 16, 18, 15, 46, 680_590_000, time.UTC).UnixNano()
	whole := moment - 680_590_000
	for _, c := range []struct {
		text string
		unit time.Duration
		want int64
	}{
		{"2023-11-16 18:15:46.6805900", 0, moment},
		{"2023-11-16T18:15:46.68059Z", 0, moment},
		{"2023-11-16T20:15:46.680590000+02:00", 0, moment},
		{"2023-11-16 13:45:46,68059 -0430", 0, moment},
		{"2023-11-16 18:15:46.680590 UTC", 0, moment},
		{"2023-11-16T18:15:46", 0, whole},
		{"2023-11-16T19:15:46+01", 0, whole},
		{"1700158546.680590", 0, moment},
		{"1700158546680.59", 0, moment},
		{"1700158546680590", 0, moment},
		{"1700158546680590000", 0, moment},
		{" 1700158546 ", 0, whole},
		{"1.7e9", 0, 1_700_000_000 * int64(time.Second)},
		{"0", 0, 0},
		{"-1.5", 0, -1_500_000_000},
		{"2.25", time.Millisecond, 2_250_000},
		{"27482", time.Millisecond, 27_482_000_000},
		{"7", time.Nanosecond, 7},
	} {
		if got, ok := parseStamp(c.text, c.unit); !ok || got != c.want {
			t.Errorf("%q in %v: %d (%v), want %d", c.text, c.unit, got, ok, c.want)
		}
	}
}

func TestWhatIsNoTimestamp(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "now", "2023-11-16", "2023-13-16 18:15:46", "2023-11-32 18:15:46", "2023-11-16 25:15:46",
		"2023-11-16 18:61:46", "2023/11/16 18:15:46", "2023-11-16x18:15:46", "2023-11-16 18:15:46 CET", "2023-11-16 18:15:46+99:00",
		"2023-11-16 18:15:46.5.5", "0x10", "1.2.3", "NaN", "Inf", "1e300", "99999999999999999999", "--1", "9000000000000000000", "2150-01-01 00:00:00", "2023-+1-16 18:15:46"} {
		if got, ok := parseStamp(text, 0); ok {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestAColumnsNameTellsItsUnit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]time.Duration{
		"timestamp": 0, "Timestamp(s)": 0, "ts_ms": time.Millisecond, "timestampms": time.Millisecond, "Time (ms)": time.Millisecond,
		"arrival_us": time.Microsecond, "startTimeUnixNano": time.Nanosecond, "t_ns": time.Nanosecond, "created_millis": time.Millisecond,
	} {
		if got := unitOfName(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
