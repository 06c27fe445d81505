package workflows_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
)

var (
	email = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)*`)
	phone = regexp.MustCompile(`\+\d{7,15}\b`)
)

// A history is read by many people, and kept for long. These hold what the
// workflows and their activities really exchange.
func TestHistoriesHoldNothingPersonal(t *testing.T) {
	t.Parallel()

	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()

			text := plainText(t, r.name)

			require.Regexp(t, `"(Started|EventID|DeliveryID|DigestID|looked|Source|Done)":`, text) // which only payloads hold
			require.Empty(t, email.FindAllString(text, -1))
			require.Empty(t, phone.FindAllString(text, -1))
		})
	}
}

func TestPersonalDataIsRecognised(t *testing.T) {
	t.Parallel()

	require.Equal(t, []string{"ada.l+x@example.co.uk", "4711@localhost"}, email.FindAllString(`"To":"ada.l+x@example.co.uk", "identity": "4711@localhost@"`, -1))
	require.Equal(t, []string{"+41791234567"}, phone.FindAllString(`"To":"+41791234567","At":"2026-11-21T07:54:00+01:00"`, -1))
}

// plainText is a recorded history with the contents of all of its payloads.
func plainText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	payloads := 0
	err = proxy.VisitPayloads(t.Context(), load(t, name), proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, payload := range p {
				text, payloads = append(append(text, '\n'), payload.Data...), payloads+1
			}
			return p, nil
		},
	})
	require.NoError(t, err)
	require.NotZero(t, payloads)
	return string(text)
}

func load(t *testing.T, name string) *history.History {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err, "record it by make histories")
	recorded, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	require.NoError(t, err)
	return recorded
}

// registered are the workflows of this package: its exported functions whose
// first parameter is a workflow.Context.
func registered(t *testing.T) []string {
	t.Helper()
	var names []string
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Name.IsExported() && f.Recv == nil && takesContext(f) {
				names = append(names, f.Name.Name)
			}
		}
	}
	require.Contains(t, names, deliverNotification)
	return names
}

func takesContext(f *ast.FuncDecl) bool {
	if len(f.Type.Params.List) == 0 {
		return false
	}
	selector, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Context" && selector.X.(*ast.Ident).Name == "workflow"
}
