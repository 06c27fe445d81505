package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/person"
)

const (
	// maxNamedEvents limits the events that an erasure names.
	maxNamedEvents = 100
	// attemptsWait is the time that an erasure waits for attempts that are under way.
	attemptsWait = time.Minute
)

// Erasure is the plan or the progress of erasing a person.
type Erasure struct {
	Recipient string                `json:"recipient"` // CUSTOMER/42
	DryRun    bool                  `json:"dry_run"`
	ErasedAt  *time.Time            `json:"erased_at"` // when the first run began; nil: none did
	Tables    []person.PersonalRows `json:"tables"`    // rows to erase, or that were erased
	Events    int                   `json:"events"`    // payloads that were erased
	UnderWay  int                   `json:"under_way"` // deliveries that were not erased, since their attempts had not ended
	Open      []string              `json:"open_events"`
	Shared    []string              `json:"shared_events"`
	More      bool                  `json:"more_events"` // more than maxNamedEvents are open, or shared

	selves person.Selves // the person, and the people who were merged into them
}

// PlanErase counts the rows that [People.Erase] would erase. If no row is about the
// person, it returns an error, unless they were erased before.
func (p People) PlanErase(ctx context.Context, who notification.RecipientKey) (Erasure, error) {
	e := Erasure{Recipient: who.String(), Open: []string{}, Shared: []string{}}
	var err error
	if e.selves, err = person.On(p.DB).SelvesOf(ctx, who); err != nil {
		return e, err
	}
	if e.ErasedAt, err = person.On(p.DB).ErasedAt(ctx, who); err != nil {
		return e, err
	}
	for _, self := range e.selves {
		tables, err := person.On(p.DB).CountPersonal(ctx, self, maxPersonalRows)
		if err != nil {
			return e, err
		}
		if e.Tables == nil {
			e.Tables = tables
			continue
		}
		for _, t := range tables {
			e.add(t.Table, t.Rows)
		}
	}
	events, err := person.On(p.DB).PersonalEvents(ctx, e.selves, "")
	if err == nil && e.Rows() == 0 && len(events) == 0 && e.ErasedAt == nil {
		err = advice.With(fmt.Errorf("no row is about %s", who), "check the type and the id: `starter delivery list --recipient TYPE/ID`")
	}
	return e, err
}

// Rows returns the number of rows in all tables, without the rows of views.
func (e Erasure) Rows() int {
	total := 0
	for _, t := range e.Tables {
		if !t.View {
			total += t.Rows
		}
	}
	return total
}

// Erase erases the planned person. It first marks them, so that nothing is planned or sent any
// more, and then erases in small pages. An interrupted run continues when it is repeated.
func (p People) Erase(ctx context.Context, planned Erasure, progress func(Erasure)) (Erasure, error) {
	e := planned
	if err := p.Record(ctx, p.Order.Flags, e.Recipient); err != nil {
		return e, err
	}
	if err := person.On(p.DB).MarkErased(ctx, e.selves...); err != nil {
		return e, err
	}
	for i := range e.Tables {
		e.Tables[i].Rows = 0
	}
	err := p.eraseDeliveries(ctx, &e, progress)
	for _, self := range e.selves {
		for _, t := range e.Tables {
			if err == nil && !t.View && t.Table != person.DeliveryTable {
				var rows int
				rows, err = person.On(p.DB).ErasePerson(ctx, self, t.Table)
				e.add(t.Table, rows)
			}
		}
	}
	if err == nil {
		err = p.eraseEvents(ctx, &e, progress)
	}
	if err == nil && e.UnderWay == 0 && len(e.Open) == 0 { // else the next run needs the former keys
		err = person.On(p.DB).UnlinkMerged(ctx, e.selves[0])
	}
	if err == nil {
		e.ErasedAt, err = person.On(p.DB).ErasedAt(ctx, e.selves[0])
	}
	if err == nil && e.UnderWay > 0 {
		err = errors.New("attempts are under way: messages that the provider accepts are sent")
	}
	return e, cmp.Or(err, p.RecordChanged(ctx, fmt.Sprintf("%d rows, %d events", e.Rows(), e.Events), e.Recipient))
}

// eraseDeliveries erases all deliveries. It waits for attempts that are under way.
func (p People) eraseDeliveries(ctx context.Context, e *Erasure, progress func(Erasure)) error {
	for until := time.Now().Add(attemptsWait); ; {
		e.UnderWay = 0
		for _, self := range e.selves {
			if err := p.eraseDeliveriesOf(ctx, self, e, progress); err != nil {
				return err
			}
		}
		if e.UnderWay == 0 || time.Now().After(until) {
			return nil
		}
		if err := sleep(ctx); err != nil {
			return err
		}
	}
}

func (p People) eraseDeliveriesOf(ctx context.Context, self notification.RecipientKey, e *Erasure, progress func(Erasure)) error {
	for after := new(int64); after != nil; {
		page, err := person.On(p.DB).EraseDeliveries(ctx, self, *after)
		if err != nil {
			return err
		}
		e.add(person.DeliveryTable, page.Erased)
		e.UnderWay += page.UnderWay
		after = page.Next
		progress(*e)
	}
	return nil
}

func (e *Erasure) add(table string, rows int) {
	for i := range e.Tables {
		if e.Tables[i].Table == table {
			e.Tables[i].Rows += rows
		}
	}
}

// eraseEvents erases the payloads of events that were only about the person.
func (p People) eraseEvents(ctx context.Context, e *Erasure, progress func(Erasure)) error {
	return p.eachEvent(ctx, e.selves, func(ids []string) error {
		page, err := person.On(p.DB).EraseEvents(ctx, e.selves, ids)
		e.Events += page.Erased
		e.name(&e.Open, page.Open)
		e.name(&e.Shared, page.Shared)
		progress(*e)
		return err
	})
}

// name adds ids to the events that the erasure names.
func (e *Erasure) name(named *[]string, ids []string) {
	for _, id := range ids {
		if e.More = e.More || len(*named) == maxNamedEvents; len(*named) < maxNamedEvents {
			*named = append(*named, id)
		}
	}
}
