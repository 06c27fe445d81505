package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"herald/internal/version"
)

// report is what a run found.
type report struct {
	Case     string            `json:"case"`
	At       time.Time         `json:"at"`
	Machine  map[string]any    `json:"machine"`
	Versions map[string]string `json:"versions"`
	Settings relaySettings     `json:"settings"`
	Figures  []figure          `json:"figures"`
	Ratios   []figure          `json:"ratios"` // of the rounds, each by itself
}

// figure is a value of each round, and what is in their middle.
type figure struct {
	Name   string    `json:"name"`
	About  string    `json:"about"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Rounds []float64 `json:"rounds"`
}

func newFigure(name, about string, rounds []float64) figure {
	sorted := slices.Sorted(slices.Values(rounds))
	n := len(sorted)
	return figure{name, about, (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1], rounds}
}

func newReport(ctx context.Context, in *installation, s relaySettings, all []*contender) (report, error) {
	r := report{
		Case: "relay-to-kafka", At: time.Now().UTC(), Settings: s,
		Machine:  map[string]any{"cpus": runtime.NumCPU(), "os": runtime.GOOS, "arch": runtime.GOARCH},
		Versions: map[string]string{"go": runtime.Version(), "herald": version.Read().Version},
	}
	var postgres string
	if err := in.db.QueryRow(ctx, "SHOW server_version").Scan(&postgres); err != nil {
		return r, err
	}
	cluster, err := in.metadata(ctx, all[0].topic)
	if err != nil {
		return r, err
	}
	r.Versions["postgres"] = postgres
	if cluster.ClusterID != nil {
		r.Versions["kafka_cluster"] = *cluster.ClusterID // that of the local broker is kfake's
	}
	for _, c := range all {
		r.Figures = append(r.Figures, newFigure(c.name, c.about, c.Rates))
	}
	for _, pair := range [][2]int{{0, 1}, {2, 3}} {
		of, to := all[pair[0]], all[pair[1]]
		var ratios []float64
		for round := range of.Rates {
			ratios = append(ratios, of.Rates[round]/to.Rates[round])
		}
		r.Ratios = append(r.Ratios, newFigure(of.name+"/"+to.name, of.about+" / "+to.about, ratios))
	}
	return r, nil
}

func (r report) print(out io.Writer) {
	fmt.Fprintf(out, "\n%d rounds of %d rows (C, D: %d), %d keys, batches of %d, %d partitions; %v CPUs, Postgres %s\n\n",
		r.Settings.Rounds, r.Settings.Rows, r.Settings.PeopleRows, r.Settings.Keys, r.Settings.Batch, r.Settings.Partitions, r.Machine["cpus"], r.Versions["postgres"])
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\t\tMEDIAN\tMIN\tMAX\t")
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%.0f\trows/s\n", f.Name, f.About, f.Median, f.Min, f.Max)
	}
	for _, f := range r.Ratios {
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%.2f\t%.2f\t\n", f.Name, f.About, f.Median, f.Min, f.Max)
	}
	_ = w.Flush() // out is a terminal or a buffer
}

// save writes the report to a file; empty: nowhere.
func (r report) save(file string, out io.Writer) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err == nil {
		fmt.Fprintln(out, "\nwritten to "+file)
	}
	return err
}
