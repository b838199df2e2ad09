package accelerator

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"redline/internal/observe/telemetry"
)

// exporter says how one exporter names its series.
type exporter struct {
	name string
	// mark is what a series' name begins with, in small letters.
	mark string
	// Labels that tell devices apart, and those that name one and its driver.
	host, device, model, driver string
	// part is the label of a slice of a device.
	part   string
	fields []pageField
}

// pageField is a series and where its value goes.
type pageField struct {
	name string
	// label and value choose among series of that name; "" for all.
	label, value string
	scale        float64
	// parts makes one value of those of a device's slices.
	parts func([]float64) float64
	set   func(*row, float64)
}

// exporters are those whose pages are known. Where several fields fill one
// figure, the first that is there wins.
var exporters = []exporter{
	{
		name: "dcgm", mark: "dcgm_fi_", host: "Hostname", device: "gpu", model: "modelName", driver: "DCGM_FI_DRIVER_VERSION", part: "GPU_I_ID",
		fields: []pageField{
			{name: "dcgm_fi_dev_gpu_util", scale: 0.01, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.Utilization })},
			{name: "dcgm_fi_prof_gr_engine_active", scale: 1, parts: mean, set: figure(func(r *row) **float64 { return &r.device.Utilization })},
			{name: "dcgm_fi_dev_mem_copy_util", scale: 0.01, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.MemoryTime })},
			{name: "dcgm_fi_prof_dram_active", scale: 1, parts: mean, set: figure(func(r *row) **float64 { return &r.device.DRAMActive })},
			{name: "dcgm_fi_prof_pipe_tensor_active", scale: 1, parts: mean, set: figure(func(r *row) **float64 { return &r.device.TensorActive })},
			{name: "dcgm_fi_dev_fb_used", scale: 1, parts: sum, set: func(r *row, v float64) { r.device.MemoryMB, r.memoryMB = &v, r.memoryMB+v }},
			{name: "dcgm_fi_dev_fb_free", scale: 1, parts: sum, set: func(r *row, v float64) { r.memoryMB += v }},
			{name: "dcgm_fi_dev_fb_reserved", scale: 1, parts: sum, set: func(r *row, v float64) { r.memoryMB += v }},
			{name: "dcgm_fi_dev_sm_clock", scale: 1, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.ClockMHz })},
			{name: "dcgm_fi_dev_mem_clock", scale: 1, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.MemoryClockMHz })},
			{name: "dcgm_fi_dev_gpu_temp", scale: 1, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.TemperatureC })},
			{name: "dcgm_fi_dev_power_usage", scale: 1, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.Watts })},
			{name: "dcgm_fi_dev_total_energy_consumption", scale: 0.001, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.Joules })},
			{name: "dcgm_fi_dev_clocks_event_reasons", scale: 1, parts: slices.Max[[]float64], set: reasons},
			{name: "dcgm_fi_dev_clock_throttle_reasons", scale: 1, parts: slices.Max[[]float64], set: reasons},
		},
	},
	{
		name: "amd-exporter", mark: "gpu_", host: "hostname", device: "gpu_id", model: "card_model", driver: "driver_version", part: "partition_id",
		fields: []pageField{
			{name: "gpu_gfx_activity", scale: 0.01, parts: mean, set: figure(func(r *row) **float64 { return &r.device.Utilization })},
			{name: "gpu_umc_activity", scale: 0.01, parts: mean, set: figure(func(r *row) **float64 { return &r.device.MemoryTime })},
			{name: "gpu_used_vram", scale: 1, parts: sum, set: figure(func(r *row) **float64 { return &r.device.MemoryMB })},
			{name: "gpu_total_vram", scale: 1, parts: sum, set: func(r *row, v float64) { r.memoryMB = v }},
			{name: "gpu_clock", label: "clock_type", value: "GPU_CLOCK_TYPE_SYSTEM", scale: 1, parts: mean, set: figure(func(r *row) **float64 { return &r.device.ClockMHz })},
			{name: "gpu_clock", label: "clock_type", value: "GPU_CLOCK_TYPE_MEMORY", scale: 1, parts: mean, set: figure(func(r *row) **float64 { return &r.device.MemoryClockMHz })},
			{name: "gpu_junction_temperature", scale: 1, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.TemperatureC })},
			{name: "gpu_edge_temperature", scale: 1, parts: slices.Max[[]float64], set: figure(func(r *row) **float64 { return &r.device.TemperatureC })},
			{name: "gpu_package_power", scale: 1, parts: sum, set: figure(func(r *row) **float64 { return &r.device.Watts })},
			{name: "gpu_average_package_power", scale: 1, parts: sum, set: figure(func(r *row) **float64 { return &r.device.Watts })},
		},
	},
}

