package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
)

// Merger is the plan or the progress of moving one person's rows to another.
type Merger struct {
	From      string                `json:"from"`
	To        string                `json:"to"`
	DryRun    bool                  `json:"dry_run"`
	Tables    []person.PersonalRows `json:"tables"`    // rows to move, or that were moved
	Cancelled int                   `json:"cancelled"` // deliveries that waited, and that the target gets too

	from, to notification.RecipientKey
}

// PlanMerge counts the rows that [People.Merge] would move. It returns an error if the
// target is not an active recipient, or was merged into somebody else.
func (p People) PlanMerge(ctx context.Context, from, to notification.RecipientKey) (Merger, error) {
	m := Merger{From: from.String(), To: to.String(), from: from, to: to}
	if from == to {
		return m, errors.New("both are the same person")
	}
	target, err := planner.On(p.DB).DirectoryEntry(ctx, to.UserType, to.UserID, nil)
	if err != nil {
		return m, err
	}
	if !target.Known || !target.Active {
		return m, advice.With(fmt.Errorf("%s is not an active recipient", to), "check the type and the id, and its row in recipient")
	}
	if at, err := person.On(p.DB).ErasedAt(ctx, from); err != nil || at != nil {
		return m, cmp.Or(err, fmt.Errorf("%s was erased: there is nothing to move", from))
	}
	known, err := person.On(p.DB).MergedInto(ctx, to)
	if err == nil && known != nil && *known != from {
		err = advice.With(fmt.Errorf("%s was merged into %s", to, known), "merge into "+known.String())
	}
	if err != nil {
		return m, err
	}
	if m.Tables, err = person.On(p.DB).CountMerge(ctx, from, to, maxPersonalRows); err != nil {
		return m, err
	}
	link := person.PersonalRows{Table: person.MergedTable}
	if known, err = person.On(p.DB).MergedInto(ctx, from); known == nil || *known != to {
		link.Rows = 1
	}
	m.Tables = slices.Insert(m.Tables, 0, link)
	if err == nil {
		m.Cancelled, err = person.On(p.DB).CountTwins(ctx, from, to, maxPersonalRows)
	}
	return m, err
}

// Rows returns the number of rows to change, or that were changed.
func (m Merger) Rows() int {
	total := m.Cancelled
	for _, t := range m.Tables {
		total += t.Rows
	}
	return total
}

// Merge moves the planned rows. An interrupted run continues when it is repeated.
func (p People) Merge(ctx context.Context, planned Merger, progress func(Merger)) (Merger, error) {
	m := planned
	if err := p.Record(ctx, p.Order.Flags+" to "+m.To, m.From); err != nil {
		return m, err
	}
	var err error
	m.Cancelled = 0
	for cancelled := 1; err == nil && cancelled > 0; m.Cancelled += cancelled {
		cancelled, err = person.On(p.DB).CancelTwins(ctx, m.from, m.to)
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		t.Rows = 0
		for moved := 1; err == nil && moved > 0 && !t.View; progress(m) {
			moved, err = p.mergeTable(ctx, m, t.Table)
			t.Rows += moved
		}
	}
	return m, cmp.Or(err, p.RecordChanged(ctx, fmt.Sprintf("%d rows to %s", m.Rows(), m.To), m.From))
}

// mergeTable moves the next rows of a table. It first records the merge, so that choices of the source
// count for the target from then on.
func (p People) mergeTable(ctx context.Context, m Merger, table string) (rows int, err error) {
	if table == person.MergedTable {
		return person.On(p.DB).LinkMerged(ctx, m.from, m.to)
	}
	return person.On(p.DB).MergeTable(ctx, m.from, m.to, table)
}
