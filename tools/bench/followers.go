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
)

// followerRounds runs the rounds of the case followers. It reads pages as planning does, evenly over all people.
type followerRounds struct {
	*installation

	People, Pages int
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
)

func followers() *comparison {
	s := &followerRounds{}
	return &comparison{
		name:  "followers",
		about: "pages of recipients, as planning reads them, from all over a large entity",
		a:     "the followers of an entity",
		b:     "the members of an entity",
		named: true,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.People, "people", 1_000_000, "followers of the one entity, and members of the other")
			flags.IntVar(&s.Pages, "pages", 400, "pages of a round")
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
	for _, statement := range []string{insertMembers, "VACUUM ANALYZE recipient, entity_follow, entity_member"} {
		if _, err := in.DB.Exec(ctx, statement); err != nil {
			return nil, nil, err
		}
	}
	return r.reading(notification.Target{Entity: notification.Entity{Type: "ORDER", ID: "7"}, Roles: []string{notification.Follower}}),
		r.reading(notification.Target{Entity: notification.Entity{Type: "CLUB", ID: "7"}, Roles: []string{"MEMBER"}}), nil
}

// reading returns a round that reads pages of a target's recipients.
func (r *followerRounds) reading(target notification.Target) round {
	return func(ctx context.Context) (*figures, error) {
		meter := newMeter(ctx, r.DB, os.Getpid())
		meter.begin()
		began, people := time.Now(), 0
		for i := range r.Pages {
			number := i * (r.People - followersPage) / r.Pages
			after := notification.Cursor{Rank: 1, Number: int64(number), UserID: strconv.Itoa(number), UserType: notification.Customer}
			page, err := planner.On(&db.DB{Pool: r.DB}).Recipients(ctx, "NEWS", []notification.Target{target}, after, followersPage)
			if err != nil {
				return nil, err
			}
			if len(page.Recipients) != followersPage {
				return nil, fmt.Errorf("a page after %d has %d people", number, len(page.Recipients))
			}
			people += len(page.Recipients)
		}
		f := &figures{}
		f.add("recipients", "a second", float64(people)/time.Since(began).Seconds())
		meter.end(f, "recipient", people)
		return f, nil
	}
}
