package console

import (
	"context"
	"net/http"

	"herald/internal/rules"
)

// rulesPage is the data of the page of rules: where they come from, and what the last apply changed for
// one event type.
type rulesPage struct {
	Origins []rules.Origin
	Chosen  bool
	Type    string // empty: the installation
	Changes []rules.Change
}

func (c *Console) rules(ctx context.Context, r *http.Request) (page, error) {
	data := rulesPage{Chosen: r.URL.Query().Has("type"), Type: r.URL.Query().Get("type")}
	var err error
	if data.Origins, err = rules.Origins(ctx, c.Explain.DB); err == nil && data.Chosen {
		data.Changes, err = rules.LastChanges(ctx, c.Explain.DB, data.Type)
	}
	return page{name: "rules", title: "Rules", data: data}, err
}
