package ruletest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/rules/ruletest"
)

func TestWriteJUnit(t *testing.T) {
	t.Parallel()

	report := ruletest.Report{Tests: []ruletest.Result{
		{EventType: "BOOKED", Name: "by day", File: "rules/BOOKED.yaml", Line: 3, Took: 20 * time.Millisecond},
		{EventType: "BOOKED", Name: `"at" <night>`, File: "rules/BOOKED.yaml", Line: 9, Took: 5 * time.Millisecond, Differences: []ruletest.Difference{
			{Recipient: "PATIENT/7", Channel: "SMS", Part: ruletest.PartBody, Want: "Ada & Bob", Got: "Ada\nBob"},
		}},
		{EventType: "CANCELLED", Name: "by day", File: "rules/CANCELLED.yaml", Line: 3},
	}}
	var out strings.Builder
	require.NoError(t, report.WriteJUnit(&out))
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="herald rules" tests="3" failures="1" time="0.025">
  <testsuite name="BOOKED" tests="2" failures="1" time="0.025">
    <testcase name="by day" classname="BOOKED" file="rules/BOOKED.yaml" line="3" time="0.020"></testcase>
    <testcase name="&#34;at&#34; &lt;night&gt;" classname="BOOKED" file="rules/BOOKED.yaml" line="9" time="0.005">
      <failure message="1 differences">PATIENT/7 SMS body&#xA;  want | Ada &amp; Bob&#xA;  got  | Ada&#xA;       | Bob</failure>
    </testcase>
  </testsuite>
  <testsuite name="CANCELLED" tests="1" failures="0" time="0.000">
    <testcase name="by day" classname="CANCELLED" file="rules/CANCELLED.yaml" line="3" time="0.000"></testcase>
  </testsuite>
</testsuites>
`, out.String())
}
