package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestReadme follows README.md, docs/processes.md, docs/events.md and docs/containers.md, from an empty
// database to the deliveries of the producer's example.
func TestReadme(t *testing.T) {
	t.Parallel()

	demo, processes, events := runnable(t, "README.md"), runnable(t, "docs/processes.md"), runnable(t, "docs/events.md")
	require.Len(t, demo, 1, "an example in README.md that this test does not know")
	require.Len(t, processes, 2, "an example in docs/processes.md that this test does not know")
	require.Len(t, events, 2, "an example in docs/events.md that this test does not know")
	r := newReader(t)
	r.hasTargets(demo[0])
	require.Equal(t, "make up\ntools/run.sh\n", processes[0]) // TestRun
	r.shell(processes[1])
	r.starter("seed", "--slack-url", r.sandbox.URL)
	r.insert(events[0])
	r.allSent("evt-1", 9)
	r.insert(events[1])
	r.awaitSuccess(r.name + "-evt-2")
	r.previewsTexts()
	r.composes()
}

// reader follows a document in a folder that has the programs in bin/.
type reader struct {
	*system
	dir string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	s := newSystem(t, "WORKER_HTTP_ADDR=127.0.0.1:0")
	s.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	return s.reader(t.TempDir())
}

// reader returns a reader who works in a folder.
func (s *system) reader(dir string) *reader {
	s.t.Helper()
	require.NoError(s.t, os.Symlink(binaries, filepath.Join(dir, "bin")))
	return &reader{system: s, dir: dir}
}

// placeholders are the lines of documents that a reader replaces, or that the test has already
// done.
var placeholders = map[string]string{
	"export DATABASE_URL=postgres://… RABBITMQ_URL=amqps://… TEMPORAL_ADDRESS=…   # and the settings below": "", // already set
	"make build":            "test -x bin/worker -a -x bin/starter",
	"make up build":         "test -x bin/worker -a -x bin/starter",
	`eval "$(make -s env)"`: "", // already set
}

// shell runs commands, which must succeed, and returns their output.
func (r *reader) shell(script string) string {
	r.t.Helper()
	printed, err := r.tryShell(script)
	require.NoError(r.t, err, "%s\n%s", script, printed)
	return printed
}

// tryShell runs commands and returns their output. At the end of the test it ends processes that the
// commands left running.
func (r *reader) tryShell(script string) (string, error) {
	r.t.Helper()
	lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	for i, line := range lines {
		if instead, known := placeholders[line]; known {
			lines[i] = instead
		}
	}
	output, err := os.CreateTemp(r.dir, "output") // a file, because processes that keep running still write to it
	require.NoError(r.t, err)
	cmd := exec.Command("bash", "-euc", strings.Join(lines, "\n"))
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if text, _ := os.ReadFile(output.Name()); r.t.Failed() {
			r.t.Logf("%s\n%s", script, text)
		}
		_ = output.Close()
	})
	err = cmd.Run()
	return string(must(os.ReadFile(output.Name()))(r.t)), err
}

// hasTargets requires that the commands are targets of the Makefile. It does not run them,
// because one of them runs this test.
func (r *reader) hasTargets(script string) {
	r.t.Helper()
	for line := range strings.Lines(script) {
		command, _, _ := strings.Cut(line, "#")
		words := strings.Fields(command)
		require.Len(r.t, words, 2, line)
		require.Equal(r.t, "make", words[0], line)
		requireTarget(r.t, words[1])
	}
}

