package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/address"
	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
)

// shownEntities limits what a recipient follows and has muted, on their page.
const shownEntities = 200

// recipientPage is the data of a recipient's page.
type recipientPage struct {
	now         time.Time
	Who         string
	Entry       notification.DirectoryEntry
	Channel     string
	Channels    []notification.Channel
	Rows        []moment
	Older       string
	Supported   []notification.Channel
	Preferences []report.Preference
	Entities    []report.EntityChoice // the last choice first
	More        bool                  // there are more of them
	Suppressed  []list.Suppression
	Reach       []explain.Reach
	Headline    string
	Good        bool // some channel reaches them
	Waiting     int  // messages of Rows that wait
}

// ReachSentence tells whether a channel reaches them.
func (p recipientPage) ReachSentence(r explain.Reach) string {
	switch r.State {
	case explain.Unsupported:
		return "it may not serve a recipient of type " + string(p.Entry.Recipient.UserType)
	case explain.NoAddress:
		return "no address"
	case explain.Suppressed:
		return fmt.Sprintf("their address is suppressed since %s: %s", clock(r.Suppressed.Since), r.Suppressed.Reason)
	case explain.SwitchedOff:
		return "they switched it off"
	case explain.QuietNow:
		if r.Until.IsZero() {
			return "quiet hours now"
		}
		return "quiet hours until " + notification.WallText(r.Until, p.now, p.Entry.Recipient.Timezone)
	default:
		return "reaches them"
	}
}

// reachable fills in what reaches them, in a sentence and for each channel.
func (p *recipientPage) reachable(now time.Time) {
	p.now = now
	if !p.Entry.Known || !p.Entry.Active {
		p.Headline = "They get nothing"
		return
	}
	p.Reach = explain.ReachOf(p.Entry.Recipient, p.Supported, now)
	var over []string
	for _, reach := range p.Reach {
		if reach.State == explain.Reachable {
			over = append(over, channelWord(reach.Channel))
		}
	}
	p.Good = len(over) > 0
	p.Headline = "Nothing reaches them now"
	if p.Good {
		p.Headline = "Reached over " + strings.Join(over, ", ")
	}
}

// Sentence tells what became of a decision, or what was changed.
func (p recipientPage) Sentence(m moment) string {
	if m.Change != nil {
		return explain.ChangeSentence(*m.Change)
	}
	return explain.Sentence(*m.Decision, p.Entry.Recipient.UserType, p.Entry.Recipient.Timezone)
}

// maxSuppressions is more than a recipient's few addresses have.
const maxSuppressions = 50

// recipient shows everything that a recipient got, did not get and changed.
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
	from, err := placeOf(query.Get("before"))
	if err != nil {
		return page{}, err
	}
	var decisions []list.RecipientDecision
	var changes []list.PreferenceChange
	data := &recipientPage{Who: who.String(), Channel: string(channel), Channels: notification.Channels()}
	group, loading := errgroup.WithContext(ctx)
	load(group, &data.Entry, func() (notification.DirectoryEntry, error) {
		return planner.On(c.Explain.DB).DirectoryEntry(loading, who.UserType, who.UserID, nil)
	})
	load(group, &data.Supported, func() ([]notification.Channel, error) { return c.Explain.Supported(loading, who.UserType) })
	load(group, &decisions, func() ([]list.RecipientDecision, error) {
		return c.lists().RecipientDecisions(loading, list.RecipientFilter{RecipientKey: who, Channel: channel, Before: from.decision}, pageSize)
	})
	load(group, &changes, func() ([]list.PreferenceChange, error) {
		return c.lists().PreferenceChanges(loading, list.PreferenceFilter{RecipientKey: who, Channel: channel, Before: from.change}, pageSize)
	})
	load(group, &data.Preferences, func() ([]report.Preference, error) { return c.reader().Preferences(loading, who) })
	load(group, &data.Entities, func() ([]report.EntityChoice, error) { return c.reader().EntityChoices(loading, who, shownEntities+1) })
	if err := group.Wait(); err != nil {
		return page{}, err
	}
	data.More = len(data.Entities) > shownEntities
	data.Entities = data.Entities[:min(len(data.Entities), shownEntities)]
	data.Entry.Recipient.UserType = who.UserType
	data.reachable(c.now())
	data.Rows = inOrder(decisions, changes)
	for _, row := range data.Rows {
		if row.Decision != nil && row.Decision.Status == notification.Pending {
			data.Waiting++
		}
	}
	if len(data.Rows) == pageSize {
		data.Older = older(r, from.after(data.Rows).String())
	}
	data.Suppressed, err = c.suppressedAddresses(ctx, data.Entry.Recipient)
	return page{name: "recipient", title: who.String(), data: data, running: data.Waiting > 0}, err
}

// suppressedAddresses reads the suppressions of a recipient's current addresses.
func (c *Console) suppressedAddresses(ctx context.Context, r notification.Recipient) (found []list.Suppression, err error) {
	var hashes [][]byte
	for _, channel := range notification.Channels() {
		written := r.Address(channel)
		if written == "" {
			continue
		}
		for _, key := range c.Explain.DB.AddressKeys() {
			hashes = append(hashes, key.Hash(address.Key(channel, written)))
		}
	}
	if hashes == nil {
		return nil, nil
	}
	return c.lists().Suppressions(ctx, list.SuppressionFilter{AddressHashes: hashes}, maxSuppressions)
}
