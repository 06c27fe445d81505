package console

import (
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
)

// chart is the picture of one channel: a column for each period, and in it a part for each status.
type chart struct {
	Channel notification.Channel
	Width   int
	Height  int
	Parts   []part // of all columns
	Totals  []total
	Peak    int // the deliveries of the highest column
}

// part is one status of a column: a rectangle, in pixels.
type part struct {
	Since      time.Time // the beginning of the column's period
	Status     notification.Status
	Count      int
	X, Y, W, H int
	Class      string // of the style
}

type total struct {
	Status notification.Status
	Count  int
}

const (
	chartWidth  = 336
	chartHeight = 64
)

// drawn lists the statuses from the bottom of a column to its top.
var drawn = []notification.Status{
	notification.Delivered, notification.Sent, notification.Pending, notification.Cancelled, notification.Failed,
}

// drawCharts draws one chart for each channel with deliveries.
func drawCharts(counts []report.PeriodCount, start time.Time, s span) []chart {
	var charts []chart
	for _, channel := range notification.Channels() {
		of := slices.DeleteFunc(slices.Clone(counts), func(c report.PeriodCount) bool { return c.Channel != channel })
		if len(of) > 0 {
			charts = append(charts, drawChart(channel, of, start, s))
		}
	}
	return charts
}

func drawChart(channel notification.Channel, counts []report.PeriodCount, start time.Time, s span) chart {
	table := make([]map[notification.Status]int, s.Periods)
	totals, heights := map[notification.Status]int{}, make([]int, s.Periods)
	for _, c := range counts {
		i := int(c.Since.Sub(start) / s.Period)
		if i < 0 || i >= s.Periods {
			continue
		}
		if table[i] == nil {
			table[i] = map[notification.Status]int{}
		}
		table[i][c.Status] += c.Count
		totals[c.Status] += c.Count
		heights[i] += c.Count
	}
	drawing := chart{Channel: channel, Width: chartWidth, Height: chartHeight, Peak: slices.Max(heights)}
	for _, status := range drawn {
		if totals[status] > 0 {
			drawing.Totals = append(drawing.Totals, total{status, totals[status]})
		}
	}
	width := chartWidth / s.Periods
	for i, byStatus := range table {
		since := start.Add(time.Duration(i) * s.Period)
		drawing.Parts = append(drawing.Parts, stack(since, byStatus, i*width, width-2, drawing.Peak)...)
	}
	return drawing
}

// stack returns the parts of a column. A count of 1 or more is at least one pixel high.
func stack(since time.Time, byStatus map[notification.Status]int, x, width, peak int) (parts []part) {
	floor := chartHeight
	for _, status := range drawn {
		count := byStatus[status]
		if count == 0 {
			continue
		}
		height := max(1, count*(chartHeight-len(drawn))/peak)
		floor -= height
		parts = append(parts,
			part{Since: since, Status: status, Count: count, X: x, Y: floor, W: width, H: height, Class: strings.ToLower(string(status))})
	}
	return parts
}
