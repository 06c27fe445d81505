package inbox

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"herald/internal/notification"
	"herald/internal/web/problem"
)

const (
	// pageSize is the number of notifications in a page if the client sets no limit.
	pageSize = 20
	// maxPageSize is the maximum limit that a client may set.
	maxPageSize = 100
	// pagesAtOnce limits the pages in memory, of up to [notification.InboxPageBytes] each.
	pagesAtOnce = 32
)

// page is a part of an inbox, newest first.
type page struct {
	Notifications []notification.InboxItem `json:"notifications"`
	NextBefore    *notification.JSONInt    `json:"next_before"` // `before` of the next page; null on the last page
}

func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	filter, err := readFilter(r)
	if err != nil {
		return err
	}
	found, err := a.Pages.InboxPage(r.Context(), who(r.Context()), filter)
	if err != nil {
		return err
	}
	answer := page{Notifications: append([]notification.InboxItem{}, found.Items...)}
	if found.More {
		answer.NextBefore = &found.Items[len(found.Items)-1].NotificationID
	}
	return reply(w, http.StatusOK, answer)
}

var errBusy = errors.New("too many pages are read at once")

// few answers up to [pagesAtOnce] requests concurrently. More requests wait, so few cuts off a
// client that reads its answer too slowly.
func few(answer answerer) answerer {
	slots := make(chan struct{}, pagesAtOnce)
	return func(w http.ResponseWriter, r *http.Request) error {
		select {
		case slots <- struct{}{}:
		case <-r.Context().Done():
			return errBusy
		}
		defer func() { <-slots }()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout)) // if this fails, the server's deadline applies
		return answer(w, r)
	}
}

func readFilter(r *http.Request) (filter notification.InboxFilter, err error) {
	values := r.URL.Query()
	switch values.Get("unread") {
	case "true":
		filter.Unread = true
	case "false":
	default:
		if values.Has("unread") {
			return filter, problem.BadRequest("unread must be true or false")
		}
	}
	if filter.Before, err = idParameter(values, "before"); err != nil {
		return filter, err
	}
	filter.Limit, err = limitParameter(values)
	return filter, err
}

func limitParameter(values url.Values) (int, error) {
	if !values.Has("limit") {
		return pageSize, nil
	}
	limit, err := strconv.Atoi(values.Get("limit"))
	if err != nil || limit < 1 || limit > maxPageSize {
		return 0, problem.BadRequest("limit must be a number from 1 to 100")
	}
	return limit, nil
}

func (a *API) unreadCount(w http.ResponseWriter, r *http.Request) error {
	unread, err := a.Store.Unread(r.Context(), who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]int{"unread": unread})
}

// read marks one notification as read. A malformed id counts as an unknown notification.
func (a *API) read(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return notification.ErrNoNotification
	}
	if err := a.Store.MarkRead(r.Context(), who(r.Context()), id); err != nil {
		return err
	}
	return done(w)
}

func (a *API) readAll(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if !values.Has("until") {
		return problem.BadRequest("until is missing: it is the notification_id of the newest notification that was shown")
	}
	until, err := idParameter(values, "until")
	if err != nil {
		return err
	}
	if err := a.Store.MarkAllRead(r.Context(), who(r.Context()), until); err != nil {
		return err
	}
	return done(w)
}