// requireTarget requires a target in the Makefile.
func requireTarget(t *testing.T, name string) {
	t.Helper()
	out, err := exec.Command("make", "--dry-run", "--directory", "../..", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// insert runs a producer's SQL. It replaces the ids evt-1 and evt-2, because all tests share one
// Temporal.
func (r *reader) insert(sql string) {
	r.t.Helper()
	require.Contains(r.t, sql, "'evt-1'")
	r.exec(strings.ReplaceAll(sql, "'evt-", "'"+r.name+"-evt-"))
}

// allSent waits until an event has ended, and all its deliveries are sent.
func (r *reader) allSent(id string, want int) {
	r.t.Helper()
	id = r.name + "-" + id
	r.awaitSuccess(id)
	require.Equal(r.t, want, r.count("SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'SENT'", id))
	require.Equal(r.t, want, r.count("SELECT count(*) FROM notification WHERE event_id = $1", id), "a delivery was not sent")
}

// TestDocumentsAreKnown requires that every document with examples has a test for them.
func TestDocumentsAreKnown(t *testing.T) {
	t.Parallel()

	known := map[string]bool{
		"CONTRIBUTING.md":      true, // TestContributing
		"README.md":            true, // TestReadme
		"docs/amount.md":       true, // TestExpiry, TestThrottlesAndCaps, TestDigestTimesAndApproval
		"docs/coming-from.md":  true, // TestPlanDeliveriesAsInTheOtherDesign in activities
		"docs/containers.md":   true, // TestReadme
		"docs/directory.md":    true, // TestDirectoryOfViews
		"docs/disaster.md":     true, // TestTemporalLosesItsDatabase
		"docs/escalation.md":   true, // TestEscalation
		"docs/events.md":       true, // TestReadme; TestSnippets in outbox
		"docs/how-it-works.md": true, // TestHowItWorks in internal/notification; TestStatesOfEvents, TestStatesOfDeliveries in internal/db
		"docs/inbox.md":        true, // TestInboxDocument; TestDocumentHasTheExample in internal/inbox
		"docs/ingest.md":       true, // TestIngest
		"docs/lifecycle.md":    true, // TestLifecycle
		"docs/mcp.md":          true, // TestMCP in starter
		"docs/metrics.md":      true, // TestMetrics
		"docs/operations.md":   true, // TestOperations
		"docs/outboxes.md":     true, // TestExample, TestOutboxesDocument; TestSourcesOfTheDocument in internal/config
		"docs/processes.md":    true, // TestReadme, TestRun
		"docs/providers.md":    true, // TestHelpExamples
		"docs/queues.md":       true, // TestConsumerOfTheDocument, TestBodiesOfTheDocument in internal/rabbitmq
		"docs/roles.md":        true, // TestRoles
		"docs/rules.md":        true, // TestRulesInTheDocument in starter
		"docs/traces.md":       true, // TestTraces
		"docs/upgrading.md":    true, // TestRollback
		"docs/your-own.md":     true, // TestYourOwn
	}
	documents := must(filepath.Glob("../../docs/*.md"))(t)
	for _, path := range append(documents, "../../README.md", "../../CONTRIBUTING.md") {
		document := must(filepath.Rel("../..", path))(t)
		for _, block := range codeBlocks(t, document) {
			require.True(t, known[document], "%s has examples, and no test runs them:\n%s", document, block.text)
			require.Contains(t, []string{"", "sh", "sql", "yaml", "console", "json", "go", "js", "mermaid", "java", "typescript", "python"}, block.language, "%s:\n%s", document,
				block.text)
			if block.language == "yaml" {
				require.NoError(t, yaml.Unmarshal([]byte(block.text), new(any)), "%s:\n%s", document, block.text)
			}
		}
	}
}

// TestChangelog requires a section for the next release and for each release with frozen
// histories, the newest first.
func TestChangelog(t *testing.T) {
	t.Parallel()

	text := must(os.ReadFile("../../CHANGELOG.md"))(t)
	var sections []string
	for _, match := range regexp.MustCompile(`(?m)^## (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, match[1])
	}
	releases := must(filepath.Glob("../../workflows/testdata/v*/SHA256SUMS"))(t)
	want := []string{"Unreleased"}
	for _, sums := range slices.Backward(releases) {
		want = append(want, strings.TrimPrefix(filepath.Base(filepath.Dir(sums)), "v"))
	}
	require.Equal(t, want, sections)
}

// TestContributing requires that the files, make targets and tests in CONTRIBUTING.md exist.
func TestContributing(t *testing.T) {
	t.Parallel()

	text := must(os.ReadFile("../../CONTRIBUTING.md"))(t)
	for _, match := range regexp.MustCompile("`([a-z./_]+/[a-z./_]*)`").FindAllStringSubmatch(string(text), -1) {
		must(os.Stat(filepath.Join("../..", match[1])))(t)
	}
	for _, script := range runnable(t, "CONTRIBUTING.md") {
		for line := range strings.Lines(script) {
			words := strings.Fields(line)
			switch words[0] {
			case "make":
				requireTarget(t, words[1])
			case "go":
				requireTest(t, words[2:])
			}
		}
	}
}

// requireTest requires that the package and the test in the arguments of `go test` exist.
func requireTest(t *testing.T, args []string) {
	files := must(filepath.Glob(filepath.Join("../..", args[0], "*_test.go")))(t)
	require.NotEmpty(t, files, args)
	if args[1] != "-run" {
		return
	}
	name, _, _ := strings.Cut(args[2], "/")
	require.True(t, slices.ContainsFunc(files, func(file string) bool {
		text := must(os.ReadFile(file))(t)
		return strings.Contains(string(text), "func "+name)
	}), "there is no %s in %s", name, args[0])
}

// composes follows docs/containers.md without a container engine. It requires that the commands name
// existing services, and runs the commands inside the services directly.
func (s *system) composes() {
	services := composeServices(s.t)
	s.emit(s.name, "RESERVATION_CONFIRMED", "CUSTOMER/42", "{}")
	s.awaitDeliveries(s.name, "SENT", 4)
	scripts := runnable(s.t, "docs/containers.md")
	requireSecretsFile(s.t, scripts[0])
	for _, script := range scripts[1:] {
		for line := range strings.Lines(script) {
			command, _, _ := strings.Cut(line, "#")
			requireComposes(s.t, strings.Fields(command), services)
			if inside, found := strings.CutPrefix(strings.TrimSpace(command), "docker compose exec worker starter "); found {
				s.starter(strings.Fields(strings.ReplaceAll(inside, "DELIVERY_ID", s.name+"-customer42-EMAIL"))...)
			}
		}
	}
}

// previewsTexts requires that previews are equal to the texts of an event's deliveries.
func (s *system) previewsTexts() {
	s.t.Helper()
	id := s.emit(s.name+"-evt", "RESERVATION_REQUESTED", "RESTAURANT/5",
		`{"restaurantId": 5, "customer": {"name": "Ada & Co"}, "pax": 4, "date": "2026-12-20", "time": "19:30"}`)
	s.awaitDelivery(id+"-staff10-EMAIL", "SENT")
	for _, channel := range []string{"EMAIL", "WEBSOCKET"} {
		var preview struct{ Title, Body, Plain string }
		require.NoError(s.t, json.Unmarshal([]byte(s.starter("template", "preview", "--event", id, "--recipient", "RESTAURANT_USER/10",
			"--channel", channel, "-o", "json")), &preview))
		require.Equal(s.t, 1, s.count("SELECT count(*) FROM notification WHERE delivery_id = $1 AND title = $2 AND body = $3",
			id+"-staff10-"+channel, preview.Title, preview.Body))
	}
}

// requireSecretsFile runs the script that creates .env. It requires that nobody else can read the
// file, and that the file has every secret of docker-compose.yml.
func requireSecretsFile(t *testing.T, script string) {
	t.Helper()
	folder := t.TempDir()
	command := exec.CommandContext(t.Context(), "bash", "-euc", script)
	command.Dir = folder
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, os.FileMode(0o600), must(os.Stat(filepath.Join(folder, ".env")))(t).Mode().Perm())
	require.Regexp(t, `^HERALD_SECRET=\S{44}\nHERALD_TOKEN_SECRET=\S{44}\n$`, string(must(os.ReadFile(filepath.Join(folder, ".env")))(t)))
}

// requireComposes requires that a command of docker compose names existing services.
func requireComposes(t *testing.T, words []string, services map[string]bool) {
	require.Greater(t, len(words), 2, words)
	require.Equal(t, []string{"docker", "compose"}, words[:2])
	switch rest := words[3:]; words[2] {
	case "run", "logs", "exec":
		require.NotEmpty(t, rest)
		for len(rest) > 0 && strings.HasPrefix(rest[0], "--") {
			rest = rest[1:]
		}
		require.True(t, services[rest[0]], "%s is not a service: %s", rest[0], words)
	case "up":
		if len(rest) == 3 {
			service, _, _ := strings.Cut(rest[2], "=")
			require.Equal(t, "--scale", rest[1])
			require.True(t, services[service], words)
		}
	case "port":
		require.True(t, services[rest[len(rest)-2]], words)
	case "ps", "down", "build":
	default:
		t.Fatalf("a command of docker compose that this test does not know: %s", words)
	}
}

func composeServices(t *testing.T) map[string]bool {
	text := must(os.ReadFile("../../docker-compose.yml"))(t)
	var file struct {
		Services map[string]any `yaml:"services"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	services := map[string]bool{}
	for name := range file.Services {
		services[name] = true
	}
	return services
}
