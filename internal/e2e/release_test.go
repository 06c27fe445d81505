package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// release02 is the commit of release 0.2, whose workers have no version.
const release02 = "ee7e3d4"

// worker02 starts a worker of release 0.2 and waits until it is ready.
func (s *system) worker02() *worker {
	s.t.Helper()
	programs, err := build02()
	if err != nil {
		s.t.Fatal(err)
	}
	former := *s
	former.programs = programs
	return former.startWorker()
}

// build02 builds the worker of release 0.2, once, from the repository's history. Its source is
// always in the same folder, so that the next build takes everything from Go's cache.
var build02 = sync.OnceValues(func() (programs string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	source := filepath.Join(cache, "herald", "release-"+release02)
	if err := os.MkdirAll(source, 0o700); err != nil {
		return "", err
	}
	archive, programs := filepath.Join(binaries, "release.tar"), filepath.Join(binaries, "release")
	if said, err := exec.Command("git", "-C", filepath.Join("..", ".."), "archive", "--output", archive, release02).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the source of release 0.2, commit %s, is not here: clone with the whole history, or run `git fetch --unshallow`: %w\n%s", release02, err, said)
	}
	for _, command := range [][]string{
		{"tar", "-xf", archive, "-C", source},
		{"go", "build", "-buildvcs=false", "-o", programs + string(filepath.Separator), "./worker"},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = source
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, said)
		}
	}
	return programs, nil
})
