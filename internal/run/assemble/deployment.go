package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"redline/internal/catalog"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/twin/sim"
)

// deployment is one replica of what is measured, as far as it is known, and how
// many there are.
type deployment struct {
	catalog.Deployment
	replicas int
	// seqs is the most requests that a replica runs at once; 0 is not known.
	seqs int
	// spec is one replica as the simulator sees it, nil where it cannot; assumed
	// is what nobody measured of it.
	spec    *sim.Spec
	assumed []string
}

// errNoHardware is that of a server whose hardware is unknown. The
// cure is the user's to choose, so it is no warning.
var errNoHardware = errors.New("what to expect of the hardware (say metadata.hardware: H100 in a plan, and --catalog FILE where it is not known)")

// deploymentOf finds out what is measured: the embedded engine knows, of others
// it is what the server, its devices and the plan's metadata say.
func deploymentOf(c *config.Config, res *result.Result, server *telemetry.ServerUse) (deployment, error) {
	if c.Embedded() {
		d, err := c.Server.Sim.Deployment()
		return deployment{Deployment: d, replicas: c.Server.Sim.Engines(), seqs: c.Server.Sim.MaxNumSeqs}, err
	}
	if res.Hardware.Accelerator == "" {
		return deployment{}, errNoHardware
	}
	accelerator, err := c.Known.Accelerator(res.Hardware.Accelerator)
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), " known: ")
		return deployment{}, fmt.Errorf("metadata.hardware: %s", strings.TrimSuffix(text, ":")+"; redline catalog lists them, --catalog FILE adds to them")
	}
	model, err := servedModel(c, res.Model.Name)
	if err != nil {
		return deployment{}, err
	}
	return laidOut(c, res, server, catalog.Deploy(model, accelerator, 1), res.Hardware.Count)
}

// servedModel is the model whose configuration the user names, or that of the
// name under which it is served.
func servedModel(c *config.Config, name string) (catalog.Model, error) {
	if m, ok := c.Known.GivenModel(); ok {
		return m, nil
	}
	m, err := c.Known.Model(name)
	if err != nil {
		return m, fmt.Errorf("the shape of the model %q is not known: name its config.json with --catalog", name)
	}
	return m, nil
}

// leadingCount reads "4 × H100" and "4xH100". A number without a sign behind it
// may be part of the name: "3090 Ti".
var leadingCount = regexp.MustCompile(`^\s*(\d{1,4})\s*[x×*]\s*(.+)$`)

// splitCount takes the number of accelerators off their name, 0 where there is
// none.
func splitCount(hardware string) (int, string) {
	m := leadingCount.FindStringSubmatch(hardware)
	if m == nil {
		return 0, hardware
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, hardware
	}
	return n, m[2]
}

// degree reads one way of parallelism: "tp 4", "tp=4", "tp4".
var degree = regexp.MustCompile(`(?i)\b(tp|pp|dp|tensor|pipeline|data)[a-z_-]*\s*[=:]?\s*(\d{1,4})`)

// parallelism reads how a model is laid over accelerators; what is not said is
// 0.
func parallelism(text string) (tp, pp, dp int) {
	for _, m := range degree.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		switch strings.ToLower(m[1])[0] {
		case 't':
			tp = n
		case 'p':
			pp = n
		case 'd':
			dp = n
		}
	}
	return tp, pp, dp
}

// laidOut fills in over how many accelerators the model lies, and in which
// precisions.
func laidOut(c *config.Config, res *result.Result, server *telemetry.ServerUse, d catalog.Deployment, count int) (deployment, error) {
	tp, pp, dp := parallelism(res.Engine.Parallelism)
	if pp > 1 {
		return deployment{}, errors.New("pipeline parallelism is not predicted")
	}
	if dp == 0 && server != nil {
		dp = server.Replicas
	}
	dp = max(1, dp)
	tp = cmp.Or(tp, max(1, count/dp))
	d.TP = tp
	if err := d.Check(); err != nil {
		return deployment{}, fmt.Errorf("%d accelerators for one model: %w; say metadata.parallelism: tp N", tp, err)
	}
	d.Weights = weightsOf(c, res, d.Weights)
	d.KV = cachePrecision(d.KV, c, res.Engine.Flags, reportedBy(server))
	if share, err := strconv.ParseFloat(reportedBy(server)["gpu_memory_utilization"], 64); err == nil && share > 0 && share <= 1 {
		d.Utilization = share
	}
	if said := c.Metadata["expert_spread"]; said != "" {
		var err error
		if d.ExpertSpread, err = strconv.ParseFloat(said, 64); err != nil || !(d.ExpertSpread > 0 && d.ExpertSpread <= 1) {
			return deployment{}, fmt.Errorf("metadata.expert_spread: expected a number above 0 and up to 1, such as 0.45, got %q", text.Brief(said))
		}
	}
	return deployment{Deployment: d, replicas: dp}, nil
}

func reportedBy(server *telemetry.ServerUse) map[string]string {
	if server == nil {
		return nil
	}
	return server.Config
}

// weightsOf is how the weights are stored, as someone says or as the name under
// which they are served does. What a server calls its precision may be that of its
// arithmetic, which such a name contradicts.
func weightsOf(c *config.Config, res *result.Result, shipped catalog.Precision) catalog.Precision {
	named, _ := catalog.NamedPrecision(res.Model.Name)
	return first(shipped, c.Metadata["precision"], res.Model.Quantization, string(named), res.Model.Precision)
}

// first is the first of the texts that names a precision.
func first(otherwise catalog.Precision, texts ...string) catalog.Precision {
	for _, t := range texts {
		if p, err := catalog.ParsePrecision(t); err == nil {
			return p
		}
	}
	return otherwise
}
