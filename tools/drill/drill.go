package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/config/version"
	"herald/tools/link"
	"herald/tools/rig"
)

// messageTimeout is the default limit of a call to a provider, as of EMAIL_TIMEOUT.
const messageTimeout = 10 * time.Second

// run runs the drill, and reports whether it passed.
func run(ctx context.Context, args []string, out io.Writer) (passed bool, err error) {
	s, err := readSettings(args, out)
	if err != nil {
		return false, err
	}
	if err := rig.CheckServers("make drill"); err != nil {
		return false, err
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(out, time.Now().Format("15:04:05 ")+format+"\n", args...)
	}
	say("seed %d", s.seed)
	in, err := rig.NewInstallation(ctx, "drill", s.bin)
	if err != nil {
		return false, err
	}
	stage := &stage{Installation: in, ordinary: ordinary, links: map[string][]*link.Link{}}
	if s.lossy {
		stage.ordinary = lossy
	}
	defer func() {
		err = errors.Join(err, stage.Running.Remove())
		if err != nil || !s.keeps(passed) {
			err = errors.Join(err, stage.Data.Remove())
		}
	}()
	if err := stage.build(ctx, s.people, s.kafka); err != nil {
		return false, err
	}
	r, err := disruptUnderLoad(ctx, s, stage, say)
	if err != nil {
		return false, err
	}
	file := filepath.Join(s.reports, fmt.Sprintf("drill-%d.md", s.seed))
	text := r.markdown()
	fmt.Fprintln(out, "\n"+text)
	if s.keeps(r.passed()) {
		fmt.Fprintf(out, "kept: the database %s and the vhost of the same name, and the ledger %s\n", stage.Name, stage.Ledger())
	}
	fmt.Fprintln(out, "the report is in "+file)
	return r.passed(), os.WriteFile(file, []byte(text), 0o600)
}

// keeps reports whether the data of a run is kept.
func (s settings) keeps(passed bool) bool { return s.keep == "always" || s.keep == "failed" && !passed }

// disruptUnderLoad writes load and causes faults for the length of the run. Then it waits until Herald has
// finished, and judges the evidence.
func disruptUnderLoad(ctx context.Context, s settings, stage *stage, say func(string, ...any)) (report, error) {
	r := report{settings: s, version: version.Read().String()}
	near, far := stage.lanes(s.commands)
	r.without = stage.without
	load := &load{
		Load: rig.Load{DB: stage.DB, Orders: "drill.orders"}, prefix: stage.events(), random: source(s.seed, 0),
		profile: s.profile, rate: s.rate, people: s.people, grace: messageTimeout + 2*longestFault,
	}
	lanes := []*lane{{near, source(s.seed, 1)}, {far, source(s.seed, 2)}}
	var once []timed
	if s.disaster.name != "" {
		lanes, once = lanes[:1], s.disaster.faults(stage, s.commands, s.length)
	}

	group, supervised := errgroup.WithContext(ctx)
	supervised, endSupervision := context.WithCancel(supervised)
	for _, p := range stage.programs {
		group.Go(func() error { return p.supervise(supervised) })
	}
	say("writing and breaking for %s", s.length)
	writing, endWriting := context.WithTimeout(supervised, s.length)
	defer endWriting()
	written := make(chan struct{})
	go func() {
		defer close(written)
		load.run(writing)
	}()
	r.played = disrupt(writing, lanes, once, say)
	<-written
	say("everything is mended; waiting until Herald has finished")
	began := time.Now()
	left, err := stage.settle(supervised, s.settle)
	r.settled, r.left = time.Since(began), left
	endSupervision()
	if err = errors.Join(err, group.Wait(), ctx.Err()); err != nil {
		return r, err
	}
	for _, p := range stage.programs {
		for _, end := range p.ends {
			r.ends = append(r.ends, p.name+": "+end)
		}
	}
	return r, r.judge(ctx, stage, load)
}

// source returns a source of random numbers that depends only on the seed. Each caller has a separate
// source, so that no caller changes the numbers of another caller.
func source(seed, user uint64) *random.Rand { return random.New(random.NewPCG(seed, user)) }
