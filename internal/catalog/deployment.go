package catalog

import (
	"cmp"
	"fmt"
)

// Memory that a served model takes beside its weights and its cache.
const (
	activationsSmall = 2.0 * GiB // batches of up to 2,048 tokens
	activationsLarge = 5.5 * GiB // batches of 8,192 tokens and more
	activationsMoE   = 8.0 / 5.5 // mixtures keep their routed copies as well
	runtimeAlone     = 0.15 * GiB
	runtimeWithPeers = 0.6 * GiB // communication buffers
)

// activationBytes is the working memory of a step of up to batch tokens.
func activationBytes(m Model, batch int) float64 {
	share := (float64(batch) - 2048) / (8192 - 2048)
	bytes := activationsSmall + min(1, max(0, share))*(activationsLarge-activationsSmall)
	if m.Experts > 0 {
		bytes *= activationsMoE
	}
	return bytes
}

// Deployment is a model on tp accelerators.
type Deployment struct {
	Model       Model
	Accelerator Accelerator
	TP          int
	Weights, KV Precision
	// Utilization is the share of memory that the engine may take.
	Utilization float64
	// BatchTokens is the largest step, in scheduled tokens.
	BatchTokens int
	// Compute and Memory are the shares of the accelerator's peak rates that
	// matrix products and weight reads reach; 0 is what is usual on it.
	Compute, Memory float64
	// ExpertSpread is that of the law: 0 where tokens choose their experts
	// independently, as trained models are made to.
	ExpertSpread float64
}

// What engines take unless set otherwise.
const (
	defaultUtilization = 0.92
	defaultBatchTokens = 8192
)

// Deploy lays a model as its maker ships it over tp accelerators.
func Deploy(m Model, a Accelerator, tp int) Deployment {
	return Deployment{Model: m, Accelerator: a, TP: max(1, tp), Weights: m.Precision, KV: BF16,
		Utilization: defaultUtilization, BatchTokens: defaultBatchTokens}
}

// Check says why a model cannot be laid over so many accelerators.
func (d Deployment) Check() error {
	if d.Model.Heads%d.TP != 0 {
		return fmt.Errorf("%d does not divide the %d attention heads of %s", d.TP, d.Model.Heads, d.Model.Name)
	}
	if d.TP > 1 && d.Accelerator.Link == 0 {
		return fmt.Errorf("the link between %s devices is not known: give link_gbs in a catalog file", d.Accelerator.Name)
	}
	return nil
}

// Steps gives the step times of the deployment.
func (d Deployment) Steps() StepModel {
	compute, memory := d.Compute, d.Memory
	compute = cmp.Or(compute, ComputeShare(d.Accelerator, d.Weights))
	memory = cmp.Or(memory, UsualMemoryShare)
	return NewStepModel(d, compute, memory)
}

// kvRoom is the memory left for the cache on each rank, in bytes; negative
// where not even the weights fit.
func (d Deployment) kvRoom() float64 {
	tp := max(1, d.TP)
	runtime := runtimeAlone
	if tp > 1 {
		runtime = runtimeWithPeers
	}
	return d.Utilization*float64(d.Accelerator.Memory) - float64(d.Model.WeightBytes(d.Weights))/float64(tp) -
		activationBytes(d.Model, d.BatchTokens) - runtime
}

// KVBlocks is how many blocks of size tokens fit in kvRoom. A block holds the
// layers that look back without limit; a window's layers are charged to the
// same pool by the sequence that holds them.
func (d Deployment) KVBlocks(size int) int {
	perToken := float64(d.Model.GrowingLayers()) * d.Model.LayerKVBytes(d.KV, d.TP)
	return max(0, int(d.kvRoom()/(float64(size)*perToken)))
}
