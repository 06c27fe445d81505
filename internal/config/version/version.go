// Package version returns the running build of Herald.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// commit is set by the linker for builds outside a repository, such as the Dockerfile's. Other
// builds get the commit from the repository.
var commit string

// Info describes a build. Unknown fields are `unknown`.
type Info struct {
	Version string // the module's version: v0.2.0, or a version that Go makes from the commit
	Commit  string // ends with `-dirty` if the sources differed from the commit
	Go      string // version of the toolchain
}

// Read returns the build of the running program.
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

// String returns the text of --version after the program's name.
func (i Info) String() string { return i.Version + " (commit " + i.Commit + ", " + i.Go + ")" }
