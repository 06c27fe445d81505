package ruletest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

// junitSuite holds the tests of an event type.
type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`

	took time.Duration
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the tests in the XML of JUnit, which CI servers read.
func (r Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "herald rules", Tests: len(r.Tests), Failures: r.Failed()}
	var took time.Duration
	for _, test := range r.Tests {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != test.EventType {
			all.Suites = append(all.Suites, junitSuite{Name: test.EventType})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.add(test)
		took += test.Took
	}
	all.Time = seconds(took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(test Result) {
	c := junitCase{Name: test.Name, Class: test.EventType, File: test.File, Line: test.Line, Time: seconds(test.Took)}
	if n := len(test.Differences); n > 0 {
		s.Failures++
		c.Failure = &junitFailure{Message: fmt.Sprintf("%d differences", n), Text: strings.Join(test.Lines(), "\n")}
	}
	s.Tests++
	s.took += test.Took
	s.Cases, s.Time = append(s.Cases, c), seconds(s.took)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
