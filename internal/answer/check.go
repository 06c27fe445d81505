package answer

import (
	"context"

	"herald/internal/check"
	"herald/internal/notification"
)

// CheckRequest asks for a check of the configuration.
type CheckRequest struct{}

// Check is the result of a check.
type Check struct {
	Checked    []string                          `json:"checked"`
	Mistakes   []Mistake                         `json:"mistakes"`
	Advice     []Mistake                         `json:"advice"`      // settings that work but could be safer
	More       int                               `json:"more"`        // mistakes and advice that are not shown
	NotChecked []string                          `json:"not_checked"` // subjects
	Providers  map[notification.Channel][]string `json:"providers,omitempty"`
}

// Mistake is a mistake in the configuration.
type Mistake struct {
	Subject string `json:"subject"`
	Place   string `json:"place"` // a table, a setting, a queue, a server
	Row     string `json:"row,omitempty"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// Check looks for mistakes in the configuration.
func (r Reader) Check(ctx context.Context, _ CheckRequest) (Check, error) {
	result := r.CheckAll(ctx)
	if err := ctx.Err(); err != nil {
		return Check{}, err
	}
	mistakes, advice := result.Mistakes[:min(most, len(result.Mistakes))], result.Advice[:min(most, len(result.Advice))]
	return Check{
		Checked: result.Checked, Mistakes: each(mistakes, mistakeOf), Advice: each(advice, mistakeOf),
		More:       len(result.Mistakes) - len(mistakes) + len(result.Advice) - len(advice),
		NotChecked: each(result.NotChecked, func(n check.NotChecked) string { return n.Subject }), Providers: result.Providers,
	}, nil
}

func mistakeOf(m check.Mistake) Mistake {
	m = m.Unquoted()
	return Mistake{m.Subject, m.Place, m.Row, m.Problem, m.Remedy}
}
