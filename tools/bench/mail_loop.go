package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/channel/email/sendgrid"
	"herald/internal/notification"
)

// mailLoop is the simplest loop that sends rows: read a page, send it, mark it as sent. After a
// crash it sends up to a page again.
type mailLoop struct {
	db     *pgxpool.Pool
	sender channel.Sender
}

const loopPage = 500 // rows

// newMailLoop returns a loop that sends to the installation's sandbox, with Herald's sender.
func newMailLoop(in *installation) (*mailLoop, error) {
	settings := &sendgrid.Settings{APIKey: "SG.bench", BaseURL: in.Sandbox.URL, From: email.From{Address: "herald@example.com"}}
	sender, err := settings.NewSender(channel.Process{Timeout: 10 * time.Second, Slots: batchSends})
	return &mailLoop{in.DB, sender}, err
}

// write inserts the rows of an event as Herald's planner does: PENDING, to the customers of makeCrowd.
func (l *mailLoop) write(ctx context.Context, id string, people int) error {
	_, err := l.db.Exec(ctx, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address)
		SELECT $1, 'LOOP', 'CUSTOMER', n::text, 'EMAIL', $1 || '-' || n, 'Offers of July',
		       '<h1>July</h1><p>Dear Ada ' || n || ', all of July'
		       ' there are <b>offers</b> for you at https://example.com/offers. We look forward to seeing you.</p>',
		       'customer' || n || '@example.com'
		FROM   generate_series(1, $2::int) n`, id, people)
	return err
}

// run sends all pending deliveries of an event, and returns their number.
func (l *mailLoop) run(ctx context.Context, id string) (sent int, err error) {
	for after := int64(0); ; {
		page, err := l.read(ctx, id, after)
		if err != nil || len(page) == 0 {
			return sent, err
		}
		providerIDs, err := l.send(ctx, page)
		if err != nil {
			return sent, err
		}
		if err := l.mark(ctx, page, providerIDs); err != nil {
			return sent, err
		}
		sent, after = sent+len(page), page[len(page)-1].NotificationID
	}
}

// read reads the next page of an event. All rows are PENDING, so the query does not filter by
// status: with the filter, Postgres' planner would read all rows for each page, because its
// statistics have no PENDING row.
func (l *mailLoop) read(ctx context.Context, id string, after int64) ([]notification.Message, error) {
	rows, _ := l.db.Query(ctx, `
		SELECT n.id, n.delivery_id, n.event_id, n.event_type, n.recipient_address, coalesce(r.name, ''), n.title, n.body
		FROM   notification n
		JOIN   recipient r USING (user_type, user_id)
		WHERE  n.event_id = $1
		AND    n.channel = 'EMAIL'
		AND    n.id > $2
		ORDER  BY n.id
		LIMIT  $3`, id, after, loopPage) // CollectRows returns its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m notification.Message, err error) {
		err = row.Scan(&m.NotificationID, &m.DeliveryID, &m.EventID, &m.EventType, &m.To, &m.Name, &m.Title, &m.Body)
		return m, err
	})
}

func (l *mailLoop) send(ctx context.Context, page []notification.Message) (providerIDs []string, err error) {
	providerIDs = make([]string, len(page))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(batchSends)
	for i, message := range page {
		group.Go(func() error {
			answer, err := l.sender.Send(ctx, message)
			providerIDs[i] = answer.ProviderID
			return err
		})
	}
	return providerIDs, group.Wait()
}

func (l *mailLoop) mark(ctx context.Context, page []notification.Message, providerIDs []string) error {
	ids := make([]int64, len(page))
	for i, message := range page {
		ids[i] = message.NotificationID
	}
	_, err := l.db.Exec(ctx, `
		UPDATE notification n
		SET    status = 'SENT', sent_at = now(), available_at = now(), provider_message_id = s.provider_id
		FROM   unnest($1::bigint[], $2::text[]) AS s (id, provider_id)
		WHERE  n.id = s.id`, ids, providerIDs)
	return err
}
