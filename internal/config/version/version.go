// Package version tells which build of Herald is running.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// commit is set by the linker for builds outside a repository, such as the image's
// (Dockerfile). Other builds read it from the repository.
var commit string

// Info is a build. What is not known is `unknown`.
type Info struct {
	Version string // of the module: v0.2.0, or one that Go makes from the commit
	Commit  string // ends with `-dirty` if the sources differed from it
	Go      string // the toolchain
}

// Read returns the running program's build.
func Read() Info {
	build, found := debug.ReadBuildInfo()
	if !found {
		build = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return read(build, commit)
}

func read(build *debug.BuildInfo, linked string) Info {
	const unknown = "unknown"
	revision, dirty := linked, false
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value
		case "vcs.modified":
			dirty = setting.Value == "true"
		}
	}
	if dirty {
		revision += "-dirty"
	}
	return Info{cmp.Or(build.Main.Version, unknown), cmp.Or(revision, unknown), cmp.Or(build.GoVersion, unknown)}
}

// String is the text of --version after the program's name.
func (i Info) String() string { return i.Version + " (commit " + i.Commit + ", " + i.Go + ")" }
