package template

import (
	"errors"
	"fmt"
	"html"
	htmltemplate "html/template"
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"
)

// parseHTML parses a template of html/template. Where html/template would put a placeholder, the
// template fails.
func (e Engine) parseHTML(name, source string, w *watcher) (executable, error) {
	t, err := htmltemplate.New(name).Option("missingkey=error").Funcs(functions()).Parse(source)
	if err != nil {
		return nil, unparsable(err)
	}
	for _, defined := range t.Templates() {
		eachNode(defined.Tree, keepConditions)
		w.watch(defined.Tree)
		prepare(defined.Tree)
	}
	t.Funcs(map[string]any{"_each": each, "_condition": condition}).Funcs(w.functions())
	// The first execution completes the template with escapers. It ends at the first checkpoint.
	var refused *htmltemplate.Error
	if err := execute(t); errors.As(err, &refused) {
		cause, _, _ := strings.Cut(refused.Description, ": {") // the rest is the escaper's state
		return nil, fmt.Errorf("the HTML of %s cannot be escaped: %.200s", name, cause)
	}
	for _, defined := range t.Templates() {
		eachNode(defined.Tree, placeEscapers)
	}
	return t.Funcs(map[string]any{
		"_html_template_urlfilter":      e.linkFilter,
		"_html_template_srcsetescaper":  e.imagesFilter,
		"_html_template_cssvaluefilter": styleFilter,
		"_html_template_htmlnamefilter": nameFilter,
	}), nil
}

// placeEscapers gives an action's escapers its place, which html/template does not. Their errors tell it.
func placeEscapers(node parse.Node) []parse.Node {
	if action, ok := node.(*parse.ActionNode); ok {
		for _, command := range action.Pipe.Cmds {
			command.Pos = action.Pipe.Pos
		}
	}
	return []parse.Node{node}
}

var errStopped = errors.New("stopped")

type stopped struct{}

func (stopped) Write([]byte) (int, error) { return 0, errStopped }

func execute(t *htmltemplate.Template) (err error) {
	defer func() {
		if recover() != nil {
			err = errStopped // rendering will report it
		}
	}()
	return t.Execute(stopped{}, nil)
}

// outlook matches the conditional comments by which a mail tells Outlook from other programs:
// https://stackoverflow.design/email/base/mso
var outlook = regexp.MustCompile(`(?i)<!(?:--\s*)?\[if\b[^\]<>]*\]>(?:\s*(?:<!--[\s-]*>|-->))?|(?:<!--[\s-]*)?<!\[endif\](?:\s*--\s*)?>`)

// keepConditions keeps the conditional comments of a template. html/template would remove them, with
// the HTML between them.
func keepConditions(node parse.Node) []parse.Node {
	text, ok := node.(*parse.TextNode)
	if !ok {
		return []parse.Node{node}
	}
	var nodes []parse.Node
	rest, at := text.Text, text.Pos
	for {
		found := outlook.FindIndex(rest)
		if found == nil {
			return append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: at, Text: rest})
		}
		before, comment := rest[:found[0]], string(rest[found[0]:found[1]])
		at += parse.Pos(found[0])
		constant := &parse.StringNode{NodeType: parse.NodeString, Pos: at, Quoted: strconv.Quote(comment), Text: comment}
		command := call("_condition", at)
		command.Args = append(command.Args, constant)
		nodes = append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: text.Pos, Text: before},
			&parse.ActionNode{
				NodeType: parse.NodeAction, Pos: at, Pipe: &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{command}},
			})
		rest, at = rest[found[1]:], at+parse.Pos(len(comment))
	}
}

func condition(comment string) htmltemplate.HTML { return htmltemplate.HTML(comment) }

var (
	errLink  = errors.New("a link that is not allowed")
	errStyle = errors.New("a value that is not allowed in a style")
	errName  = errors.New("a value that is not allowed as a name in a tag")
)

// linkFilter passes a link with an allowed scheme, and one without a scheme.
func (e Engine) linkFilter(value any) (string, error) {
	link := strings.TrimSpace(fmt.Sprint(shown(value)))
	if scheme, found := schemeOf(link); found && !e.allows(scheme) {
		return "", errLink
	}
	return link, nil
}

// schemeOf returns the text that browsers may read as a scheme.
func schemeOf(link string) (scheme string, found bool) {
	scheme, _, found = strings.Cut(link, ":")
	return scheme, found && !strings.Contains(scheme, "/")
}

var descriptor = regexp.MustCompile(`^[0-9.]+[wxh]$`)

// imagesFilter is linkFilter for a list of images, each with its width or density.
func (e Engine) imagesFilter(value any) (string, error) {
	images := strings.Split(fmt.Sprint(shown(value)), ",")
	for i, image := range images {
		words := strings.Fields(image)
		if len(words) > 2 || len(words) == 2 && !descriptor.MatchString(words[1]) {
			return "", errLink
		}
		if _, err := e.linkFilter(strings.Join(words[:min(1, len(words))], "")); err != nil {
			return "", err
		}
		images[i] = strings.Join(words, " ")
	}
	return strings.Join(images, ", "), nil
}

// styleFilter and nameFilter ask html/template, whose filters answer with a placeholder.
func styleFilter(value any) (string, error) { return inStyle.ask(value, errStyle) }

func nameFilter(value any) (string, error) { return inTag.ask(value, errName) }

// question is a piece of HTML around a value.
type question struct {
	before, after string
	template      *htmltemplate.Template
}

func newQuestion(before, after string) question {
	return question{before, after, htmltemplate.Must(htmltemplate.New("").Parse(before + "{{.}}" + after))}
}

var (
	inStyle = newQuestion(`<p style="a:`, `">`)
	inTag   = newQuestion(`<p `, `>`)
)

// placeholder is the text that html/template writes in place of a blocked value.
const placeholder = "ZgotmplZ"

// ask returns the output of html/template's filter, or the error if the filter blocks the value.
func (q question) ask(value any, blocked error) (string, error) {
	var out strings.Builder
	if q.template.Execute(&out, value) != nil || strings.Contains(out.String(), placeholder) {
		return "", blocked
	}
	escaped := strings.TrimSuffix(strings.TrimPrefix(out.String(), q.before), q.after)
	return html.UnescapeString(escaped), nil
}
