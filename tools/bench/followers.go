package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
)

// followerRounds runs the rounds of the case followers. It plans pages evenly over all people.
type followerRounds struct {
	*installation

	People, Pages int
	rounds        int
}

const (
	followersPage = 250 // as the pages of a large event
	insertPeople  = `
		WITH person AS (
			INSERT INTO recipient (user_type, user_id, email)
			SELECT 'CUSTOMER', n::text, 'c' || n || '@example.com'
			FROM   generate_series(1, $1::int) n
			RETURNING user_type, user_id
		), follower AS (
			INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id)
			SELECT user_type, user_id, 'ORDER', '7' FROM person
		)
		SELECT count(*) FROM person`
	insertMembers = `
		INSERT INTO entity_member (user_type, user_id, entity_type, entity_id, role)
		SELECT user_type, user_id, 'CLUB', '7', 'MEMBER' FROM recipient`
	insertRules = `
		INSERT INTO event_type_recipients (event_type, entity_type, entity_id_path, roles)
		VALUES ('FOLLOWED', 'ORDER', '@aggregate', '{FOLLOWER}'), ('JOINED', 'CLUB', '@aggregate', '{MEMBER}');
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('FOLLOWED', 'EMAIL'), ('JOINED', 'EMAIL');
		INSERT INTO notification_template (title, body) VALUES ('News', 'Dear {{.recipient.name}}, there is news.')`
)

func followers() *comparison {
	s := &followerRounds{}
	return &comparison{
		name:  "followers",
		about: "planning of pages from all over a large entity, without sending",
		a:     "the followers of an entity",
		b:     "the members of an entity",
		named: true,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.People, "people", 1_000_000, "followers of the one entity, and members of the other")
			flags.IntVar(&s.Pages, "pages", 200, "pages of a round, of 250 people each")
		},
		open: s.open,
	}
}

func (s *followerRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	in, err := stage.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := *s
	r.installation = in
	if _, err := in.DB.Exec(ctx, insertPeople, r.People); err != nil {
		return nil, nil, err
	}
	for _, statement := range []string{insertMembers, insertRules, "VACUUM ANALYZE recipient, entity_follow, entity_member"} {
		if _, err := in.DB.Exec(ctx, statement); err != nil {
			return nil, nil, err
		}
	}
	return r.planning("FOLLOWED", "ORDER"), r.planning("JOINED", "CLUB"), nil
}

// planning returns a round that plans pages of an event.
func (r *followerRounds) planning(eventType, entityType string) round {
	const insert = `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
		VALUES ($1, $2, $3, '7', '{}', 'PROCESSED', now())`

	return func(ctx context.Context) (*figures, error) {
		r.rounds++
		id := fmt.Sprintf("%s-%d", r.Name, r.rounds)
		if _, err := r.DB.Exec(ctx, insert, id, eventType, entityType); err != nil {
			return nil, err
		}
		meter := newMeter(ctx, r.DB, os.Getpid())
		meter.begin()
		began, people := time.Now(), 0
		plan, err := planner.New(planner.On(&db.DB{Pool: r.DB}), template.Engine{}).Event(ctx, id)
		if err != nil {
			return nil, err
		}
		for i := range r.Pages {
			number := i * (r.People - followersPage) / r.Pages
			after := notification.Cursor{Rank: 1, Number: int64(number), UserID: strconv.Itoa(number), UserType: notification.Customer}
			page, err := plan.Page(ctx, after, followersPage)
			if err != nil {
				return nil, err
			}
			planned, err := plan.Save(ctx, page, func() {})
			if err != nil {
				return nil, err
			}
			people += len(planned)
		}
		if people != r.Pages*followersPage {
			return nil, fmt.Errorf("%d people are planned", people)
		}
		f := &figures{}
		f.add("recipients", "a second", float64(people)/time.Since(began).Seconds())
		meter.end(f, "recipient", people)
		return f, nil
	}
}
