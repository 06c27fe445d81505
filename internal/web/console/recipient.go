package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// recipientPage is the data of a recipient's page.
type recipientPage struct {
	Who         string
	Entry       notification.DirectoryEntry
	Channel     string
	Channels    []notification.Channel
	Rows        []report.RecipientDecision
	Older       string
	Preferences []report.PreferenceChange
	Suppressed  []report.Suppression
}

// Sentence tells what became of one row.
func (p recipientPage) Sentence(row report.RecipientDecision) string {
	return explain.Sentence(row, p.Entry.Recipient.UserType, p.Entry.Recipient.Timezone)
}

// maxSuppressions is more than a recipient's few addresses have.
const maxSuppressions = 50

// recipient shows everything that a recipient got and did not get.
func (c *Console) recipient(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	who, err := recipientOf(query.Get("type") + "/" + query.Get("id"))
	if err != nil {
		return page{}, err
	}
	channel, err := channelOf(query.Get("channel"))
	if err != nil {
		return page{}, err
	}
	filter := report.RecipientFilter{UserType: who.UserType, UserID: who.UserID, Channel: channel}
	if filter.Before, err = decisionCursor(query.Get("before")); err != nil {
		return page{}, err
	}
	data := &recipientPage{Who: who.String(), Channel: string(channel), Channels: notification.Channels()}
	group, loading := errgroup.WithContext(ctx)
	load(group, &data.Entry, func() (notification.DirectoryEntry, error) {
		return c.Explain.Store.DirectoryEntry(loading, who.UserType, who.UserID, nil)
	})
	load(group, &data.Rows, func() ([]report.RecipientDecision, error) {
		return c.reader().RecipientDecisions(loading, filter, pageSize)
	})
	load(group, &data.Preferences, func() ([]report.PreferenceChange, error) { return c.reader().PreferenceChanges(loading, who) })
	if err := group.Wait(); err != nil {
		return page{}, err
	}
	data.Entry.Recipient.UserType = who.UserType
	data.Older = older(r, len(data.Rows), func(last int) string { return cursorText(data.Rows[last]) })
	data.Suppressed, err = c.suppressedAddresses(ctx, data.Entry.Recipient)
	return page{name: "recipient", title: who.String(), data: data}, err
}

// suppressedAddresses reads the suppressions of a recipient's present addresses.
func (c *Console) suppressedAddresses(ctx context.Context, r notification.Recipient) (found []report.Suppression, err error) {
	var hashes [][]byte
	for _, channel := range notification.Channels() {
		address := r.Address(channel)
		if address == "" {
			continue
		}
		for _, key := range c.Explain.Store.AddressKeys() {
			hashes = append(hashes, key.Hash(notification.NormalAddress(channel, address)))
		}
	}
	if hashes == nil {
		return nil, nil
	}
	return c.reader().Suppressions(ctx, report.SuppressionFilter{AddressHashes: hashes}, maxSuppressions)
}

func cursorText(d report.RecipientDecision) string {
	return strings.Join([]string{d.DecidedAt.UTC().Format(time.RFC3339Nano), string(d.Channel), d.EventID}, " ")
}

func decisionCursor(text string) (cursor report.DecisionCursor, err error) {
	if text == "" {
		return cursor, nil
	}
	parts := strings.SplitN(text, " ", 3)
	if len(parts) == 3 {
		cursor.Channel, cursor.EventID = notification.Channel(parts[1]), parts[2]
		cursor.DecidedAt, err = time.Parse(time.RFC3339Nano, parts[0])
	}
	if len(parts) != 3 || err != nil || !slices.Contains(notification.Channels(), cursor.Channel) {
		return cursor, &refusal{http.StatusBadRequest, "The address of this page is damaged."}
	}
	return cursor, nil
}
