package relay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// position is a poller's progress. It outlives the poller, so that the next poller does not read
// all waiting rows again.
type position struct {
	Front, Back lane
	Released    map[int64]bool // keys whose waiting row the back has ended; the back sends their rows, not the front
	Resting     []string       // topics that back off
	Settings    string         // of the source: after a change, rows may have other topics
}

// maxReleased limits the keys in a stored position.
const maxReleased = 10_000

// resume continues where the last owner of the poller's slots stopped. After a death or a
// change of settings, it begins at the first row.
func (p *poll) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	if p.Source.IsHerald() {
		if err := p.Memory.BeginOwnOutbox(ctx); err != nil {
			return err
		}
	}
	p.owner = rand.Text()
	kept, err := p.Memory.TakePosition(ctx, p.Source.Name, slices.Sorted(maps.Keys(p.slots)), p.owner)
	if err != nil {
		return err
	}
	var before position
	if kept == nil || json.Unmarshal(kept, &before) != nil || before.Settings != p.settings() {
		before = position{}
	}
	if before.Released == nil {
		before.Released = map[int64]bool{}
	}
	before.Back.began = time.Now()
	backOffs, err := p.Memory.TopicBackOffs(ctx, p.Source.Name)
	p.position, p.backOffs = before, newBackOffs(backOffs, before.Resting)
	p.held, p.freed = map[int64]bool{}, map[int64]bool{}
	return err
}

// keepPosition stores the poller's position. Without a stored position, the next poller begins at
// the first row.
func (p *poll) keepPosition(ctx context.Context) {
	if p.Front.From == "" || len(p.Released) > maxReleased {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	p.Resting, p.Settings = p.backOffs.names(), p.settings()
	kept, err := json.Marshal(p.position)
	if err == nil {
		err = p.Memory.KeepPosition(ctx, p.Source.Name, p.owner, kept)
	}
	if err != nil {
		p.Log.Warn("outbox: the next poller begins at the first row", "source", p.Source.Name, "error", p.Unquoted(err))
	}
}

// settings returns the source's settings without its secret.
func (p *poll) settings() string {
	source := p.Source
	source.DatabaseURL = ""
	text, _ := json.Marshal(source) // no error: its fields are texts and numbers
	return string(text)
}
