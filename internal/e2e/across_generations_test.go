package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"herald/tools/rig"
	"herald/workflows"
)

// next is the generation of a changed build.
const next = workflows.CommandVersion + 1

// firstCommands are lines of the present build, by file. The next generation issues a timer before
// them.
var firstCommands = map[string]string{
	"notify_event.go":         "\tpublished := publishEvent(ctx, in)\n",
	"deliver_notification.go": "\tctx = onRecordsQueue(ctx)\n",
}

// buildNext builds the worker of the next generation, once.
var buildNext = sync.OnceValues(func() (programs string, err error) {
	programs = filepath.Join(binaries, "next")
	if err := os.Mkdir(programs, 0o700); err != nil {
		return "", err
	}
	const version = "\nconst CommandVersion = %d\n"
	replaced := map[string]string{}
	for file, line := range firstCommands {
		source, err := filepath.Abs(filepath.Join("..", "..", "workflows", file))
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		changed := strings.NewReplacer(
			fmt.Sprintf(version, workflows.CommandVersion), fmt.Sprintf(version, next),
			line, "\tif workflow.GetVersion(ctx, \"timer\", workflow.DefaultVersion, 1) == 1 {\n\t\t_ = workflow.Sleep(ctx, "+
				"time.Millisecond)\n\t}\n"+
				line,
		).Replace(string(text))
		replaced[source] = filepath.Join(programs, file)
		if err := os.WriteFile(replaced[source], []byte(changed), 0o600); err != nil {
			return "", err
		}
	}
	files, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(programs, "overlay.json")
	if err := os.WriteFile(overlay, files, 0o600); err != nil {
		return "", err
	}
	return programs, rig.Run(context.Background(), nil, "go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", programs, "herald/worker")
})

// nextWorker starts a worker of the next generation.
func (u *upgrade) nextWorker() *worker {
	u.t.Helper()
	changed := *u.system
	changed.programs = must(buildNext())(u.t)
	return changed.startWorker()
}

// lastHasTimer reports whether the last event issued the command of the next generation.
func (u *upgrade) lastHasTimer() bool {
	u.t.Helper()
	id := u.events[len(u.events)-1]
	u.awaitSuccess(id)
	history := u.temporal.GetWorkflowHistory(u.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		if must(history.Next())(u.t).GetEventType() == enums.EVENT_TYPE_TIMER_STARTED {
			return true
		}
	}
	return false
}

// A changed build is deployed under load, while workflows of every kind run. Old and new workers run
// side by side, and one of each is killed. Then the old workers stop.
func TestUpgradeSideBySide(t *testing.T) {
	t.Parallel()

	u, old := newUpgrade(t, shared(t))
	u.load(1, func(int) {})
	require.False(t, u.lastHasTimer())
	var fresh *worker
	u.load(30, func(second int) {
		switch second {
		case 3:
			fresh = u.nextWorker()
		case 12:
			old.kill()
			old = u.startWorker()
		case 20:
			fresh.kill()
			fresh = u.nextWorker()
		}
	})
	u.awaitGeneration(next)
	require.NoError(t, old.stop())
	u.load(1, func(int) {})
	require.True(t, u.lastHasTimer())
	u.ends(2 * slots)
}
