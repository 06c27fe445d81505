package console

import (
	"context"
	"net/http"

	"herald/internal/check"
	"herald/internal/list"
)

// auditPage is the data of the list of operators' actions.
type auditPage struct {
	Actor, Command, Target string

	list.Page[list.Action]
	Older string
}

func (c *Console) audit(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	data := auditPage{Actor: query.Get("actor"), Command: query.Get("command"), Target: query.Get("target")}
	filter := list.ActionFilter{Actor: data.Actor, Command: data.Command, Target: data.Target}
	var err error
	data.Page, err = c.lists().Actions(ctx, filter, pageAt(query))
	data.Older = older(r, data.Through)
	return page{name: "audit", title: "Audit", data: data}, err
}

// checkPage is the data of the check. Result is nil before the check.
type checkPage struct{ Result *check.Result }

func (c *Console) askCheck(context.Context, *http.Request) (page, error) {
	return page{name: "check", title: "Check", data: checkPage{}}, nil
}

func (c *Console) check(ctx context.Context, _ *http.Request) (page, error) {
	result := c.Check(ctx)
	return page{name: "check", title: "Check", data: checkPage{&result}}, nil
}
