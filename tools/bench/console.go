package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"herald/tools/rig"
)

// consoleSizes are the flags of the case console.
type consoleSizes struct {
	Deliveries int
	Recipients int
}

func console() *comparison {
	s := &consoleSizes{}
	return &comparison{
		name:  "console",
		about: "the time of each page of the console over many deliveries, against a thousandth of them; 10 million take some minutes and 10 GB",
		a:     "many deliveries, of one broadcast to all recipients and of small events",
		b:     "a thousandth of them",
		named: true,
		limit: 2 * time.Hour,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Deliveries, "deliveries", 10_000_000, "deliveries, a multiple of 10,000")
			flags.IntVar(&s.Recipients, "recipients", 1_000_000,
				"recipients, who all get the broadcast: a multiple of 10,000, less than the deliveries")
		},
		open: s.open,
	}
}

// consoleScale is the ratio of the sizes of A and B.
const consoleScale = 1000

func (s *consoleSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	const multiple = consoleScale * orderSize
	if s.Recipients%multiple != 0 || s.Deliveries%multiple != 0 || s.Deliveries <= s.Recipients {
		return nil, nil, errors.New("--deliveries and --recipients must be multiples of 10,000, with more deliveries than recipients")
	}
	if a, err = s.side(ctx, stage); err != nil {
		return nil, nil, err
	}
	small := consoleSizes{s.Deliveries / consoleScale, s.Recipients / consoleScale}
	b, err = small.side(ctx, stage)
	return a, b, err
}

// side fills a database, starts a console, and returns the round that visits its pages.
func (s consoleSizes) side(ctx context.Context, stage *stage) (round, error) {
	in, err := stage.install(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.fillConsole(ctx, s, stage.say); err != nil {
		return nil, err
	}
	address, err := rig.FreeAddress()
	if err != nil {
		return nil, err
	}
	p, err := in.Start("starter", "console", "--addr", address)
	if err != nil {
		return nil, err
	}
	pages := consolePages(s.Deliveries/orderSize - 1)
	return func(ctx context.Context) (*figures, error) { return visit(ctx, "http://"+address, pages) },
		rig.AwaitAnswer(ctx, "http://"+address+"/style.css", p)
}

// consolePage is a page to visit. A page with a form is requested by POST.
type consolePage struct{ name, path, form string }

// consolePages returns all pages. last is the number of a small event.
func consolePages(last int) []consolePage {
	order, aggregate := fmt.Sprintf("order-%d", last), fmt.Sprintf("ORDER/%d", last*orderSize)
	return []consolePage{
		{"overview", "/?span=week", ""},
		{"events", "/events", ""},
		{"events of a type", "/events?type=NEWS", ""},
		{"events of no type", "/events?type=NONE", ""},
		{"events of an aggregate", "/events?aggregate=" + aggregate, ""},
		{"small event", "/event?id=" + order, ""},
		{"broadcast", "/event?id=broadcast", ""},
		{"simulation of a small event", "/simulation?id=" + order, ""},
		{"deliveries", "/deliveries", ""},
		{"failed deliveries", "/deliveries?status=FAILED", ""},
		{"deliveries of no webhook", "/deliveries?channel=WEBHOOK", ""},
		{"deliveries of the broadcast", "/deliveries?event=broadcast", ""},
		{"failed of the broadcast", "/deliveries?event=broadcast&status=FAILED", ""},
		{"cancelled of the broadcast", "/deliveries?event=broadcast&status=CANCELLED", ""},
		{"delivery", "/delivery?id=broadcast-customer7-EMAIL", ""},
		{"why", "/why?event=broadcast&recipient=CUSTOMER%2F7&channel=EMAIL", ""},
		{"recipient", "/recipient?type=CUSTOMER&id=7", ""},
		{"templates", "/templates", ""},
		{"preview", "/templates", "event=broadcast&recipient=CUSTOMER%2F7&channel=EMAIL"},
		{"audit", "/audit", ""},
		{"search for a recipient", "/search", "text=CUSTOMER%2F7"},
		{"search for nothing", "/search", "text=nothing"},
		{"search for an address", "/search", "channel=EMAIL&text=c7%40example.com"},
	}
}

// visit reads each page a few times.
func visit(ctx context.Context, address string, pages []consolePage) (*figures, error) {
	const times = 5
	f := &figures{}
	for _, p := range pages {
		var took []float64
		for range times {
			began := time.Now()
			if err := p.read(ctx, address); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
		f.addSamples(p.name, "ms", took)
	}
	return f, nil
}

func (p consolePage) read(ctx context.Context, address string) error {
	method := http.MethodGet
	if p.form != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, address+p.path, strings.NewReader(p.form))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the console answered %s", answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
