package main

import "time"

// progressInterval is between two lines of progress.
const progressInterval = 2 * time.Second

// progress notes a line every progressInterval until stop is called. The line is made
// by another goroutine.
func (a *app) progress(line func() string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				a.note("%s", line())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