func figure(of func(*row) **float64) func(*row, float64) {
	return func(r *row, v float64) {
		if at := of(r); *at == nil {
			*at = &v
		}
	}
}

func reasons(r *row, v float64) {
	if !r.device.Throttles {
		r.device.Throttles, r.device.Throttled = true, telemetry.ThrottledBy(uint64(v))
	}
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

// foldName is a series' name in the one form that all releases of the exporters
// come down to.
func foldName(name string) string { return strings.TrimPrefix(strings.ToLower(name), "amd_") }

// readPage makes a reading of an exporter's page.
func readPage(text []byte) (telemetry.AcceleratorReading, error) {
	page := telemetry.ParsePage(text)
	for i := range exporters {
		e := &exporters[i]
		ours := func(s telemetry.Series) bool {
			return strings.HasPrefix(foldName(s.Name), e.mark) && s.Label(e.device) != ""
		}
		if slices.ContainsFunc(page.Series, ours) {
			if rows := e.rows(page); len(rows) > 0 {
				return readingOf(e.name, rows), nil
			}
		}
	}
	return telemetry.AcceleratorReading{}, errors.New("the page has no figures of accelerators (DCGM_FI_… or gpu_…)")
}

// place tells one device from all others.
type place struct{ host, device string }

func (a place) compare(b place) int {
	x, errX := strconv.Atoi(a.device)
	y, errY := strconv.Atoi(b.device)
	if errX == nil && errY == nil && x != y && a.host == b.host {
		return x - y
	}
	return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.device, b.device))
}

// fieldValues is one field of one device: its own value, or those of its slices.
type fieldValues struct {
	whole *float64
	parts []float64
}

func (e *exporter) rows(page *telemetry.Page) []row {
	devices, order := map[place]map[int]*fieldValues{}, []place{}
	names, drivers := map[place]string{}, map[place]string{}
	for i := range page.Series {
		s := &page.Series[i]
		at := place{s.Label(e.host), s.Label(e.device)}
		name := foldName(s.Name)
		n := slices.IndexFunc(e.fields, func(f pageField) bool {
			return f.name == name && (f.label == "" || s.Label(f.label) == f.value)
		})
		// Exporters write NaN, negatives and numbers near the largest integer for "no value".
		if n < 0 || at.device == "" || !(s.Value >= 0 && s.Value < 1e17) {
			continue
		}
		if devices[at] == nil {
			devices[at], order = map[int]*fieldValues{}, append(order, at)
		}
		names[at], drivers[at] = cmp.Or(names[at], s.Label(e.model)), cmp.Or(drivers[at], s.Label(e.driver))
		g := devices[at][n]
		if g == nil {
			g = &fieldValues{}
			devices[at][n] = g
		}
		value := s.Value * e.fields[n].scale
		if s.Label(e.part) == "" {
			g.whole = &value
		} else {
			g.parts = append(g.parts, value)
		}
	}
	slices.SortFunc(order, place.compare)
	rows := make([]row, len(order))
	for i, at := range order {
		rows[i] = row{index: i, name: names[at], driver: drivers[at]}
		for n, f := range e.fields {
			switch g := devices[at][n]; {
			case g == nil:
			case g.whole != nil:
				f.set(&rows[i], *g.whole)
			default:
				f.set(&rows[i], f.parts(g.parts))
			}
		}
	}
	return rows
}
