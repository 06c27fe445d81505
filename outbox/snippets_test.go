package outbox_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
)

// snippet is an example of docs/events.md in a language, with what runs it.
type snippet struct {
	language string
	lacks    []string // a command that fails if the runtime or its package is missing
	file     string
	begin    string // precedes the example
	end      string // calls the example, and prints the event's id
	run      []string
}

var snippets = []snippet{
	{
		language: "python",
		lacks:    []string{"python3", "-c", "import psycopg"},
		file:     "snippet.py",
		begin:    "import os\nimport psycopg\n",
		end: `
with psycopg.connect(os.environ["DATABASE_URL"]) as db:
    print(request_reservation(db, 5, 7, 4))
`,
		run: []string{"python3", "snippet.py"},
	},
	{
		language: "typescript",
		lacks:    []string{"node", "--experimental-strip-types", "--input-type=module", "-e", `import "pg"`},
		file:     "snippet.mts",
		end: `
import pg from "pg";
const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
await db.connect();
console.log(await requestReservation(db, 5, 7, 4));
await db.end();
`,
		run: []string{"node", "--experimental-strip-types", "snippet.mts"},
	},
	{
		language: "java",
		lacks: []string{"javap", "org.springframework.jdbc.core.simple.JdbcClient", "org.springframework.stereotype.Service",
			"org.postgresql.Driver"},
		file: "Snippet.java",
		end: `
class Snippet {
    public static void main(String[] args) {
        var source = new org.springframework.jdbc.datasource.DriverManagerDataSource(System.getenv("JDBC_URL"));
        System.out.println(new Reservations(JdbcClient.create(source)).request(5, 7, 4));
    }
}
`,
		run: []string{"sh", "-c", `javac Snippet.java && java -cp ".:$CLASSPATH" Snippet`},
	},
}

// The examples of docs/events.md write a reservation and its event. Each needs a runtime with a driver:
// psycopg in python3; node 22.6 or later, and pg in the folder NODE_MODULES; spring-jdbc, spring-context and
// pgjdbc in the CLASSPATH. Without it, the test of this language is skipped.
func TestSnippets(t *testing.T) {
	t.Parallel()

	document, err := os.ReadFile("../docs/events.md")
	require.NoError(t, err)
	for _, tt := range snippets {
		t.Run(tt.language+", skipped without its runtime and driver", func(t *testing.T) {
			t.Parallel()

			example := regexp.MustCompile("(?s)```" + tt.language + "\n(.*?)```").FindSubmatch(document)
			require.NotNil(t, example, "docs/events.md has no example in "+tt.language)
			dir := t.TempDir()
			if modules := os.Getenv("NODE_MODULES"); modules != "" {
				require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
			}
			if said, err := command(t, dir, tt.lacks, nil).CombinedOutput(); err != nil {
				t.Skipf("not run: %s is not there: %v: %s", tt.language, err, said)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.begin+string(example[1])+tt.end), 0o600))

			address := postgrestest.URL(t)
			s, err := db.Open(t.Context(), address, "test")
			require.NoError(t, err)
			t.Cleanup(s.Close)
			postgrestest.Exec(t, s, "CREATE TABLE reservation (restaurant_id bigint, guests integer)")
			said, err := command(t, dir, tt.run, addresses(t, address)).CombinedOutput()
			require.NoError(t, err, string(said))

			written := postgrestest.Get[string](t, s, "SELECT concat_ws(' ', event_id, event_type, aggregate_type, aggregate_id, payload, actor_type, "+
				"actor_id, restaurant_id, guests) FROM event_outbox, reservation")
			require.Equal(t, strings.TrimSpace(string(said))+
				` RESERVATION_REQUESTED RESTAURANT 5 {"guests": 4, "restaurantId": 5} CUSTOMER 7 5 4`, written)
		})
	}
}

// command returns a command in a folder, with more settings.
func command(t *testing.T, dir string, args, settings []string) *exec.Cmd {
	t.Helper()
	run := exec.CommandContext(t.Context(), args[0], args[1:]...)
	run.Dir = dir
	run.Env = append(append(os.Environ(), "NODE_NO_WARNINGS=1"), settings...)
	return run
}

// addresses returns the URL of a database for drivers other than pgx.
func addresses(t *testing.T, address string) []string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	query := parsed.Query()
	query.Del("pool_max_conns")
	parsed.RawQuery = query.Encode()
	password, _ := parsed.User.Password()
	query.Set("user", parsed.User.Username())
	query.Set("password", password)
	return []string{"DATABASE_URL=" + parsed.String(), "JDBC_URL=jdbc:postgresql://" + parsed.Host + parsed.Path + "?" + query.Encode()}
}
