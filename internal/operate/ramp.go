package operate

import (
	"context"
	"errors"
	"fmt"

	"herald/internal/advice"
	"herald/internal/launch"
)

// Ramp orders that a generation of workers gets a percentage of all workflows. Afterwards, events
// still start with commands that the current generation knows. So every workflow can move to the
// new workers and back, whenever the percentage changes.
type Ramp struct {
	Generation int
	Percent    float32 // 0 ends the ramp
}

// Ramped is the effect of a [Ramp].
type Ramped struct {
	Generation int     `json:"generation"` // 0: no generation is ramping
	Percent    float32 `json:"percent"`
	Current    int     `json:"current_generation"` // its workers get the other workflows
	Changed    bool    `json:"changed"`            // false: the order was carried out before
}

// Ramp carries out the order. No promotion can begin meanwhile: the error is
// [postgres.ErrPromoting] if one has.
func (o *Operator) Ramp(ctx context.Context, order Ramp) (ramped Ramped, err error) {
	held, unlock, err := o.Store.LockPromotions(ctx)
	if err != nil {
		return ramped, err
	}
	defer unlock()
	generations, err := o.Launcher.Generations(ctx)
	if err != nil {
		return ramped, err
	}
	if order.Percent == 0 {
		order.Generation = generations.Ramping
	}
	ramped = Ramped{Generation: order.Generation, Percent: order.Percent, Current: generations.Current}
	if order.Generation == generations.Ramping && order.Percent == generations.Percent {
		return ramped, nil
	}
	if order.Percent > 0 {
		p := &promotionRun{Operator: o, held: held, progress: func(Promoted) {}, current: generations.Current}
		if err := p.permitRamp(ctx, order.Generation, generations); err != nil {
			return ramped, err
		}
	}
	detail := fmt.Sprintf("generation %d to %g %%", order.Generation, order.Percent)
	if err := o.Record(ctx, detail, launch.Deployment(o.Launcher.Namespace, o.Launcher.Prefix)); err != nil {
		return ramped, err
	}
	if order.Percent == 0 {
		if err := o.Store.EndRamp(ctx, generations.Current, generations.Ramping); err != nil {
			return ramped, err
		}
	}
	ramped.Changed = true
	return ramped, o.Launcher.SetRamp(ctx, order.Generation, order.Percent)
}

// permitRamp refuses a ramp that would leave tasks without a worker, or give one generation
// workflows that it cannot continue.
func (p *promotionRun) permitRamp(ctx context.Context, generation int, generations launch.Generations) error {
	switch {
	case p.current <= launch.Unversioned:
		return advice.With(errors.New("workers without a version get the tasks, and cannot continue workflows of newer workers"), fmt.Sprintf("run `starter workers promote %d`", generation))
	case generation <= p.current:
		return advice.With(fmt.Errorf("generation %d is not newer than the current generation %d", generation, p.current), "name a newer generation; see `starter workers list`")
	}
	last, err := p.Store.LastPromotion(ctx)
	if err != nil {
		return err
	}
	if interrupted(last) {
		return advice.With(fmt.Errorf("the promotion of generation %d has not ended", last.Generation), fmt.Sprintf("run `starter workers promote %d`", last.Generation))
	}
	if err := p.permit(ctx, Promotion{Generation: generation}, generations, last); err != nil {
		return err
	}
	return p.unfinished(ctx, func(ctx context.Context, id string) error {
		open, err := p.Launcher.OpenEvent(ctx, id)
		if err != nil || open.RunID == "" || open.Replays(p.current) && open.Replays(generation) {
			return err
		}
		return advice.With(fmt.Errorf("generations %d and %d cannot both continue event %s", p.current, generation, id), "wait until it ends, or promote the generation instead")
	})
}
