package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	t.Parallel()

	from := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: version}, Settings: settings}
	}
	revision, dirty := debug.BuildSetting{Key: "vcs.revision", Value: "434a203"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	tests := []struct {
		name   string
		build  *debug.BuildInfo
		linked string
		want   Info
	}{
		{name: "go build of a release", build: from("v0.2.0", revision), want: Info{"v0.2.0", "434a203", "go1.26.8"}},
		{name: "go build with changes", build: from("v0.2.1-0.20261122054646-434a203+dirty", revision, dirty),
			want: Info{"v0.2.1-0.20261122054646-434a203+dirty", "434a203-dirty", "go1.26.8"}},
		{name: "go run", build: from("(devel)"), want: Info{"(devel)", "unknown", "go1.26.8"}},
		{name: "go install module@version", build: from("v0.2.0"), want: Info{"v0.2.0", "unknown", "go1.26.8"}},
		{name: "an image", build: from("(devel)"), linked: "434a203", want: Info{"(devel)", "434a203", "go1.26.8"}},
		{name: "nothing known", build: &debug.BuildInfo{}, want: Info{"unknown", "unknown", "unknown"}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, read(tt.build, tt.linked), tt.name)
	}
	require.Equal(t, "v0.2.0 (commit 434a203, go1.26.8)", Info{"v0.2.0", "434a203", "go1.26.8"}.String())
}
