package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/rules"
)

// edit replaces a text in a file of a folder.
func edit(t *testing.T, dir, name, old, replacement string) {
	t.Helper()
	path := filepath.Join(dir, name)
	content := string(must(os.ReadFile(path))(t))
	require.Contains(t, content, old)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(content, old, replacement, 1)), 0o644))
}

func TestRules(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.environment["HERALD_ACTOR"] = "ada@ops"
	c.must(t, "seed")
	dir := filepath.Join(t.TempDir(), "rules")
	require.Contains(t, c.must(t, "rules", "export", dir), "written  RESERVATION_REQUESTED.yaml\n")
	require.Equal(t, "no difference\n", c.must(t, "rules", "plan", dir))
	require.Equal(t, "no difference\n", c.must(t, "rules", "plan", dir, "--prune"))
	c.must(t, "rules", "apply", dir, "--reason", "the first one")

	edit(t, dir, "PROMOTION.yaml", "category: offers\n", "category: deals\n")
	edit(t, dir, "PROMOTION.yaml", "  PUSH:", "  SMS: { delivery_strategy: DELAYED, delay: 5 minutes }\n  PUSH:")
	edit(t, dir, "reservation-requested.email.en.html", "<p>", "<p>\n")
	got := c.run(t, "rules", "plan", dir)
	require.Equal(t, different, got.code)
	require.Equal(t, `+ event_type_channel_routing PROMOTION SMS (DIR/PROMOTION.yaml:3)
    delivery_strategy: DELAYED
    delay: 5 minutes
~ event_category PROMOTION (DIR/PROMOTION.yaml:7)
    category: offers -> deals
`, strings.ReplaceAll(got.out[:strings.Index(got.out, "~ notification_template")], dir, "DIR"))
	require.Contains(t, got.out, "2 to change, 0 to delete; 0 of them changed by hand since the last apply\n"+
		"0 of 0 events of the last 24 hours would be decided differently\n")
	require.Equal(t, different, c.run(t, "rules", "apply", dir, "--dry-run").code)

	c.fails(t, failed, "give --reason", "rules", "apply", dir)
	c.fails(t, failed, "unknown flag", "rules", "plan", dir, "--prun")
	c.fails(t, failed, "accepts 1 arg", "rules", "plan")
	require.Contains(t, c.must(t, "rules", "apply", dir, "--reason", "deals", "--commit", "c0ffee"), "applied\n")
	require.Contains(t, c.must(t, "audit", "--target", "rules"), "1 created, 2 changed, 0 deleted, from commit c0ffee --reason de")

	c.exec(t, "UPDATE event_category SET category = 'ads' WHERE event_type = 'PROMOTION'")
	drifted := c.run(t, "rules", "plan", dir)
	require.Contains(t, drifted.out, "    category: ads -> deals\n    changed by hand since ada@ops applied it at ")
	c.fails(t, failed, "somebody changed rules by hand since the last apply: event_category PROMOTION", "rules", "apply", dir, "--reason", "x")
	c.must(t, "rules", "apply", dir, "--reason", "undo", "--overwrite")
	require.Equal(t, "no difference\n", c.must(t, "rules", "plan", dir))

	edit(t, dir, "PROMOTION.yaml", "category: deals\n", "categroy: deals\n")
	c.fails(t, failed, `PROMOTION.yaml:7: unknown key "categroy": did you mean "category"?`, "rules", "plan", dir)
}

func TestRulesInJSON(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "NEWS.yaml"), []byte("category: news\n"), 0o644))
	result := read[rulesResult](t, c, "rules", "apply", dir, "--reason", "x")
	require.True(t, result.Applied)
	require.Equal(t, rules.Create, result.Changes[0].Action)
	require.Equal(t, map[string]any{"event_type": "NEWS", "category": "news"}, result.Changes[0].After)
	require.Contains(t, read[map[string]any](t, c, "rules", "schema")["properties"], "channels")
	require.Contains(t, read[map[string]any](t, c, "rules", "schema", "--installation")["properties"], "caps")
	require.Empty(t, read[rules.Exported](t, c, "rules", "export", dir).Removed)
}

func TestCommitOf(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	require.Empty(t, commitOf(t.Context(), dir))
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		return strings.TrimSpace(string(must(cmd.Output())(t)))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "x")
	head := git("rev-parse", "HEAD")
	require.Equal(t, head, commitOf(t.Context(), dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "NEWS.yaml"), nil, 0o644))
	require.Equal(t, head+"-dirty", commitOf(t.Context(), dir))
}

var (
	// namedBlock matches a block of docs/rules.md that is a file: its first line names it.
	namedBlock = regexp.MustCompile("(?s)```(?:yaml)?\n(?:#|<!--) rules/(\\S+)[^\n]*\n(.*?)```")
	// ruleCommand matches a command of docs/rules.md, without what the shell does with its result.
	ruleCommand = regexp.MustCompile(`(?m)^starter (rules (?:"[^"\n]*"|[^|>\n])*)`)
	word        = regexp.MustCompile(`"[^"]*"|\S+`)
)

// documentedRules writes the files of docs/rules.md into the folder rules below dir.
func documentedRules(t *testing.T, dir string) (folder string) {
	t.Helper()
	folder = filepath.Join(dir, "rules")
	require.NoError(t, os.Mkdir(folder, 0o755))
	for _, block := range namedBlock.FindAllStringSubmatch(string(must(os.ReadFile("../docs/rules.md"))(t)), -1) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, block[1]), []byte(block[2]), 0o644))
	}
	require.Len(t, must(os.ReadDir(folder))(t), 3)
	return folder
}

// The files in docs/rules.md are rules, and its commands run.
func TestRulesInTheDocument(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	dir := documentedRules(t, t.TempDir())
	printed := c.must(t, "rules", "apply", dir, "--reason", "the first rules")
	require.Contains(t, printed, "    body:\n      + <p>Dear {{.recipient.name}},</p>\n")
	require.Contains(t, printed, "10 to create, 0 to change, 0 to delete")

	commands := ruleCommand.FindAllStringSubmatch(string(must(os.ReadFile("../docs/rules.md"))(t)), -1)
	require.Greater(t, len(commands), 5)
	for _, command := range commands {
		words := word.FindAllString(command[1], -1)
		for i := range words {
			switch words[i] = strings.Trim(words[i], `"`); {
			case i == 2 && words[i] == "rules":
				words[i] = dir
			case words[i] == "report.xml":
				words[i] = filepath.Join(t.TempDir(), words[i])
			}
		}
		c.must(t, words...)
	}
}
