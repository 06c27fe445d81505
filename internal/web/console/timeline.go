package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/list"
	"herald/internal/notification"
)

// moment is a decision about a recipient, or a change of a preference. The other one is nil.
type moment struct {
	At       time.Time
	Decision *list.RecipientDecision
	Change   *list.PreferenceChange
}

// inOrder merges two lists, both newest first, and returns the newest moments of up to one page.
func inOrder(decisions []list.RecipientDecision, changes []list.PreferenceChange) (rows []moment) {
	for len(rows) < pageSize && len(decisions)+len(changes) > 0 {
		if len(changes) == 0 || len(decisions) > 0 && !decisions[0].DecidedAt.Before(changes[0].At) {
			rows = append(rows, moment{At: decisions[0].DecidedAt, Decision: &decisions[0]})
			decisions = decisions[1:]
			continue
		}
		rows = append(rows, moment{At: changes[0].At, Change: &changes[0]})
		changes = changes[1:]
	}
	return rows
}

// place is where a page of moments begins. The zero value is the newest moment.
type place struct {
	change   int64 // the id of the last change that was shown
	decision list.DecisionCursor
}

// after returns the place after rows.
func (p place) after(rows []moment) place {
	for _, row := range rows {
		if row.Change != nil {
			p.change = row.Change.ID
		} else {
			p.decision = list.DecisionCursor{DecidedAt: row.Decision.DecidedAt, EventID: row.Decision.EventID, Channel: row.Decision.Channel}
		}
	}
	return p
}

// String returns the text that [placeOf] reads.
func (p place) String() string {
	text := strconv.FormatInt(p.change, 10)
	if p.decision.EventID != "" {
		text += " " + p.decision.DecidedAt.UTC().Format(time.RFC3339Nano) + " " + string(p.decision.Channel) + " " + p.decision.EventID
	}
	return text
}

func placeOf(text string) (p place, err error) {
	if text == "" {
		return p, nil
	}
	parts := strings.SplitN(text, " ", 4)
	p.change, err = strconv.ParseInt(parts[0], 10, 64)
	known := err == nil && len(parts) == 1
	if err == nil && len(parts) == 4 {
		p.decision.Channel, p.decision.EventID = notification.Channel(parts[2]), parts[3]
		p.decision.DecidedAt, err = time.Parse(time.RFC3339Nano, parts[1])
		known = err == nil && slices.Contains(notification.Channels(), p.decision.Channel)
	}
	if !known {
		return p, &refusal{http.StatusBadRequest, "The address of this page is damaged."}
	}
	return p, nil
}
