package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"herald/internal/attempt"
	"herald/internal/event"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/planner"
)

// searchPage is the data of the search.
type searchPage struct {
	Channels []notification.Channel // whose addresses can be looked for
	Nothing  bool                   // nothing was found
	Address  bool                   // suppressions of an address
	Found    []list.Suppression
}

func newSearch() searchPage { return searchPage{Channels: operate.AddressedChannels()} }

func (c *Console) askSearch(context.Context, *http.Request) (page, error) {
	return page{name: "search", title: "Search", data: newSearch()}, nil
}

// search redirects to the page of the delivery, event, recipient or correlation id that the person
// looks for. It takes an address only by POST, and looks for its hash.
func (c *Console) search(ctx context.Context, r *http.Request) (page, error) {
	text := strings.TrimSpace(r.PostForm.Get("text"))
	if channel := r.PostForm.Get("channel"); channel != "" {
		return c.searchAddress(ctx, notification.Channel(channel), text)
	}
	if who, err := recipientOf(text); err == nil {
		entry, err := planner.On(c.Explain.DB).DirectoryEntry(ctx, who.UserType, who.UserID, nil)
		if err == nil && entry.Known {
			return page{goTo: "/recipient?" + url.Values{"type": {string(who.UserType)}, "id": {who.UserID}}.Encode()}, nil
		}
	}
	for _, look := range []struct {
		path   string
		found  func() error
		absent error
	}{
		{"/delivery", func() error { _, err := attempt.On(c.Explain.DB).DeliveryState(ctx, text); return err }, notification.ErrNoDelivery},
		{"/event", func() error { _, err := event.On(c.Explain.DB).EventState(ctx, text); return err }, notification.ErrNoEvent},
	} {
		switch err := look.found(); {
		case err == nil:
			return page{goTo: look.path + "?" + url.Values{"id": {text}}.Encode()}, nil
		case !errors.Is(err, look.absent):
			return page{}, err
		}
	}
	events, err := c.lists().Events(ctx, list.EventFilter{CorrelationID: text}, list.Place{Limit: 1})
	if err != nil {
		return page{}, err
	}
	if text != "" && len(events.Rows) > 0 {
		return page{goTo: "/events?" + url.Values{"correlation": {text}}.Encode()}, nil
	}
	data := newSearch()
	data.Nothing = true
	return page{name: "search", title: "Search", data: data}, nil
}

func (c *Console) searchAddress(ctx context.Context, channel notification.Channel, text string) (page, error) {
	address := operate.Address{Channel: channel, Text: text}
	if err := address.Check(); err != nil {
		return page{}, &refusal{http.StatusBadRequest, "This is not an address of the channel."}
	}
	hashes, err := address.Hashes(c.Explain.DB.AddressKeys())
	if err != nil {
		return page{}, err
	}
	data := newSearch()
	data.Address = true
	data.Found, err = c.lists().Suppressions(ctx, list.SuppressionFilter{Channel: channel, AddressHashes: hashes}, maxSuppressions)
	return page{name: "search", title: "Search", data: data}, err
}
